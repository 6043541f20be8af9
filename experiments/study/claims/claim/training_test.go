package claim

import (
	"path/filepath"
	"strings"
	"testing"

	"driftlab/precision/must"
	"driftlab/trainer/recipe"
)

// TestRecipesNameNoFolder: a recipe that is kept is the same wherever it was made.
func TestRecipesNameNoFolder(t *testing.T) {
	r := must.Get(recipe.Load("default"))(t)
	dir := filepath.Join("some", "where")
	made := filepath.Join(dir, "warm", "twin")
	r.Checkpoint, r.Teacher = made, made
	a := armRecipe{[]string{"checkpoint=" + made, "steps=3"}, r, dir}
	if text := a.text("a-claim", 2); strings.Contains(text, "where") || !strings.Contains(text, "\ncheckpoint: warm/twin\nteacher: warm/twin\n") ||
		!strings.HasPrefix(text, "# checkpoint="+filepath.Join("warm", "twin")+"  steps=3\n") {
		t.Errorf("recipe of an arm:\n%s", text)
	}
	if r.Checkpoint != made {
		t.Error("the run's own recipe changed")
	}
}
