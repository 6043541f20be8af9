package advantage

import (
	"fmt"
	"math"
	"testing"

	"driftlab/trainer/method/batch"
)

// single builds responses of the given lengths, all generated.
func single(reward []float64, group []int, length []int) *batch.Batch {
	b := &batch.Batch{
		Sampled: batch.Sampled{Offsets: []int{0}, Group: group},
		Graded:  batch.Graded{Reward: reward},
	}
	for i := range reward {
		b.Offsets = append(b.Offsets, b.Offsets[i]+length[i])
	}
	for range b.Tokens() {
		b.Mask = append(b.Mask, true)
	}
	return b
}

func nearAll(got, want []float64, tolerance float64) bool {
	if len(got) != len(want) {
		return false
	}
	for i := range got {
		if !(math.Abs(got[i]-want[i]) <= tolerance) {
			return false
		}
	}
	return true
}

// Reference: R = [1 0 0 1 1], mean .6, unbiased std .5477226.
func TestGRPOByHand(t *testing.T) {
	reward, group, ones := []float64{1, 0, 0, 1, 1}, []int{0, 0, 0, 0, 0}, []int{1, 1, 1, 1, 1}
	for _, c := range []struct {
		e    *GRPO
		want []float64
	}{
		{&GRPO{Asymmetry: symmetric, Std: true, Singleton: "raw"}, []float64{.730297, -1.095445, -1.095445, .730297, .730297}},
		{&GRPO{Asymmetry: symmetric, Singleton: "raw"}, []float64{.4, -.6, -.6, .4, .4}},
		{&GRPO{Asymmetry: Asymmetry{.5}, Singleton: "raw"}, []float64{.2, -.6, -.6, .2, .2}},
		{&GRPO{Asymmetry: Asymmetry{0}, Singleton: "raw"}, []float64{0, -.6, -.6, 0, 0}},
	} {
		estimates(t, fmt.Sprintf("%+v", c.e), c.e, single(reward, group, ones), c.want, 1e-6)
	}
}

// A reward that could not be scored gives 0 and does not touch its siblings.
func TestUnscoredRewards(t *testing.T) {
	for _, name := range []string{"grpo", "normalize"} {
		a := single([]float64{1, 0, .5}, []int{0, 0, 0}, []int{1, 1, 1})
		b := single([]float64{1, math.NaN(), 0, .5}, []int{0, 0, 0, 0}, []int{1, 1, 1, 1})
		estimate(t, lookup(t, name), a)
		estimates(t, name, lookup(t, name), b, []float64{a.Advantage[0], 0, a.Advantage[1], a.Advantage[2]}, 1e-15)
	}
}

// must stops the test at an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
