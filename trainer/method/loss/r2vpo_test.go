package loss

import (
	"math"
	"testing"

	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
)

// ratios is a group of one response with these ratios, all of advantage a.
func ratios(a float64, r ...float64) *batch.Batch {
	b := &batch.Batch{Sampled: batch.Sampled{Offsets: []int{0, len(r)}, Group: []int{0}}}
	for _, x := range r {
		b.Mask, b.Now.Logp = append(b.Mask, true), append(b.Now.Logp, math.Log(x)-10)
		b.Anchor, b.Advantage = append(b.Anchor, -10), append(b.Advantage, a)
	}
	return b
}

// Beyond a distance of 1 the penalty goes on in a straight line, and a wild batch moves
// the dual variable by η, not to its end.
func TestR2VPOTail(t *testing.T) {
	p := method.New[R2VPO]()
	// r̄ = 2, distances -1.5, -1.4, -1.3, 4.2: h = 2, 1.8, 1.6, 7.4.
	out := eval(t, p, ratios(1, 0.5, 0.6, 0.7, 6.2))
	if want := -2 + (2+1.8+1.6+7.4)/4 - 0.01; math.Abs(out.Loss-want) > 1e-12 {
		t.Errorf("loss %v, want %v", out.Loss, want)
	}
	for n, want := range []float64{-3 * 0.5 / 4, -3 * 0.6 / 4, -3 * 0.7 / 4, 6.2 / 4} {
		if math.Abs(out.DLogp[n]-want) > 1e-12 {
			t.Errorf("derivative %d is %v, want %v", n, out.DLogp[n], want)
		}
	}
	if math.Abs(p.Lambda-1.1) > 1e-12 {
		t.Errorf("lambda %v after a variance of 5.9, want 1.1", p.Lambda)
	}
	out = eval(t, p, ratios(1, 1, 1, 1, math.Exp(12)))
	if math.Abs(p.Lambda-1.2) > 1e-12 || out.Loss > math.Exp(12) {
		t.Errorf("lambda %v, loss %v after a ratio of e^12", p.Lambda, out.Loss)
	}
}

// The adaptive clip is looser than ε where the variance is below δ, up to four times,
// and tighter where it is above, and logs both.
func TestR2VPOAdaptiveClip(t *testing.T) {
	for _, c := range []struct {
		half, eps, high, low float64 // ratios 1 ± half have the variance half²
	}{{0.05, 0.4, 0, 0}, {0.1, 0.2, 0, 0}, {0.2, 0.1, 0.5, 0}, {0.4, 0.05, 0.5, 0}, {1e-3, 0.8, 0, 0}} {
		p := method.New[R2VPO]()
		p.Variant = "adaptive_clip"
		out := eval(t, p, ratios(1, 1+c.half, 1-c.half))
		for name, want := range map[string]float64{"r2vpo/eps": c.eps, "r2vpo/variance": c.half * c.half, "r2vpo/clipped_high": c.high, "r2vpo/clipped_low": c.low, "actor/pg_clipfrac": c.high + c.low} {
			if got, ok := out.Metric(name); !ok || math.Abs(got-want) > 1e-7 {
				t.Errorf("1 ± %v: %s is %v, want %v", c.half, name, got, want)
			}
		}
	}
}
