package claim

import (
	"context"
	"fmt"
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
func (e *Env) Train(ctx context.Context, columns []string, steps int, set ...string) ([][]float64, error) {
	r, err := e.runRecipe(ctx, steps, set)
	if err != nil {
		return nil, err
	}
	key := fmt.Sprint("run ", columns, string(r.Resolved().YAML()))
	return Cached(e.Cache, key, func() ([][]float64, error) {
		made, _, err := e.made(ctx, columns, r)
		return made, err
	})
}

// runRecipe is the headline's recipe with a replication's seed and changes, which is then an arm.
func (e *Env) runRecipe(ctx context.Context, steps int, set []string) (recipe.Recipe, error) {
	own := set
	if e.Size == Tiny {
		set = append([]string{"rollout.prompts=2"}, set...)
	}
	first := []string{fmt.Sprintf("steps=%d", steps), fmt.Sprintf("seed=%d", e.Seed), "eval.every=0"}
	if !slices.ContainsFunc(set, func(change string) bool { return strings.HasPrefix(change, "checkpoint=") }) {
		warm, err := e.BaseFolder(ctx)
		if err != nil {
			return recipe.Recipe{}, err
		}
		first = append(first, "checkpoint="+warm)
	}
	r, err := recipe.Load("headline", append(first, set...)...)
	if err == nil {
		e.arms = append(e.arms, armRecipe{own, r.Resolved(), e.Cache.dir})
	}
	return r, err
}

// Trained is train with the final weights.
func (e *Env) Trained(ctx context.Context, columns []string, steps int, set ...string) ([][]float64, *model.Params, error) {
	r, err := e.runRecipe(ctx, steps, set)
	if err != nil {
		return nil, nil, err
	}
	return e.made(ctx, columns, r)
}

// made makes a run, and returns the columns and the final weights.
func (e *Env) made(ctx context.Context, columns []string, r recipe.Recipe) ([][]float64, *model.Params, error) {
	run, err := run.Run(ctx, r, run.Options{Cores: e.Cores})
	if run == nil {
		return nil, nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	out := make([][]float64, len(columns))
	for i, name := range columns {
		c := run.Record.Column(name)
		if c == nil {
			return nil, nil, fmt.Errorf("a run logged no %s", name)
		}
		out[i] = c.Updated()
	}
	return out, run.Params, nil
}
