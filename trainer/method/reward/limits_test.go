package reward

import (
	"math"
	"slices"
	"testing"

	"driftlab/trainer/method"
)

// A prompt is solved above the share, not at it, and each group counts its own
// responses: the second is solved by two of two.
func TestAnchorCountsItsGroup(t *testing.T) {
	a := &Anchor{Coef: 0.1, Solved: 0.5, By: byPrompt}
	b, verdicts := lengths(t, [][]int{{10, 20}, {10, 10}}, [][]bool{{true, false}, {true, true}})
	near(t, "setting", part(t, a, b, verdicts), []float64{0, 0, 0, 0})
	b, verdicts = lengths(t, [][]int{{15, 15}, {15, 15}}, [][]bool{{false, false}, {false, false}})
	near(t, "one of two is not solved", part(t, a, b, verdicts), []float64{0, 0, -0.05, -0.05})
}

// eps widens the deviation: lengths 5 and 15 stand 5/(5+5) from their mean.
func TestRelativeEps(t *testing.T) {
	b, verdicts := lengths(t, [][]int{{5, 15}}, [][]bool{{true, true}})
	sigma := 1 / (1 + math.Exp(-0.5))
	near(t, "eps 5", part(t, &Relative{Coef: 0.4, Eps: 5}, b, verdicts), []float64{-0.4 * (1 - sigma), -0.4 * sigma})
}

// Every group is counted from where it starts: ρ(1, 1, 1) is 1 in both.
func TestPassAtKOfLaterGroups(t *testing.T) {
	b, verdicts := lengths(t, [][]int{{1, 1}, {1, 1}}, [][]bool{{true, false}, {true, false}})
	near(t, "k = 2", part(t, &PassAtK{K: 2}, b, verdicts), []float64{2, 2, 2, 2})
}

// A label needs an impression beyond the threshold, either way: ±0.5 at 0.5 is
// similar.
func TestTernaryThreshold(t *testing.T) {
	b, verdicts := scored(t, []string{right, hopeless})
	for threshold, want := range map[float64][]float64{0.5: {0, 0}, math.Nextafter(0.5, 0): {1, -1}} {
		near(t, "labels", part(t, &Ternary{Threshold: threshold, Steps: 0.5, Reference: 0.5}, b, verdicts), want)
	}
}

// The very first token of a batch takes what is placed on it, of a step as of
// the whole response, and so does the first of a later response.
func TestFirstTokensTakeRewards(t *testing.T) {
	b, verdicts := scored(t, []string{right, right})
	clear(b.Mask)
	second := b.Offsets[1]
	b.Mask[0], b.Mask[second] = true, true // all else is the environment's, where steps and response end
	for _, parts := range [][]Shaper{{method.New[Process]()}, {method.New[Process](), method.New[Exact]()}} {
		must(t, NewScorer(parts...).Score(b, verdicts))
		if got := []float64{b.TokenReward[0], b.TokenReward[second]}; b.Reward[0] == 0 || !slices.Equal(got, b.Reward) {
			t.Errorf("%d parts: %v on the first tokens, rewards %v", len(parts), got, b.Reward)
		}
	}
}

// The random placebo tosses for every step: of a response without a valid one,
// each place is praised about half of the time.
func TestRandomPlaceboTossesForAll(t *testing.T) {
	b, verdicts := scored(t, []string{hopeless})
	p := &Process{Coef: 1, Label: labelValid, Placebo: placeboRandom}
	const n = 2000
	praised := make([]float64, b.Tokens())
	for version := range n {
		b.LearnerVersion = version
		placed := make([]float64, b.Tokens())
		must(t, p.Place(placed, b, verdicts))
		for i, score := range placed {
			if score > 0 {
				praised[i]++
			}
		}
	}
	for _, i := range []int{1, 3, 5} {
		if math.Abs(praised[i]-n/2) > 4*math.Sqrt(n/4) {
			t.Errorf("the step that ends at %d is praised %v times of %d", i, praised[i], n)
		}
	}
}
