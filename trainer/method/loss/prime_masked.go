package loss

import (
	"errors"

	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/trace"
)

// PrimeMasked is prime-rl's loss of INTELLECT-3's time: a two-sided token mask
// and a veto of responses with one near-impossible token, with the ratio in the
// graph.
//
// INTELLECT-3's report uses 0.5, 5 and 1e-5. With the ratio of the response, its tokens are
// divided by their number as well. Comparisons are strict: a ratio on a bound
// is kept.
type PrimeMasked struct {
	// Low and High bound the ratio of a token.
	Low  float64 `yaml:"low" default:"0.125" range:"[0,inf]"`
	High float64 `yaml:"high" default:"8"`
	// Veto is the smallest ratio a response may contain.
	Veto float64 `yaml:"veto" default:"1e-4" range:"[0,inf]"`
	// Sequence uses one ratio per response, LengthNorm its geometric mean.
	Sequence   bool `yaml:"sequence"`
	LengthNorm bool `yaml:"length_norm"`
	// LogClamp bounds a token's log-ratio; 0 is no bound, as in prime-rl.
	LogClamp float64 `yaml:"log_clamp" default:"20" range:"[0,inf]"`
	// Aggregation over tokens.
	Aggregation Aggregation `yaml:"aggregation"`
}

var primeMaskedSpec = method.Spec{
	Name: "prime_masked", Aliases: []string{"intellect3", "wtrs"}, Unit: method.Token,
	Does:     "Keeps tokens whose ratio to the rollout lies in a band, and drops responses that contain a nearly impossible token.",
	When:     "Use it to reproduce the training of INTELLECT-3.",
	Source:   "PrimeIntellect-ai/prime-rl@f69b5a91 (INTELLECT-3)",
	Formula:  "L = -r·A·1[low ≤ r ≤ high]·1[min_t r ≥ veto], r = exp(logp-roll)",
	Gradient: "-r·A on kept tokens, else 0",
	Needs:    batch.Columns{batch.LogpRoll, batch.Advantage},
}

// Validate checks the parameters that depend on each other.
func (p *PrimeMasked) Validate() error {
	return errors.Join(check(p.Low <= p.High, "low %v, high %v: need 0 ≤ low ≤ high", p.Low, p.High),
		check(p.Sequence || !p.LengthNorm, "length_norm: applies to the ratio of a response: set sequence"))
}

// Eval computes the loss over the active tokens.
func (p *PrimeMasked) Eval(out *Grad, in *batch.Batch) error {
	f, err := start(out, in, p.Aggregation, batch.LogpRoll, batch.Advantage)
	if err != nil {
		return err
	}
	var m mismatch
	vetoed := 0.0
	for i := range in.Len() {
		length, sum := max(f.length(i), 1), p.logRatio(&f, i)
		veto := p.vetoes(&f, i, sum)
		vetoed += count(veto)
		f.rowTokens(i, func(n int) (value, dlogp float64) {
			l, a := in.Now.Logp[n]-in.LogpRoll[n], in.Advantage[n]
			held := p.ratio(sum, f.sg[n]-in.LogpRoll[n])
			low, high := held < p.Low, held > p.High
			m.token(l, a, low || high || veto, low, high)
			if low || high || veto {
				return f.reject(n)
			}
			if p.Sequence {
				r, dr := cappedExp(sum+in.Now.Logp[n]-f.sg[n], sequenceCap)
				return -r * a / length, -dr * a / length
			}
			r, dr := ratio(l, p.LogClamp)
			return live(a, r, dr)
		})
		m.endRow()
	}
	m.logTokens(&f)
	out.Add("sequence_masked_low", vetoed/max(float64(in.Len()), 1))
	return nil
}

// logRatio is the log of the ratio of response i.
func (p *PrimeMasked) logRatio(f *frame, i int) float64 {
	sum := f.sumLogRatio(i, f.sg, f.in.LogpRoll)
	if p.LengthNorm {
		return sum / max(f.length(i), 1)
	}
	return sum
}

func (p *PrimeMasked) rule(r *rule) {
	sum := r.ofResponse(func(i int) float64 { return p.logRatio(&r.frame, i) })
	veto := r.ofResponse(func(i int) float64 { return count(p.vetoes(&r.frame, i, p.logRatio(&r.frame, i))) })
	held := func(n int) float64 { return p.ratio(sum(n), r.sg[n]-r.in.LogpRoll[n]) }
	r.drop(func(n int) bool { return held(n) < p.Low || held(n) > p.High || veto(n) == 1 })
	if !p.Sequence {
		r.ratio("r", "logp - roll", p.LogClamp)
		r.kept("-A·r", "-A·r")
		return
	}
	r.Figure("T", r.ofResponse(r.length))
	r.Figure("r", held)
	r.Branch(trace.Case{Branch: trace.Clamped, If: func(n int) bool { return sum(n) > sequenceCap }, Value: "-r·A/T", Slope: "0"})
	r.term("-r·A/T", "-r·A/T")
}

// ratio is the detached ratio of a token with log-ratio l in a response whose
// own log-ratio is sum.
func (p *PrimeMasked) ratio(sum, l float64) float64 {
	if p.Sequence {
		r, _ := cappedExp(sum, sequenceCap)
		return r
	}
	r, _ := ratio(l, p.LogClamp)
	return r
}

// vetoes reports whether some token of response i has a ratio below the veto.
func (p *PrimeMasked) vetoes(f *frame, i int, sum float64) bool {
	from, to := f.in.Span(i)
	for n := from; n < to; n++ {
		if f.active[n] && p.ratio(sum, f.sg[n]-f.in.LogpRoll[n]) < p.Veto {
			return true
		}
	}
	return false
}
