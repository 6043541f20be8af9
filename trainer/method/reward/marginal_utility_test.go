package reward

import (
	"math"
	"slices"
	"testing"

	"driftlab/trainer/method"
)

// TestUtility places what each episode has done to the value, and its sum telescopes:
// the first response has three episodes, the answer among them, the second is all
// answer, the third was cut within its second episode.
func TestUtility(t *testing.T) {
	b, verdicts := scored(t, []string{right, guess, cut})
	b.Episode = []int32{0, 0, 0, 0, 1, 1, 2, 2, 2, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1}
	b.PrefixValue = []float64{-2.3, -2.3, -2.3, -2.3, -2.5, -2.5, -0.1, -0.1, -0.1, -2.3, -2.3, -2.3, -2.3, -2.3, -2.3, -2.3, -1, -1, -1}
	placed := func(u *Utility) []float64 {
		dst := make([]float64, b.Tokens())
		must(t, u.Place(dst, b, verdicts))
		return dst
	}
	near(t, "places", placed(method.New[Utility]()), []float64{0, 0, 0, -0.2, 0, 2.4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1.3, 0, 0, 0})
	near(t, "sums", part(t, &Utility{Coef: 0.5, Placebo: placeboNone}, b, verdicts), []float64{1.1, 0, 0.65})

	shuffled := method.New[Utility]()
	shuffled.Placebo = placeboShuffled
	near(t, "shuffling keeps the sum", part(t, shuffled, b, verdicts), []float64{2.2, 0, 1.3})
	swapped := 0
	for version := range 200 {
		b.LearnerVersion = version
		got := placed(shuffled)
		if !slices.Equal(got, placed(shuffled)) {
			t.Fatal("the same step is shuffled in two ways")
		}
		if math.Abs(got[3]-2.4) < 1e-9 && math.Abs(got[5]+0.2) < 1e-9 {
			swapped++
		}
	}
	if swapped < 60 || swapped > 140 {
		t.Errorf("two episodes change places in %d steps of 200", swapped)
	}

	b.Mask[3] = false // the environment's output ends the episode
	near(t, "credit to the policy's token", placed(method.New[Utility]()), []float64{0, 0, -0.2, 0, 0, 2.4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1.3, 0, 0, 0})
	b.Episode = nil
	if err := method.New[Utility]().Part(make([]float64, 3), b, verdicts); err == nil {
		t.Error("without episodes there is no fault")
	}
}
