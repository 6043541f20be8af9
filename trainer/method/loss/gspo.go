package loss

import (
	"driftlab/precision/elementary"
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
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
	Name: "gspo", Unit: method.Sequence,
	Does:     "Clips one ratio per response, the geometric mean of its token ratios.",
	When:     "Use it for rewards per response, especially with a mixture of experts, where token ratios are noisy.",
	Source:   "arXiv:2507.18071 eq. 5-7; slime gspo, TRL importance_sampling_level sequence, AReaL",
	Formula:  "L_i = max(-A·s, -A·clip(s, 1-ε_low, 1+ε_high)), s = exp(mean_t lr)",
	Gradient: "-A·s/T on every token of the response, or 0 where s is clipped",
	Needs:    batch.Columns{batch.Anchor, batch.Advantage},
}

// Eval computes the loss over the active tokens.
func (p *GSPO) Eval(out *Grad, in *batch.Batch) error {
	f, err := start(out, in, p.Aggregation, batch.Anchor, batch.Advantage)
	if err != nil {
		return err
	}
	var clips clipCounts
	for i := range in.Len() {
		length := f.length(i)
		s, ds := cappedExp(f.sumLogRatio(i, in.Now.Logp, in.Anchor)/length, p.LogCap)
		mean, gradient := f.meanAdvantage(i, length), 0.0
		for n := range in.Where(i, f.active) {
			a := in.Advantage[n]
			if p.MeanAdvantage {
				a = mean
			}
			w := f.weight(i, n)
			value, dlogp := clips.add(clipped(a, s, ds, 1-p.EpsLow, 1+p.EpsHigh, p.DualClip, 0))
			out.Loss += float64(w * value)
			gradient += w * dlogp / length
		}
		f.spread(i, gradient)
	}
	f.addClipFractions(clips, in.Anchor, 0)
	return nil
}

func (p *GSPO) rule(r *rule) {
	r.Formula("x", "mean(logp - old)")
	r.cappedExp("s", p.LogCap)
	r.Formula("mean_A", "mean(A)")
	if p.MeanAdvantage {
		r.Formula("A", "mean_A")
	}
	r.band(1-p.EpsLow, 1+p.EpsHigh)
	r.clip("s", p.DualClip)
	r.shared("Σ(w·dL)/count(1)")
}

// meanAdvantage is the mean advantage over the active tokens of response i.
func (f *frame) meanAdvantage(i int, length float64) float64 {
	sum := 0.0
	for n := range f.in.Where(i, f.active) {
		sum += f.in.Advantage[n]
	}
	return sum / max(length, 1)
}

// sequenceCap bounds sequence log-ratios from above before the exponential, in
// verl, SkyRL and CTPO.
const sequenceCap = 10

// cappedExp returns exp(min(x, limit)) and its derivative; a limit of 0 is none.
func cappedExp(x, limit float64) (y, dy float64) {
	if limit > 0 && x > limit {
		return elementary.Exp(limit), 0
	}
	y = elementary.Exp(x)
	return y, y
}
