package learner_test

import (
	"fmt"

	"driftlab/engine"
	"driftlab/engine/column"
	"driftlab/engine/learner"
	"driftlab/model"
)

// likelihood is the mean negative log-prob of the response tokens.
type likelihood struct{}

func (likelihood) Eval(out *column.Grad, now *column.Scored) error {
	tokens := len(now.Logp)
	out.Reset(tokens)
	for n, logp := range now.Logp {
		out.Loss -= logp / float64(tokens)
		out.DLogp[n] = -1 / float64(tokens)
	}
	return nil
}

// Eight updates teach a tiny model one answer. Score gives the log-probs of
// the old policy, Gradient those of the current one and the gradient of any
// objective that maps those to d loss/d log-prob.
func Example() {
	c := model.Config{Layers: 1, DModel: 16, Heads: 2, Experts: 4, Vocab: 8}.WithDefaults()
	params := model.New(c)
	params.Init(3)
	numerics, _ := engine.Preset("bf16")
	l := learner.New(params, learner.Settings{
		Numerics: numerics,
		AdamW:    learner.AdamW{Beta1: 0.9, Beta2: 0.99, Eps: 1e-8, ClipNorm: 1},
	}, 1)
	defer l.Close()

	in := column.Sampled{Offsets: []int{0, 3}, Prompt: [][]int32{{1, 5, 2}}, Token: []int32{4, 4, 0}, Mask: []bool{true, true, true}}
	policy := learner.Policy{Temperature: 1}
	var old, now column.Scored
	l.Score(&old, &in, learner.ScoreOptions{Policy: policy})
	fmt.Printf("before: %.2f\n", old.Logp)
	for range 8 {
		report, err := l.Gradient(&now, &in, likelihood{}, learner.StepOptions{Policy: policy})
		if err != nil {
			fmt.Println(err)
			return
		}
		if !report.Skipped {
			l.Update(0.01)
		}
	}
	l.Score(&old, &in, learner.ScoreOptions{Policy: policy})
	fmt.Printf("after %d updates: %.2f\n", l.Updates(), old.Logp)
	// Output:
	// before: [-2.25 -2.33 -2.65]
	// after 8 updates: [-0.46 -0.83 -0.77]
}
