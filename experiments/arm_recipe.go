package experiments

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"driftlab/results/record"
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

// text is the recipe as a file that `simulate train` takes. Every seed of a
// claim writes the same text: it has seed 1, and the arm's number for a name.
func (a *armRecipe) text(claim string, n int) string {
	r := a.recipe
	r.Name, r.Seed = fmt.Sprintf("%s-%02d", claim, n), 1
	return "# " + strings.Join(a.set, "  ") + "\n" + string(r.YAML())
}

// recipesDir is where the recipes of a claim's training runs are kept.
func recipesDir(claimDir string) string { return filepath.Join(claimDir, "recipes") }

// texts are the recipes of all arms of a claim.
func texts(claim string, arms []armRecipe) []string {
	var list []string
	for i := range arms {
		list = append(list, arms[i].text(claim, i+1))
	}
	return list
}

// keepRecipes writes the recipes of a claim's training runs.
func keepRecipes(recipes []string, claimDir string) error {
	if len(recipes) == 0 {
		return nil
	}
	dir := recipesDir(claimDir)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	for i, text := range recipes {
		if err := record.WriteFile(dir, fmt.Sprintf("arm-%02d.yaml", i+1), []byte(text)); err != nil {
			return err
		}
	}
	return nil
}

// keptRecipes reads what keepRecipes wrote, in the order of the arms.
func keptRecipes(claimDir string) ([]string, error) {
	paths, err := filepath.Glob(filepath.Join(recipesDir(claimDir), "arm-*.yaml"))
	if err != nil {
		return nil, err
	}
	var list []string
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		list = append(list, string(text))
	}
	return list, nil
}
