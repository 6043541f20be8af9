package loss

import (
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/trace"
)

// GSPO clips one ratio per response, the geometric mean of its token ratios,
// and differentiates through it.
//
// The advantage is that of the response: AReaL averages it over the tokens
// (mean_advantage), slime lets each token have its own. Where a mask is
// rejected, the mean runs over what is left.
type GSPO struct {
	// EpsLow and EpsHigh are the distances of the bounds from 1.
	EpsLow  float64 `yaml:"eps_low" default:"3e-4" range:"[0,inf]"`
	EpsHigh float64 `yaml:"eps_high" default:"4e-4" range:"[0,inf]"`
	// DualClip is the constant that bounds the loss where A < 0.
	DualClip float64 `yaml:"dual_clip" range:"0=none|(1,inf]"`
	// LogCap bounds the sequence log-ratio from above before the exponential;
	// 0 is no bound (slime, TRL, AReaL).
	LogCap float64 `yaml:"log_cap" default:"10"`
	// MeanAdvantage replaces the tokens' advantages by their mean per response.
	MeanAdvantage bool `yaml:"mean_advantage" default:"true"`
	// Aggregation over tokens, each with the response's term.
	Aggregation Aggregation `yaml:"aggregation" default:"seq-mean-token-mean"`
}

var gspoSpec = method.Spec{
	Name: "gspo", Group: "loss", Unit: method.Sequence,
	Source:   "arXiv:2507.18071 eq. 5-7; slime gspo, TRL importance_sampling_level sequence, AReaL",
	Formula:  "L_i = max(-A·s, -A·clip(s, 1-ε_low, 1+ε_high)), s = exp(mean_t lr)",
	Gradient: "-A·s/T on every token of the response, or 0 where s is clipped",
	Needs:    batch.Columns{batch.Anchor, batch.Advantage},
	Example: onTwoResponses + `A = +1: d loss/d logp = 0.000000 0.000000 0.000000
A = -1: d loss/d logp = 0.196893 0.196893 0.196893; loss = 0.090480`,
}

// Eval computes the loss over the active tokens.
func (p *GSPO) Eval(out *Grad, in *batch.Batch) error {
	f, err := start(out, in, p.Aggregation, batch.Anchor, batch.Advantage)
	if err != nil {
		return err
	}
	clips, lower := 0.0, 0.0
	for i := range in.Len() {
		length := f.length(i)
		if length == 0 {
			continue
		}
		mean := f.sumLogRatio(i, in.Now.Logp, in.Anchor) / length
		s, ds := cappedExp(mean, p.LogCap)
		meanA := f.meanAdvantage(i, length)
		dlogp := 0.0 // of every token of the response
		for _, n := range f.traced(i) {
			f.note(n, "x", "mean(logp - old)", mean)
			f.noteExp(n, "s", p.LogCap, s)
			f.note(n, "mean_A", "mean(A)", meanA)
		}
		for n := range in.Where(i, f.active) {
			a := in.Advantage[n]
			if p.MeanAdvantage {
				a = meanA
				f.note(n, "A", "mean_A", a)
			}
			c := f.clip(n, "s", a, s, ds, 1-p.EpsLow, 1+p.EpsHigh, p.DualClip, 0)
			clips += count(c.clipped)
			lower += count(c.dual)
			w := f.weight(i, n)
			f.spreadResult(i, n, c.value, c.dlogp)
			out.Loss += float64(w * c.value)
			dlogp += w * c.dlogp / length
		}
		for _, n := range f.traced(i) {
			f.note(n, trace.Grad, "Σ(w·dL)/count(1)", dlogp)
		}
		f.spread(i, dlogp)
	}
	f.addClipFractions(clips, lower, in.Anchor, 0)
	return nil
}

// meanAdvantage is the mean advantage over the active tokens of response i.
func (f *frame) meanAdvantage(i int, length float64) float64 {
	sum := 0.0
	for n := range f.in.Where(i, f.active) {
		sum += f.in.Advantage[n]
	}
	return sum / max(length, 1)
}
