package reward

import (
	"fmt"

	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/task"
)

// StopProperly multiplies the reward of responses that were cut off at the length limit.
//
// It reads the sum of the parts that stand before it. A negative reward is moved up, towards 0:
// use it with rewards that are not negative.
type StopProperly struct {
	// Coef is what a truncated response keeps of its reward: 0 nothing, 1 all.
	Coef float64 `yaml:"coef" default:"0" range:"[0,1]"`
}

var stopProperlySpec = method.Spec{
	Name: "stop_properly", Aliases: []string{"stop_properly_penalty"}, Unit: method.Sequence,
	Does:    "Multiplies the reward of responses that did not end with the stop token by a factor from 0 to 1.",
	When:    "Use it behind parts that pay truncated responses too, such as format or process; exact alone gives them 0 already.",
	Source:  "NeMo-RL reward_shaping.stop_properly_penalty_coef",
	Formula: "R = (coef − 1)·R before if truncated, 0 if not",
	Example: "coef = 0.25, reward before 0.4\n" +
		"truncated: −0.75·0.4 = −0.3\n" +
		"ended by the stop token: 0",
}

// follows implements follower.
func (*StopProperly) follows() {}

// Part implements Shaper.
func (s *StopProperly) Part(dst []float64, b *batch.Batch, _ []task.Verdict) error {
	if err := b.Require(batch.Reward); err != nil {
		return err
	}
	if len(b.Finished) != b.Len() {
		return fmt.Errorf("reward: stop_properly: Finished has %d entries for %d responses: record it before this stage", len(b.Finished), b.Len())
	}
	for i, finished := range b.Finished {
		dst[i] = 0
		if !finished {
			dst[i] = (s.Coef - 1) * b.Reward[i]
		}
	}
	return nil
}
