package loss

import (
	"driftlab/precision/elementary"
	"driftlab/trainer/method"
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

	mask []bool
}

var gmpoSpec = method.Spec{
	Name: "gmpo", Aliases: []string{"geo_mean"}, Unit: method.Sequence,
	Does:     "Maximises the geometric mean of the token ratios, each clipped on one side in log space.",
	When:     "Use it if extreme ratios of single tokens destabilise GRPO.",
	Source:   "arXiv:2507.20673; callsys/GMPO, verl geo_mean, TRL",
	Formula:  "L_i = -A·exp(mean_t x_t), x = min(lr, ε_high) if A>0, max(lr, -ε_low) if A<0",
	Gradient: "-A·exp(mean x)/T on tokens with x = lr, else 0",
	Needs:    batch.Columns{batch.Anchor, batch.Advantage},
}

// Eval computes the loss over the active tokens.
func (p *GMPO) Eval(out *Grad, in *batch.Batch) error {
	agg := Aggregation{Mode: "seq-all-token-sum"}
	if p.NonEmpty {
		agg.Mode = "seq-mean-token-sum"
	}
	f, err := start(out, in, agg, batch.Anchor, batch.Advantage)
	if err != nil {
		return err
	}
	p.mask = f.restrictToOpen(p.mask) // as in TRL
	var clips clipCounts
	for i := range in.Len() {
		t := p.response(&f, i)
		if t.length == 0 {
			continue
		}
		value := float64(-t.a * t.g * t.w)
		out.Loss += value
		if t.live { // d exp(x/divisor)/d logp, on the tokens the clip left alone
			from, to := in.Span(i)
			for n := from; n < to; n++ {
				lr := in.Now.Logp[n] - in.Anchor[n]
				if f.active[n] && p.passes(in.Advantage[n], lr) {
					out.DLogp[n] += value / t.divisor
				}
			}
		}
		high, low := p.clippedTokens(&f, i)
		clips.upper, clips.lower = clips.upper+high, clips.lower+low
	}
	f.addClipFractions(clips, in.Anchor, 0)
	return nil
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

func (p *GMPO) rule(r *rule) {
	logRatio := func(n int) float64 { return r.in.Now.Logp[n] - r.in.Anchor[n] }
	if p.Clip == "token" {
		r.Add(trace.Line{Name: "high", Value: func(int) float64 { return p.EpsHigh }, When: "A > 0"},
			trace.Line{Name: "low", Value: func(int) float64 { return -p.EpsLow }, When: "A < 0"},
			trace.Line{Name: "x", Formula: "min(logp - old, high)", When: "A > 0"},
			trace.Line{Name: "x", Formula: "max(logp - old, low)", When: "A < 0"},
			trace.Line{Name: "x", Value: func(int) float64 { return 0 }, When: "|A| ≤ 0"})
	} else {
		r.Figure("x", logRatio)
	}
	figure := func(name string, of func(t geometric) float64) {
		r.Figure(name, r.ofResponse(func(i int) float64 { return of(p.response(&r.frame, i)) }))
	}
	figure("T", func(t geometric) float64 { return t.divisor })
	figure("a", func(t geometric) float64 { return t.a })
	figure("X", func(t geometric) float64 { return t.x })
	r.Formula("g", "exp(X/T)")
	held := func(n int) bool { return !p.passes(r.in.Advantage[n], logRatio(n)) }
	still := r.ofResponse(func(i int) float64 { return count(!p.response(&r.frame, i).live) })
	r.Branch(trace.Case{Branch: trace.Bounded, If: func(n int) bool { return still(n) == 1 }, Value: "-a·g", Slope: "0"},
		trace.Case{Branch: trace.ClippedHigh, If: held, When: "logp > old", Value: "-a·g", Slope: "0"},
		trace.Case{Branch: trace.ClippedLow, If: held, Value: "-a·g", Slope: "0"})
	r.term("-a·g", "-a·g/T")
	r.whole(func(i int) float64 { return p.response(&r.frame, i).w })
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
		sum += p.bound(f.in.Advantage[n], f.in.Now.Logp[n]-f.in.Anchor[n])
	}
	return sum, true
}

// bound is x_t; a token without advantage counts as ratio 1, as in verl.
func (p *GMPO) bound(a, lr float64) float64 {
	switch {
	case p.Clip != "token":
		return lr
	case a > 0:
		return min(lr, p.EpsHigh)
	case a < 0:
		return max(lr, -p.EpsLow)
	}
	return 0
}

// passes reports whether x_t moves with lr_t.
func (p *GMPO) passes(a, lr float64) bool {
	switch {
	case p.Clip != "token":
		return true
	case a > 0:
		return lr <= p.EpsHigh
	case a < 0:
		return lr >= -p.EpsLow
	}
	return false
}

// clippedTokens counts tokens outside the band, by the sign of the advantage.
func (p *GMPO) clippedTokens(f *frame, i int) (high, low float64) {
	from, to := f.in.Span(i)
	for n := from; n < to; n++ {
		lr := f.in.Now.Logp[n] - f.in.Anchor[n]
		if f.active[n] && (lr > p.EpsHigh || lr < -p.EpsLow) {
			high += count(f.in.Advantage[n] > 0)
			low += count(f.in.Advantage[n] < 0)
		}
	}
	return high, low
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
