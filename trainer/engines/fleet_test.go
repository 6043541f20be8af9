package engines

import (
	"math"
	"slices"
	"testing"

	"driftlab/engine"
	"driftlab/model"
	"driftlab/trainer/method/stream"
	"driftlab/trainer/recipe"
)

// TestFleetCounts rounds shares to responses that meet without a gap.
func TestFleetCounts(t *testing.T) {
	for _, shares := range [][]float64{{0.5}, {1. / 3, 1. / 3}, {0.1, 0.1, 0.1}, {0.7, 0.3}, {1}, {0.01}} {
		for _, n := range []int{1, 2, 7, 128} {
			f := &Fleet{shares: append([]float64{0}, shares...)}
			sum := 0
			for i := range len(shares) + 1 {
				c := f.count(i, n)
				if c < 0 || i > 0 && math.Abs(float64(c)-shares[i-1]*float64(n)) > 1 {
					t.Errorf("shares %v of %d: engine %d has %d", shares, n, i, c)
				}
				sum += c
			}
			if sum != n {
				t.Errorf("shares %v of %d: %d responses in all", shares, n, sum)
			}
		}
	}
}

// TestNoise draws noise anew at every sync and never adds it up, leaves the
// weights as they are, and follows the stages of the schedule.
func TestNoise(t *testing.T) {
	p := model.New(model.Config{Layers: 2, DModel: 32, Heads: 4, Experts: 4, TopK: 2, DFF: 32, Context: 32, Vocab: 32})
	p.Init(1)
	clean := p.Clone()
	fp32, _ := engine.Preset("fp32")
	f := NewFleet(recipe.Recipe{Model: p.Config, Rollout: recipe.Rollout{Slots: 1}}, fp32, 1)
	defer f.Close()
	deviation := func() float64 {
		sum, n := 0.0, 0
		for i, x := range f.noisy.Theta {
			if d := float64(x - p.Theta[i]); d != 0 {
				sum, n = sum+d*d, n+1
			}
		}
		if want := 5 * 32; n != want { // the gains of two norms per layer, and of the last
			t.Errorf("%d weights have noise, want %d", n, want)
		}
		return math.Sqrt(sum / float64(n))
	}
	for sync := range 20 {
		f.Publish(sync, p, sync, 0.01, stream.New(1, stream.Noise, sync))
		if d := deviation(); d < 0.008 || d > 0.012 {
			t.Errorf("sync %d: noise of %g, want 0.01", sync, d)
		}
	}
	last := f.noisy.Clone()
	f.Publish(0, p, 0, 0.01, stream.New(1, stream.Noise, 0))
	if slices.Equal(last.Theta, f.noisy.Theta) {
		t.Error("two syncs have the same noise")
	}
	f.Publish(19, p, 19, 0.01, stream.New(1, stream.Noise, 19))
	if !slices.Equal(last.Theta, f.noisy.Theta) || !slices.Equal(p.Theta, clean.Theta) {
		t.Error("the same sync has other noise, or the weights have changed")
	}
	// Kst = 5 over 10 steps: 0, then s0·(s1/s0)^(j/3). Reference: arXiv 2510.11696.
	n := recipe.Noise{Start: 1e-2, End: 1e-4, Stages: 5}
	for step, want := range []float64{0, 0, 1e-2, 1e-2, 2.154434690e-3, 2.154434690e-3, 4.641588834e-4, 4.641588834e-4, 1e-4, 1e-4} {
		if got := n.Sigma(step, 10); math.Abs(got-want) > 1e-9*want {
			t.Errorf("step %d: sigma %g, want %g", step, got, want)
		}
	}
	two := recipe.Noise{Start: 1e-2, End: 1e-4, Stages: 2}
	if two.Sigma(4, 10) != 0 || two.Sigma(5, 10) != 1e-2 || (recipe.Noise{End: 1e-4, Stages: 3}).Sigma(9, 10) != 0 {
		t.Error("two stages, or no noise")
	}
}
