package correction

import (
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
)

// None is no weighting: every weight is one. As a Weighting of a Pipeline it is
// the same as nil.
type None struct{}

var noneSpec = method.Spec{
	Name: "none", Unit: method.Token,
	Does:     "Leaves every token with weight 1.",
	When:     "Use it as the uncorrected baseline, or if the measured mismatch is negligible.",
	Source:   "-",
	Formula:  "w_t = 1",
	Gradient: "constant: nothing to differentiate",
	Needs:    batch.Columns{batch.LogpRoll, batch.Anchor},
}

// Weigh gives every token the weight one.
func (*None) Weigh(w *Weights, in *Input) error {
	w.spread(in, 0, in.Tokens(), 1, 1)
	return nil
}

// Level is token.
func (*None) Level() method.Unit { return method.Token }

// Bounds are 0 and +Inf.
func (*None) Bounds() (low, high float64) { return 0, unbounded }

func (*None) rule(*Input) rule { return rule{raw: "1", applied: "ρ"} }
