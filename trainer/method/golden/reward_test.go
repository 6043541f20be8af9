package golden

import (
	"slices"

	"driftlab/trainer/method/reward"
)

var goldenRewardListings = Listings{
	{File: "nemo-rl/reward_shaping*.json", When: beyondLimit,
		Reason: "NeMo-RL's soft overlong punishment goes on below its full size for responses beyond the limit, which no rollout here is; the paper's and ours ends there"},
}

// beyondLimit are the cases of the overlong punishment with a response above the limit.
func beyondLimit(c *Case) bool {
	if !overlongCase(c) {
		return false
	}
	for _, n := range c.Inputs.Flat("lengths") {
		if n > c.Params.Float("max_response_length") {
			return true
		}
	}
	return false
}

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
		if err := s.Part(part, b, nil); err != nil {
			k.Fail("%v", err)
			return
		}
		for i := range got {
			got[i] += part[i]
		}
	}
	k.Vector("rewards", got)
}
