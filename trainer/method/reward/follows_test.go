package reward

import (
	"testing"

	"driftlab/trainer/method"
)

// A part that follows others sees their sum, and its own part does not change what it saw.
func TestFollowersReadThePartsBefore(t *testing.T) {
	b, verdicts := scored(t, []string{right, cut})
	err := NewScorer(method.New[Format](), method.New[Exact](), &StopProperly{Coef: 0.25}).Score(b, verdicts)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "a truncated response without a reward loses nothing", b.Reward, []float64{1.1, 0})
	b.Finished[0] = false
	must(t, NewScorer(method.New[Format](), method.New[Exact](), &StopProperly{Coef: 0.25}).Score(b, verdicts))
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
