package loss

import (
	"math"
	"testing"

	"driftlab/trainer/method/batch"
)

// The expectation of PostTerm, over all pairs of responses that the rollout engine may give to a prompt, is the difference of the expected rewards of both policies, exactly.
func TestPostTermUnbiased(t *testing.T) {
	reward := []float64{1, 0, -0.5, 0.25} // of the responses 00, 01, 10 and 11
	roll := [][]float64{{0.7, 0.2}, {0.7, 0.8}, {0.3, 0.9}, {0.3, 0.1}}
	learner := [][]float64{{0.4, 0.35}, {0.4, 0.65}, {0.6, 0.5}, {0.6, 0.5}}
	want := 0.0
	for y, r := range reward {
		want += r * (roll[y][0]*roll[y][1] - learner[y][0]*learner[y][1])
	}
	for _, responses := range []int{1, 2} {
		got := 0.0
		for pair := range 16 {
			b := &batch.Batch{Sampled: batch.Sampled{Offsets: []int{0}}}
			var logp []float64
			chance := 1.0
			for i := range responses {
				y := pair >> (2 * i) & 3
				b.Offsets, b.Group, b.Reward = append(b.Offsets, 3*(i+1)), append(b.Group, 0), append(b.Reward, reward[y])
				b.Mask = append(b.Mask, true, false, true) // what a tool writes does not count
				b.LogpRoll = append(b.LogpRoll, math.Log(roll[y][0]), -1, math.Log(roll[y][1]))
				logp = append(logp, math.Log(learner[y][0]), -9, math.Log(learner[y][1]))
				chance *= roll[y][0] * roll[y][1]
			}
			if responses == 2 || pair < 4 {
				got += chance * PostTerm(b, logp)
			}
		}
		if math.Abs(got-want) > 1e-14 {
			t.Errorf("%d responses: T_post is %v on average, J(μ') - J(π') is %v", responses, got, want)
		}
	}
}

// The tolerance is linear from the first step to the last, and a T_post that cannot be computed is not accepted.
func TestMIPUAccepts(t *testing.T) {
	p := NewMIPU()
	p.Tolerance, p.FinalTolerance = 0.4, 0.2
	for _, c := range []struct {
		post, done float64
		want       bool
	}{{-0.4, 0, true}, {-0.41, 0, false}, {-0.3, 0.5, true}, {-0.31, 0.5, false}, {-0.2, 1, true}, {-0.21, 1, false}, {math.NaN(), 0, false}, {math.Inf(-1), 0, false}} {
		if got := p.Accepts(c.post, c.done); got != c.want {
			t.Errorf("T_post %v after a share of %v: accepted is %t", c.post, c.done, got)
		}
	}
}
