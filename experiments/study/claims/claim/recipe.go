package claim

import (
	"fmt"
	"path/filepath"
	"strings"

	"driftlab/trainer/recipe"
)

// armRecipe is one training run of a claim: the recipe it ran and what it
// changed in the headline's.
type armRecipe struct {
	set    []string
	recipe recipe.Recipe
	dir    string // the claims' folder
}

// text is the recipe as a file that `simulate train` takes, with the arm's
// number for a name. A model that was made for the claims, checkpoint or teacher,
// is named as seen from their folder, so that the recipe is the same in any.
func (a *armRecipe) text(claim string, n int) string {
	r := a.recipe
	r.Name = fmt.Sprintf("%s-%02d", claim, n)
	sep := string(filepath.Separator)
	made := filepath.Join(a.dir, "warm") + sep
	return "# " + strings.ReplaceAll(strings.Join(a.set, "  "), made, "warm"+sep) + "\n" + strings.ReplaceAll(string(r.YAML()), made, "warm/")
}

// Recipes are the claim's training runs so far as recipe files.
func (e *Env) Recipes(claim string) []string {
	var list []string
	for i := range e.arms {
		list = append(list, e.arms[i].text(claim, i+1))
	}
	return list
}
