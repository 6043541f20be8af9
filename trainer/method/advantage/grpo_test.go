package advantage

import (
	"math"
	"testing"

	"driftlab/trainer/method"
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
		b := single(reward, group, ones)
		must(t, e(c.e, b))
		if !nearAll(b.Advantage, c.want, 1e-6) {
			t.Errorf("%+v: %v, want %v", c.e, b.Advantage, c.want)
		}
	}
}

func e(x Estimator, b *batch.Batch) error {
	if err := method.Check(x); err != nil {
		return err
	}
	return x.Estimate(b)
}

func TestGRPOEqualRewardsGiveZero(t *testing.T) {
	b := single([]float64{.7, .7, .7}, []int{0, 0, 0}, []int{2, 1, 3})
	must(t, e(Registry[0].New(), b))
	for n, a := range b.Advantage {
		if a != 0 {
			t.Errorf("token %d has advantage %v, want exactly 0", n, a)
		}
	}
}

// A reward that could not be scored gives 0 and does not touch its siblings.
func TestUnscoredRewards(t *testing.T) {
	for _, name := range []string{"grpo", "normalize"} {
		entry, err := Registry.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		a := single([]float64{1, 0, .5}, []int{0, 0, 0}, []int{1, 1, 1})
		b := single([]float64{1, math.NaN(), 0, .5}, []int{0, 0, 0, 0}, []int{1, 1, 1, 1})
		if e(entry.New(), a) != nil || e(entry.New(), b) != nil {
			t.Fatal("error")
		}
		want := []float64{a.Advantage[0], 0, a.Advantage[1], a.Advantage[2]}
		if !nearAll(b.Advantage, want, 1e-15) {
			t.Errorf("%s: %v, want %v", name, b.Advantage, want)
		}
	}
}

// must stops the test at an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
