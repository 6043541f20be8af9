package tables

import (
	"context"
	"fmt"
	"math"
	"slices"

	"driftlab/engine"
	"driftlab/experiments/measure"
	"driftlab/model"
	"driftlab/precision/elementary"
	"driftlab/trainer"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/correction"
	"driftlab/trainer/recipe"
)

// realTraining is a run with token-level truncated importance sampling whose responses a real engine scored.
type realTraining struct {
	Engine     string `json:"engine"`
	Checkpoint string `json:"checkpoint"`
	Seed       uint64 `json:"seed"`
	Steps      int    `json:"steps"`
	// Tokens is the number of tokens of all steps, scored at the weights of the real run by both engines.
	Tokens int `json:"tokens"`
	// K3Real and K3Emulated are the gaps to the learner before each update, and Correlation is
	// that of the two differences of log-probs, token by token.
	K3Real      float64 `json:"k3_real"`
	K3Emulated  float64 `json:"k3_emulated"`
	Correlation float64 `json:"correlation"`
	// WeightReal is the mean importance weight; Truncated counts the weights at the cap, Unequal those
	// that the emulated log-prob would make another by more than 0.001, and WeightLargest is the largest such difference.
	WeightReal    float64 `json:"weight_real"`
	Truncated     int     `json:"truncated"`
	Unequal       int     `json:"unequal"`
	WeightLargest float64 `json:"weight_largest"`
	// Arms are the real run and the ones next to it: realArms in order.
	Arms []realArm `json:"arms"`
}

// realArm is one run of a comparison.
type realArm struct {
	Name string `json:"name"`
	// Score is the mean reward over all steps, K3 the mean gap over the steps.
	Score float64 `json:"score"`
	K3    float64 `json:"k3"`
	// Distance is the Euclidean distance of the final weights from those of the emulated arm, and
	// Parted the first step, from 1, whose responses are not that arm's; 0 for none.
	Distance float64 `json:"distance"`
	Parted   int     `json:"parted"`
}

// realArms names the runs that a real one is compared with: the real one, with the emulated engine's
// log-probs, with those changed by one part in ten million (what equal engines with another order of
// sums would give), and without a correction.
var realArms = []string{"real", "emulated", "nudged", "none"}

// realRecipe is the recipe of such a run: the shipped default one with few prompts, on the task of a checkpoint
// named TASK-base.
func realRecipe(engineName, task string, seed uint64) (recipe.Recipe, error) {
	return recipe.Load("default", "task="+task, "checkpoint="+task+"-base", fmt.Sprint("seed=", seed), "rollout.numerics="+engineName, "learner.numerics=fp32",
		"correction.weights=token_tis", "steps=20", "rollout.prompts=8", "rollout.group=4", "eval.every=0")
}

// scoredRun is what a run came to, step by step.
type scoredRun struct {
	tokens [][]int32
	scores []float64
	k3     []float64
	theta  []float32
}

// runScored makes the run of a recipe; each, unless it is nil, sees the batch of every step.
func runScored(ctx context.Context, r recipe.Recipe, scorer trainer.Scorer, each func(b *batch.Batch)) (*scoredRun, error) {
	r, params, err := trainer.Prepare(r)
	if err != nil {
		return nil, err
	}
	s, err := trainer.NewSession(r, params, trainer.Options{Scorer: scorer})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	out := &scoredRun{}
	err = s.Run(ctx, 0, func(step int, figures []batch.Metric) error {
		if step == 0 {
			return nil
		}
		b, _, _, _ := s.Sampled()
		out.tokens = append(out.tokens, slices.Clone(b.Token))
		for _, m := range figures {
			switch m.Name {
			case "critic/score/mean":
				out.scores = append(out.scores, m.Value)
			case "gap/k3":
				out.k3 = append(out.k3, m.Value)
			}
		}
		if each != nil {
			each(b)
		}
		return nil
	})
	out.theta = s.Params().Theta
	return out, err
}

