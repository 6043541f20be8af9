package measurements

import (
	"math"
	"testing"

	"driftlab/trainer/method/batch"
)

// eightTokens is a batch of two responses of eight tokens, whose log-ratios are v and
// -v throughout.
func eightTokens(v float64) *batch.Batch {
	b := new(batch.Batch)
	b.Offsets = []int{0, 8, 16}
	b.Token, b.LogpRoll = make([]int32, 16), make([]float64, 16)
	for i := range 16 {
		if i == 8 {
			v = -v
		}
		b.Old.Logp = append(b.Old.Logp, v)
	}
	return b
}

// What a panel says of two responses of constant, opposite ratios can be written down:
// sums grow with the length, the mean per token does not.
func TestPanel(t *testing.T) {
	const v = 0.1
	p := newPanel(eightTokens(v), 8)
	if len(p.Lengths) != 4 || p.Lengths[0] != 1 || p.Lengths[3] != 8 {
		t.Fatalf("lengths %v, want 1, 2, 4, 8", p.Lengths)
	}
	near := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 1e-12 {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	// e^2v - 1 of half the tokens and e^-2v - 1 of the others.
	near("chi2 of a token", p.chi2, math.Cosh(2*v)-1)
	for k, n := range p.Lengths {
		near("spread in units of a token's", p.spread[k], n*math.Sqrt2)
		near("tokens beyond a factor of two", p.tokensOut[k], 0)
		kept := 0.0
		if n*v <= .25 {
			kept = 1
		}
		near("kept by the product", p.Kept(.25, false)[k], kept)
		near("kept by the mean", p.Kept(.25, true)[k], 1)
		mean, sd := p.quantity("mean"), p.quantity("sd")
		near("mean", mean[k], 0)
		near("deviation", sd[k], n*v*math.Sqrt2)
		// Weights e^nv and e^-nv: (2 cosh nv)² over 2·2 cosh 2nv.
		ess := p.quantity("ESS")
		near("effective share", ess[k], math.Cosh(n*v)*math.Cosh(n*v)/math.Cosh(2*n*v))
	}
	if wide := newPanel(eightTokens(1), 8); wide.tokensOut[3] != 1 {
		t.Errorf("of ratios e and 1/e the share %v lies beyond a factor of two, want all", wide.tokensOut[3])
	}
}

// A curve that only falls falls by what lies between its ends; one that rises anywhere is
// worth minus its largest rise.
func TestFall(t *testing.T) {
	if got := fall([]float64{.9, .5, .5, .2}); math.Abs(got-.7) > 1e-15 {
		t.Errorf("fell by %v, want 0.7", got)
	}
	if got := fall([]float64{.9, .5, .6, .2}); math.Abs(got+.1) > 1e-15 {
		t.Errorf("rose by %v, want 0.1", -got)
	}
}

// The clip of PPO lets 0.8 to 1.2 pass.
func TestOutsideClip(t *testing.T) {
	if got := outsideClip([]float64{0, math.Log(.79), math.Log(.81), math.Log(1.19), math.Log(1.21)}); got != .4 {
		t.Errorf("%v of the tokens lie outside, want 0.4", got)
	}
}
