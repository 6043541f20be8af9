package claim

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"driftlab/experiments/run"
	"driftlab/model"
	"driftlab/trainer/recipe"
)

// Train makes a run of the headline recipe, from this replication's warm start
// unless set says otherwise, with changes, and returns the columns
// asked for, one value per step from the first on. A run that a value which is
// not finite ended has shorter columns.
//
// A run that another claim of the same command made, with the same columns, is not made again.
func (e *Env) Train(columns []string, steps int, set ...string) [][]float64 {
	r := e.runRecipe(steps, set)
	key := fmt.Sprint("run ", columns, string(r.Resolved().YAML()))
	return Cached(e.Cache, key, func() [][]float64 {
		made, _ := e.made(columns, r)
		return made
	})
}

// runRecipe is the headline's recipe with a replication's seed and changes, which is then an arm.
func (e *Env) runRecipe(steps int, set []string) recipe.Recipe {
	own := set
	if e.Size == Tiny {
		set = append([]string{"rollout.prompts=2"}, set...)
	}
	first := []string{fmt.Sprintf("steps=%d", steps), fmt.Sprintf("seed=%d", e.Seed), "eval.every=0"}
	if !slices.ContainsFunc(set, func(change string) bool { return strings.HasPrefix(change, "checkpoint=") }) {
		first = append(first, "checkpoint="+e.BaseFolder())
	}
	r := Must(recipe.Load("headline", append(first, set...)...))
	e.arms = append(e.arms, armRecipe{own, r.Resolved(), e.Cache.dir})
	return r
}

// Trained is Train with the final weights.
func (e *Env) Trained(columns []string, steps int, set ...string) ([][]float64, *model.Params) {
	return e.made(columns, e.runRecipe(steps, set))
}

// made makes a run, and returns the columns and the final weights.
func (e *Env) made(columns []string, r recipe.Recipe) ([][]float64, *model.Params) {
	run, err := run.Run(e.ctx, r, run.Options{Cores: e.Cores})
	if run == nil { // else it stopped at a value that is not finite
		StopOn(err)
	}
	e.Continue()
	out := make([][]float64, len(columns))
	for i, name := range columns {
		c := run.Record.Column(name)
		if c == nil {
			StopOn(fmt.Errorf("a run logged no %s", name))
		}
		out[i] = c.Updated()
	}
	return out, run.Params
}

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
