package golden

import (
	"slices"

	"driftlab/trainer/method/reward"
)

// overlongCase reports whether a case has the overlong punishment.
func overlongCase(c *Case) bool {
	return c.Params.Int("enabled") == 1 && !c.Params.Has("stop_properly_penalty_coef")
}

func matchShaping(c *Case, k *Check) {
	var mask [][]float64
	for _, n := range c.Inputs.Flat("lengths") {
		mask = append(mask, slices.Repeat([]float64{1}, int(n)))
	}
	b, got := Batch(mask), slices.Clone(c.Inputs.Flat("rewards"))
	b.Reward = c.Inputs.Flat("rewards")
	for _, cut := range c.Inputs.Flat("truncated") {
		b.Finished = append(b.Finished, cut == 0)
	}
	if c.Params.Int("enabled") == 1 {
		var s reward.Shaper = &reward.StopProperly{Coef: c.Params.FloatOr("stop_properly_penalty_coef", 1)}
		if overlongCase(c) {
			s = &reward.Overlong{MaxLength: c.Params.Int("max_response_length"), Buffer: c.Params.Int("overlong_buffer_length"), Coef: c.Params.Float("overlong_buffer_penalty")}
		}
		part := make([]float64, len(got))
		if !k.OK(s.Part(part, b, nil)) {
			return
		}
		for i := range got {
			got[i] += part[i]
		}
	}
	k.Vector("rewards", got)
}
