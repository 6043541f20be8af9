package claim

import (
	"context"
	"fmt"

	"driftlab/experiments/run"
	"driftlab/model"
	"driftlab/trainer/recipe"
)

// Train makes a run of the headline recipe, from this replication's warm start
// unless set says otherwise, with changes, and returns the columns
// asked for, one value per step from the first on. A run that a value which is
// not finite ended has shorter columns.
func (e *Env) Train(ctx context.Context, columns []string, steps int, set ...string) ([][]float64, error) {
	r, _, err := e.Trained(ctx, columns, steps, set...)
	return r, err
}

// Trained is train with the final weights.
func (e *Env) Trained(ctx context.Context, columns []string, steps int, set ...string) ([][]float64, *model.Params, error) {
	if e.Size == Tiny {
		set = append([]string{"rollout.prompts=2"}, set...)
	}
	warm, err := e.BaseFolder(ctx)
	if err != nil {
		return nil, nil, err
	}
	r, err := recipe.Load("headline", append([]string{fmt.Sprintf("steps=%d", steps), fmt.Sprintf("seed=%d", e.Seed), "eval.every=0", "checkpoint=" + warm}, set...)...)
	if err != nil {
		return nil, nil, err
	}
	e.arms = append(e.arms, newArm(set, r.Resolved(), e.Cache.dir))
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
