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
}

// newArm is the arm of a run. A checkpoint that was made for the claims is
// named as seen from their folder, so that the recipe is the same in any.
func newArm(set []string, r recipe.Recipe, dir string) armRecipe {
	inside := dir + string(filepath.Separator)
	if rest, ok := strings.CutPrefix(r.Checkpoint, inside); ok {
		r.Checkpoint = filepath.ToSlash(rest)
	}
	a := armRecipe{recipe: r}
	for _, change := range set {
		a.set = append(a.set, strings.Replace(change, inside, "", 1))
	}
	return a
}

// text is the recipe as a file that `simulate train` takes, with the arm's
// number for a name.
func (a *armRecipe) text(claim string, n int) string {
	r := a.recipe
	r.Name = fmt.Sprintf("%s-%02d", claim, n)
	return "# " + strings.Join(a.set, "  ") + "\n" + string(r.YAML())
}

// Recipes are the claim's training runs so far as recipe files.
func (e *Env) Recipes(claim string) []string {
	var list []string
	for i := range e.arms {
		list = append(list, e.arms[i].text(claim, i+1))
	}
	return list
}
