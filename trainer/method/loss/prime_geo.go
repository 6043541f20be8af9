package loss

import (
	"errors"

	"driftlab/precision/elementary"
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
)

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

var primeGeoSpec = method.Spec{
	Name: "prime_geo", Unit: method.Token,
	Does:     "Masks tokens and responses by their ratios to the rollout, and weights the rest by a detached coefficient with KL and teacher terms.",
	When:     "Use it to reproduce prime-rl's loss of February 2026.",
	Source:   "PrimeIntellect-ai/prime-rl@f870f3cb default_loss_fn",
	Formula:  "L = -Σ_keep sg[R·(adv_tau·A + teacher_tau·(teacher-logp) - kl_tau·l)]·logp, l = logp-roll",
	Gradient: "-R·(adv_tau·A + teacher_tau·(teacher-logp) - kl_tau·l) on kept tokens, else 0",
	Needs:    batch.Columns{batch.LogpRoll, batch.Advantage}, May: method.If("teacher_tau above 0", batch.LogpTeacher),
}

// Validate checks the parameters that depend on each other.
func (p *PrimeGeo) Validate() error {
	return errors.Join(check(p.Low <= p.High, "low %v, high %v: need 0 ≤ low ≤ high", p.Low, p.High),
		check(p.GeoLow <= p.GeoHigh, "geo_low %v, geo_high %v: need 0 ≤ low ≤ high", p.GeoLow, p.GeoHigh),
		check(p.VetoLow <= p.VetoHigh, "veto_low %v, veto_high %v: need 0 ≤ low ≤ high", p.VetoLow, p.VetoHigh))
}

// Eval computes the loss over the active tokens.
func (p *PrimeGeo) Eval(out *Grad, in *batch.Batch) error {
	teacher := batch.LogpRoll
	if p.TeacherTau > 0 {
		teacher = batch.LogpTeacher
	}
	f, err := start(out, in, p.Aggregation, batch.LogpRoll, batch.Advantage, teacher)
	if err != nil {
		return err
	}
	var m mismatch
	var t responseTally
	for i := range in.Len() {
		drop, weight := p.dropsResponse(&f, i, &t), p.weight(&f, i)
		f.rowTokens(i, func(n int) (value, dlogp float64) {
			a, l := in.Advantage[n], f.sg[n]-in.LogpRoll[n]
			r := tokenRatio(l)
			low, high := r < p.Low, r > p.High
			if p.TeacherTau > 0 {
				t.teacher.add(in.Teacher.Logp[n] - f.sg[n])
			}
			m.token(l, a, low || high || drop, low, high)
			if low || high || drop {
				return f.reject(n)
			}
			if p.Sequence {
				r = weight
			}
			return detached(r, p.coefficient(&f, n), in.Now.Logp[n])
		})
		m.endRow()
		t.teacher.close()
	}
	m.logTokens(&f)
	if p.TeacherTau > 0 {
		out.Add("teacher_kl", t.teacher.total/max(float64(in.Len()), 1))
	}
	t.log(out, float64(in.Len()))
	return nil
}

// tokenRatio is exp of a log-ratio, finite far above any bound.
func tokenRatio(l float64) float64 { return elementary.Exp(min(l, 700)) }

// weight is the ratio of response i, as each of its tokens has it.
func (p *PrimeGeo) weight(f *frame, i int) float64 {
	w, _ := cappedExp(f.sumLogRatio(i, f.sg, f.in.LogpRoll), sequenceCap)
	return min(w, p.Clip) / max(f.length(i), 1)
}

// coefficient stands in the place of the advantage of token n.
func (p *PrimeGeo) coefficient(f *frame, n int) float64 {
	coef := float64(p.AdvTau*f.in.Advantage[n]) - float64(p.KLTau*(f.sg[n]-f.in.LogpRoll[n]))
	if p.TeacherTau > 0 {
		coef += float64(p.TeacherTau * (f.in.Teacher.Logp[n] - f.sg[n]))
	}
	return coef
}

func (p *PrimeGeo) rule(r *rule) {
	ratio := func(n int) float64 { return tokenRatio(r.sg[n] - r.in.LogpRoll[n]) }
	out := r.ofResponse(func(i int) float64 { return count(p.dropsResponse(&r.frame, i, &responseTally{})) })
	r.drop(func(n int) bool { return ratio(n) < p.Low || ratio(n) > p.High || out(n) == 1 })
	if p.Sequence {
		r.Figure("r", r.ofResponse(func(i int) float64 { return p.weight(&r.frame, i) }))
	} else {
		r.Figure("r", ratio)
	}
	r.Figure("coef", func(n int) float64 { return p.coefficient(&r.frame, n) })
	r.term("-r·coef·logp", "-r·coef")
}

// responseTally counts what the tests on whole responses dropped.
type responseTally struct {
	vetoLow, vetoHigh, geoLow, geoHigh, geo float64
	teacher                                 rowMean
}

func (t *responseTally) log(out *Grad, rows float64) {
	rows = max(rows, 1)
	out.Add("sequence_masked_low", t.vetoLow/rows)
	out.Add("sequence_masked_high", t.vetoHigh/rows)
	out.Add("geo_masked_low", t.geoLow/rows)
	out.Add("geo_masked_high", t.geoHigh/rows)
	out.Add("geo_seq_ratio", t.geo/rows)
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