// sameState makes the real run and compares, at its own weights and tokens, what the real engine and its
// emulation say. It fills all but Arms.
func (t *realTraining) sameState(ctx context.Context, r recipe.Recipe, real trainer.Scorer) (*scoredRun, error) {
	tis, ok := r.Correction.Pipeline().Weights.(*correction.TokenTIS)
	if !ok {
		return nil, fmt.Errorf("the recipe's correction is not token_tis")
	}
	var emulated []float64
	var pairs [][2]float64
	weights := 0.0
	both := func(step int, p *model.Params, b *batch.Sampled) error {
		emulated = append(emulated[:0], b.LogpRoll...)
		return real(step, p, b)
	}
	run, err := runScored(ctx, r, both, func(b *batch.Batch) {
		for n, own := range b.Mask {
			if !own {
				continue
			}
			// d = rollout - learner: its k3 estimates KL(rollout || learner).
			pairs = append(pairs, [2]float64{b.LogpRoll[n] - b.Old.Logp[n], emulated[n] - b.Old.Logp[n]})
			w := b.BatchWeight[n]
			other := min(max(elementary.Exp(b.Old.Logp[n]-emulated[n]), tis.Floor), tis.Cap)
			weights += w
			if w == tis.Cap {
				t.Truncated++
			}
			difference := math.Abs(w - other)
			t.WeightLargest = max(t.WeightLargest, difference)
			if difference > 0.001 {
				t.Unequal++
			}
		}
	})
	if err != nil {
		return nil, err
	}
	t.Steps, t.Tokens, t.WeightReal = len(run.scores), len(pairs), weights/float64(len(pairs))
	t.K3Real, t.K3Emulated, t.Correlation = measure.MeanK3(pairs, 0), measure.MeanK3(pairs, 1), measure.Correlation(pairs)
	return run, nil
}

// compareTraining makes the real run of an engine on a task, from what the real engine said of its responses, and
// the runs next to it.
func compareTraining(ctx context.Context, engineName, task string, seed uint64, real trainer.Scorer) (*realTraining, error) {
	if _, ok := engine.Preset(engineName); !ok {
		return nil, fmt.Errorf("engine %q is no preset of numerics", engineName)
	}
	r, err := realRecipe(engineName, task, seed)
	if err != nil {
		return nil, err
	}
	t := &realTraining{Engine: engineName, Checkpoint: task + "-base", Seed: seed}
	first, err := t.sameState(ctx, r, real)
	if err != nil {
		return nil, err
	}
	plain := r
	if err := plain.Set("correction.weights=none"); err != nil {
		return nil, err
	}
	nudge := func(_ int, _ *model.Params, b *batch.Sampled) error {
		for n := range b.LogpRoll {
			b.LogpRoll[n] *= [2]float64{1.0000001, 0.9999999}[n&1]
		}
		return nil
	}
	runs := []*scoredRun{first}
	for _, arm := range []struct {
		r      recipe.Recipe
		scorer trainer.Scorer
	}{{r, nil}, {r, nudge}, {plain, nil}} {
		run, err := runScored(ctx, arm.r, arm.scorer, nil)
		if err != nil {
			return nil, err
		}
		runs = append(runs, run)
	}
	emulated := runs[1]
	for i, run := range runs {
		a := realArm{Name: realArms[i]}
		for step := range run.scores {
			a.Score += run.scores[step] / float64(len(run.scores))
			a.K3 += run.k3[step] / float64(len(run.k3))
			if a.Parted == 0 && !slices.Equal(run.tokens[step], emulated.tokens[step]) {
				a.Parted = step + 1
			}
		}
		square := 0.0
		for j, x := range run.theta {
			d := float64(x) - float64(emulated.theta[j])
			square += float64(d * d)
		}
		a.Distance = math.Sqrt(square)
		t.Arms = append(t.Arms, a)
	}
	return t, nil
}
