package reward

import (
	"testing"

	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/golden"
)

func TestGolden(t *testing.T) {
	golden.Run(t, "trainer/method/reward", []golden.Matcher{{File: "nemo-rl/reward_shaping*.json", Match: matchShaping}}, golden.Listings{
		{File: "nemo-rl/reward_shaping*.json", When: beyondLimit,
			Reason: "NeMo-RL's soft overlong punishment goes on below its full size for responses beyond the limit, which no rollout here is; the paper's and ours ends there"},
	})
}

// beyondLimit are the cases of the overlong punishment with a response above the limit.
func beyondLimit(c *golden.Case) bool {
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

func overlongCase(c *golden.Case) bool {
	return c.Params.Int("enabled") == 1 && !c.Params.Has("stop_properly_penalty_coef")
}

func matchShaping(c *golden.Case, k *golden.Check) {
	var sizes []int
	for _, n := range c.Inputs.Flat("lengths") {
		sizes = append(sizes, int(n))
	}
	b, got := tokens(sizes), append([]float64(nil), c.Inputs.Flat("rewards")...)
	b.Reward = c.Inputs.Flat("rewards")
	for _, cut := range c.Inputs.Flat("truncated") {
		b.Finished = append(b.Finished, cut == 0)
	}
	if c.Params.Int("enabled") == 1 {
		var s Shaper = &StopProperly{Coef: c.Params.FloatOr("stop_properly_penalty_coef", 1)}
		if overlongCase(c) {
			s = &Overlong{MaxLength: c.Params.Int("max_response_length"), Buffer: c.Params.Int("overlong_buffer_length"), Coef: c.Params.Float("overlong_buffer_penalty")}
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

// tokens is a batch of responses of these sizes.
func tokens(sizes []int) *batch.Batch {
	b := &batch.Batch{Sampled: batch.Sampled{Offsets: []int{0}}}
	for _, n := range sizes {
		for range n {
			b.Mask = append(b.Mask, true)
		}
		b.Offsets = append(b.Offsets, len(b.Mask))
	}
	return b
}

// A part that follows others sees their sum, and its own part does not change what it saw.
func TestFollowersReadThePartsBefore(t *testing.T) {
	b, verdicts := scored(t, []string{right, cut})
	err := NewScorer(method.New[Format](), method.New[Exact](), &StopProperly{Coef: 0.25}).Score(b, verdicts)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "a truncated response without a reward loses nothing", b.Reward, []float64{1.1, 0})
	b.Finished[0] = false
	if err := NewScorer(method.New[Format](), method.New[Exact](), &StopProperly{Coef: 0.25}).Score(b, verdicts); err != nil {
		t.Fatal(err)
	}
	near(t, "a quarter of it is left", b.Reward, []float64{0.275, 0})
	b.Finished = nil
	if err := NewScorer(&StopProperly{}).Score(b, verdicts); err == nil {
		t.Error("it works without Finished")
	}
}

func TestLengthLinear(t *testing.T) {
	b, verdicts := lengths(t, [][]int{{10, 20}, {10, 20}}, [][]bool{{true, false}, {false, false}})
	near(t, "the worked example, and a group without a reward", part(t, &LengthLinear{Output: 0.25}, b, verdicts), []float64{-0.0625, -0.125, 0, 0})
	b.Mask[0], b.Turn = false, make([]int32, b.Tokens())
	for n := 5; n < 10; n++ {
		b.Turn[n] = 1
	}
	// Inputs are the 10 tokens of the prompt and one of a tool, and turns 2 and 1.
	near(t, "inputs and turns", part(t, &LengthLinear{Input: 0.1, Turns: 0.2}, b, verdicts)[:2],
		[]float64{-0.5 * (0.1 + 0.2), -0.5 * (0.1*10/11 + 0.1)})
}

// What is in the registry as a follower says so, and nothing else does.
func TestFollows(t *testing.T) {
	for _, e := range Registry {
		if got := Follows(e.New()); got != (e.Name == "length_linear" || e.Name == "stop_properly") {
			t.Errorf("%s follows: %v", e.Name, got)
		}
	}
}
