package loss

import (
	"driftlab/precision/elementary"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/trace"
)

// GMPO maximises the geometric mean of token ratios, clipped per token and on
// one side, in log space.
//
// The bounds are log ratios: 0.4 is the band e^-0.4 .. e^0.4 (verl reuses
// clip_ratio as one). verl averages over all rows, empty ones too; importance
// weights enter as their geometric mean. The repository's ablations are the
// options: clip sequence clamps the summed log-ratio, clip none does not clamp,
// normalise false drops the 1/T.
type GMPO struct {
	// EpsLow and EpsHigh are the bounds of the log-ratio.
	EpsLow  float64 `yaml:"eps_low" default:"0.4" range:"[0,inf]"`
	EpsHigh float64 `yaml:"eps_high" default:"0.4" range:"[0,inf]"`
	// Clip is token, sequence or none.
	Clip string `yaml:"clip" default:"token" oneof:"token sequence none"`
	// Normalise divides the sum of log-ratios by the length.
	Normalise bool `yaml:"normalise" default:"true"`
	// Epsilon is added to lengths before dividing by them (verl 1e-8).
	Epsilon float64 `yaml:"epsilon" range:"[0,inf]"`
	// NonEmpty averages over non-empty responses in place of all.
	NonEmpty bool `yaml:"non_empty"`
}

// Eval computes the loss over the active tokens.
func (p *GMPO) Eval(out *Grad, in *batch.Batch) error {
	agg := Aggregation{Mode: either(p.NonEmpty, "seq-mean-token-sum", "seq-all-token-sum")}
	return withFrame(out, in, agg, batch.Columns{batch.Anchor, batch.Advantage}, func(f *frame) {
		f.restrictToOpen() // as in TRL
		var clips clipCounts
		for i := range in.Len() {
			t := p.response(f, i)
			if t.length == 0 {
				continue
			}
			value := float64(-t.a * t.g * t.w)
			f.addResponse(i, value)
			f.share(i, "a", t.a)
			f.share(i, "g", t.g)
			f.share(i, "weight", t.w)
			for n := range in.Where(i, f.active) { // d exp(x/divisor)/d logp, on the tokens the clip left alone
				lr, a := in.Now.Logp[n]-in.Anchor[n], in.Advantage[n]
				_, moves := p.bound(a, lr)
				if lr > p.EpsHigh || lr < -p.EpsLow {
					clips.upper += count(a > 0)
					clips.lower += count(a < 0)
				}
				switch {
				case !t.live:
					f.stop(n, trace.Bounded)
				case moves:
					out.DLogp[n] += value / t.divisor
				case lr > 0:
					f.stop(n, trace.ClippedHigh)
				default:
					f.stop(n, trace.ClippedLow)
				}
			}
		}
		f.addClipFractions(clips, in.Anchor, 0)
	})
}

// geometric is the term of a response: -a·g, g = exp(x/divisor), of weight w.
type geometric struct {
	length, divisor, a, x, g, w float64
	// live says that x has a gradient.
	live bool
}

// response is the term of response i.
func (p *GMPO) response(f *frame, i int) (t geometric) {
	if t.length = f.length(i); t.length == 0 {
		return t
	}
	if t.divisor = 1; p.Normalise {
		t.divisor = t.length + p.Epsilon
	}
	t.a = f.meanAdvantage(i, t.length) * t.length / (t.length + p.Epsilon)
	t.x, t.live = p.logRatio(f, i, t.a)
	t.g = elementary.Exp(t.x / t.divisor)
	t.w = f.rowWeight[i] * f.geometricWeight(i, t.length, p.Epsilon)
	return t
}

// logRatio is Σ_t x_t of response i, and whether it has a gradient.
func (p *GMPO) logRatio(f *frame, i int, a float64) (sum float64, live bool) {
	if p.Clip == "sequence" {
		sum = f.sumLogRatio(i, f.in.Now.Logp, f.in.Anchor)
		bound := clamp(sum, -p.EpsLow, p.EpsHigh)
		if a >= 0 {
			return min(sum, bound), sum <= bound
		}
		return max(sum, bound), sum >= bound
	}
	for n := range f.in.Where(i, f.active) {
		x, _ := p.bound(f.in.Advantage[n], f.in.Now.Logp[n]-f.in.Anchor[n])
		sum += x
	}
	return sum, true
}

// bound is x_t, and whether it moves with lr_t; a token without advantage counts as ratio 1, as in verl.
func (p *GMPO) bound(a, lr float64) (x float64, moves bool) {
	switch {
	case p.Clip != "token":
		return lr, true
	case a > 0:
		return min(lr, p.EpsHigh), lr <= p.EpsHigh
	case a < 0:
		return max(lr, -p.EpsLow), lr >= -p.EpsLow
	}
	return 0, false
}

// geometricWeight is the geometric mean of the importance weights of response
// i, floored as in verl so that a zero weight does not end in a NaN.
func (f *frame) geometricWeight(i int, length, epsilon float64) float64 {
	if f.in.Weight == nil {
		return 1
	}
	sum := 0.0
	for n := range f.in.Where(i, f.active) {
		sum += elementary.Log(f.in.Weight[n] + 1e-10)
	}
	return elementary.Exp(sum / (length + epsilon))
}
