package loss

import (
	"errors"

	"driftlab/precision/elementary"
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

// Validate checks the parameters that depend on each other.
func (p *PrimeMasked) Validate() error {
	return errors.Join(check(p.Low <= p.High, "low %v, high %v: need 0 ≤ low ≤ high", p.Low, p.High),
		check(p.Sequence || !p.LengthNorm, "length_norm: applies to the ratio of a response: set sequence"))
}

// Eval computes the loss over the active tokens.
func (p *PrimeMasked) Eval(out *Grad, in *batch.Batch) error {
	return withFrame(out, in, p.Aggregation, batch.Columns{batch.LogpRoll, batch.Advantage}, func(f *frame) {
		var m mismatch
		vetoed := 0.0
		for i := range in.Len() {
			length, sum := max(f.length(i), 1), f.sumLogRatio(i, f.sg, in.LogpRoll)
			if p.LengthNorm {
				sum /= length
			}
			veto := p.vetoes(f, i, sum)
			vetoed += count(veto)
			f.rowTokens(i, func(n int) (value, dlogp float64) {
				l, a := in.Now.Logp[n]-in.LogpRoll[n], in.Advantage[n]
				held := p.ratio(sum, f.sg[n]-in.LogpRoll[n])
				low, high := held < p.Low, held > p.High
				m.token(f, l, a, low || high || veto, low, high)
				if low || high || veto {
					return f.reject(n)
				}
				if p.Sequence {
					r, dr := cappedExp(sum+in.Now.Logp[n]-f.sg[n], sequenceCap)
					return -r * a / length, -dr * a / length
				}
				r, dr := ratio(l, p.LogClamp)
				return f.live(a, r, dr)
			})
		}
		m.logTokens(f)
		out.Add("sequence_masked_low", vetoed/max(float64(in.Len()), 1))
	})
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
	for n := range f.in.Where(i, f.active) {
		if p.ratio(sum, f.sg[n]-f.in.LogpRoll[n]) < p.Veto {
			return true
		}
	}
	return false
}

// PrimeDPPO is prime-rl's default loss: DPPO's binary total-variation mask, a
// ratio that stays in the graph, and a squared log-ratio on every token.
//
// Everything is measured against the rollout policy; the squared term covers
// dropped tokens too and has no factor 1/2. prime-rl does not clamp the
// log-ratio. Its scale is the number of valid tokens: token-mean.
type PrimeDPPO struct {
	// DeltaLow and DeltaHigh bound the change of probability.
	DeltaLow  float64 `yaml:"delta_low" default:"0.2" range:"[0,inf]"`
	DeltaHigh float64 `yaml:"delta_high" default:"0.2" range:"[0,inf]"`
	// AdvTau and KLTau weigh the two terms.
	AdvTau float64 `yaml:"adv_tau" default:"1" range:"[0,inf]"`
	KLTau  float64 `yaml:"kl_tau" default:"1e-3" range:"[0,inf]"`
	// LogClamp bounds the log-ratio inside the exponential; 0 is no bound.
	LogClamp float64 `yaml:"log_clamp" default:"20" range:"[0,inf]"`
	// Aggregation over tokens.
	Aggregation Aggregation `yaml:"aggregation"`
}

// Eval computes the loss over the active tokens.
func (p *PrimeDPPO) Eval(out *Grad, in *batch.Batch) error {
	return withFrame(out, in, p.Aggregation, batch.Columns{batch.LogpRoll, batch.Advantage}, func(f *frame) {
		var m mismatch
		f.eachToken(func(n int) (value, dlogp float64) {
			a, l := in.Advantage[n], in.Now.Logp[n]-in.LogpRoll[n]
			moved := elementary.Exp(f.sg[n]) - elementary.Exp(in.LogpRoll[n])
			low, high := a <= 0 && moved < -p.DeltaLow, a > 0 && moved > p.DeltaHigh
			m.token(f, l, a, high || low, low, high)
			return f.ratioPlusSquare(n, a*p.AdvTau, p.KLTau, p.LogClamp, 0, high || low)
		})
		m.logRows(f, f.rows(in.Weight != nil))
	})
}

// ratioPlusSquare is -a·exp(l), unless dropped, plus tau·l², l the log-ratio to the
// rollout policy on token n. A cap bounds exp(l), 0 for none, and keeps its gradient.
func (f *frame) ratioPlusSquare(n int, a, tau, limit, cap float64, drop bool) (value, dlogp float64) {
	l := f.in.Now.Logp[n] - f.in.LogpRoll[n]
	if tau > 0 {
		value, dlogp = float64(tau*l*l), float64(2*tau*l)
	}
	if drop {
		f.took(trace.PenaltyOnly)
		return value, dlogp
	}
	r, dr := ratio(l, limit)
	f.note("r", r)
	switch {
	case cap > 0 && r > cap:
		r, dr = cap+float64(cap*(f.in.Now.Logp[n]-f.sg[n])), cap // the value is the cap
		f.took(trace.Capped)
	case dr == 0:
		f.took(trace.PenaltyOnly)
	}
	return value - float64(a*r), dlogp - float64(a*dr)
}

// PrimeGeo is prime-rl's loss of February 2026: token mask, geometric mask,
// vetoes on either side, and a detached coefficient that carries the KL and a
// teacher.
//
// With the ratio of the response, its tokens are divided by their number as
// well. Bounds are strict: a ratio on a bound is kept; an empty response has
// geometric ratio 1 and is never vetoed.
type PrimeGeo struct {
	// Low and High bound a token's ratio, GeoLow and GeoHigh the geometric mean
	// of a response, VetoLow and VetoHigh the extremes of a response.
	Low      float64 `yaml:"low" default:"0.125" range:"[0,inf]"`
	High     float64 `yaml:"high" default:"8"`
	GeoLow   float64 `yaml:"geo_low" default:"0.1" range:"[0,inf]"`
	GeoHigh  float64 `yaml:"geo_high" default:"10"`
	VetoLow  float64 `yaml:"veto_low" range:"[0,inf]"`
	VetoHigh float64 `yaml:"veto_high" default:"100"`
	// Sequence weights by the ratio of the response, exp(min(Σ l, 10)), at most Clip.
	Sequence bool    `yaml:"sequence"`
	Clip     float64 `yaml:"clip" default:"10" range:"(0,inf]"`
	// AdvTau, TeacherTau and KLTau weigh the parts of the coefficient.
	AdvTau     float64 `yaml:"adv_tau" default:"1" range:"[0,inf]"`
	TeacherTau float64 `yaml:"teacher_tau" range:"[0,inf]"`
	KLTau      float64 `yaml:"kl_tau" range:"[0,inf]"`
	// Aggregation over tokens.
	Aggregation Aggregation `yaml:"aggregation"`
}

// Validate checks the parameters that depend on each other.
func (p *PrimeGeo) Validate() error {
	return errors.Join(check(p.Low <= p.High, "low %v, high %v: need 0 ≤ low ≤ high", p.Low, p.High),
		check(p.GeoLow <= p.GeoHigh, "geo_low %v, geo_high %v: need 0 ≤ low ≤ high", p.GeoLow, p.GeoHigh),
		check(p.VetoLow <= p.VetoHigh, "veto_low %v, veto_high %v: need 0 ≤ low ≤ high", p.VetoLow, p.VetoHigh))
}

// Eval computes the loss over the active tokens.
func (p *PrimeGeo) Eval(out *Grad, in *batch.Batch) error {
	needs := batch.Columns{batch.LogpRoll, batch.Advantage, either(p.TeacherTau > 0, batch.LogpTeacher, batch.LogpRoll)}
	return withFrame(out, in, p.Aggregation, needs, func(f *frame) {
		var m mismatch
		var t responseTally
		for i := range in.Len() {
			drop := p.dropsResponse(f, i, &t)
			whole, _ := cappedExp(f.sumLogRatio(i, f.sg, in.LogpRoll), sequenceCap)
			weight := min(whole, p.Clip) / max(f.length(i), 1)
			f.rowTokens(i, func(n int) (value, dlogp float64) {
				a, l := in.Advantage[n], f.sg[n]-in.LogpRoll[n]
				r := elementary.Exp(min(l, 700)) // finite far above any bound
				low, high := r < p.Low, r > p.High
				if p.TeacherTau > 0 {
					t.teacher.add(f, in.Teacher.Logp[n]-f.sg[n])
				}
				m.token(f, l, a, low || high || drop, low, high)
				if low || high || drop {
					return f.reject(n)
				}
				if p.Sequence {
					r = weight
				}
				return f.detached(r, p.coefficient(f, n), in.Now.Logp[n])
			})
		}
		m.logTokens(f)
		rows := max(float64(in.Len()), 1)
		if p.TeacherTau > 0 {
			out.Add("teacher_kl", t.teacher.total()/rows)
		}
		out.Add("sequence_masked_low", t.vetoLow/rows)
		out.Add("sequence_masked_high", t.vetoHigh/rows)
		out.Add("geo_masked_low", t.geoLow/rows)
		out.Add("geo_masked_high", t.geoHigh/rows)
		out.Add("geo_seq_ratio", t.geo/rows)
	})
}

// coefficient stands in the place of the advantage of token n.
func (p *PrimeGeo) coefficient(f *frame, n int) float64 {
	coef := float64(p.AdvTau*f.in.Advantage[n]) - float64(p.KLTau*(f.sg[n]-f.in.LogpRoll[n]))
	if p.TeacherTau > 0 {
		coef += float64(p.TeacherTau * (f.in.Teacher.Logp[n] - f.sg[n]))
	}
	return coef
}

// responseTally counts what the tests on whole responses dropped.
type responseTally struct {
	vetoLow, vetoHigh, geoLow, geoHigh, geo float64
	teacher                                 rowMean
}

// dropsResponse applies the tests on whole responses.
func (p *PrimeGeo) dropsResponse(f *frame, i int, t *responseTally) bool {
	geo := elementary.Exp(f.sumLogRatio(i, f.sg, f.in.LogpRoll) / max(f.length(i), 1))
	vetoLow, vetoHigh := false, false
	for n := range f.in.Where(i, f.active) {
		r := elementary.Exp(f.sg[n] - f.in.LogpRoll[n])
		vetoLow = vetoLow || r < p.VetoLow
		vetoHigh = vetoHigh || r > p.VetoHigh
	}
	geoLow, geoHigh := geo < p.GeoLow, geo > p.GeoHigh
	t.vetoLow += count(vetoLow)
	t.vetoHigh += count(vetoHigh)
	t.geoLow += count(geoLow)
	t.geoHigh += count(geoHigh)
	t.geo += geo
	return vetoLow || vetoHigh || geoLow || geoHigh
}
