package loss

import (
	"driftlab/precision/elementary"
	"driftlab/trainer/method/batch"
)

// GSPO clips one ratio per response, the geometric mean of its token ratios,
// and differentiates through it.
//
// Every token has the advantage of the response: AReaL averages it over the tokens
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

// Eval computes the loss over the active tokens.
func (p *GSPO) Eval(out *Grad, in *batch.Batch) error {
	return withFrame(out, in, p.Aggregation, batch.Columns{batch.Anchor, batch.Advantage}, func(f *frame) {
		var clips clipCounts
		for i := range in.Len() {
			length := f.length(i)
			s, ds := cappedExp(f.sumLogRatio(i, in.Now.Logp, in.Anchor)/length, p.LogCap)
			mean, gradient := f.meanAdvantage(i, length), 0.0
			for n := range in.Where(i, f.active) {
				a, w := either(p.MeanAdvantage, mean, in.Advantage[n]), f.weight(i, n)
				f.begin(n)
				value, dlogp := clips.add(f.clipped(a, s, ds, 1-p.EpsLow, 1+p.EpsHigh, p.DualClip, 0))
				f.add(n, w, float64(w*value))
				gradient += w * dlogp / length
			}
			f.spread(i, gradient)
		}
		f.addClipFractions(clips, in.Anchor, 0)
	})
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

// GSPOToken clips the sequence ratio, but lets every token carry its own
// advantage and its own gradient.
//
// verl and SkyRL call this variant gspo. It has the gradient of GSPO where A is
// constant in a response and the aggregation is seq-mean-token-mean, the
// paper's. verl ignores any other aggregation; here it is honoured.
type GSPOToken struct {
	// EpsLow and EpsHigh are the distances of the bounds from 1.
	EpsLow  float64 `yaml:"eps_low" default:"3e-4" range:"[0,inf]"`
	EpsHigh float64 `yaml:"eps_high" default:"4e-4" range:"[0,inf]"`
	// LogCap bounds the sequence log-ratio from above before the exponential;
	// 0 is no bound (TRL).
	LogCap float64 `yaml:"log_cap" default:"10"`
	// RatioMask says which tokens s is the mean over when the correction has
	// rejected some: post, those that are left (verl, AReaL), or pre, all that
	// were generated (SkyRL).
	RatioMask string `yaml:"ratio_mask" default:"post" oneof:"pre post"`
	// Aggregation over tokens.
	Aggregation Aggregation `yaml:"aggregation" default:"seq-mean-token-mean"`
}

// Eval computes the loss over the active tokens.
func (p *GSPOToken) Eval(out *Grad, in *batch.Batch) error {
	return withFrame(out, in, p.Aggregation, batch.Columns{batch.Anchor, batch.Advantage}, func(f *frame) {
		var clips clipCounts
		whole := *f
		if p.RatioMask == "pre" {
			whole.active = in.Mask
		}
		for i := range in.Len() {
			mean := whole.sumLogRatio(i, f.sg, in.Anchor) / max(whole.length(i), 1)
			f.rowTokens(i, func(n int) (value, dlogp float64) {
				s, ds := cappedExp(mean+in.Now.Logp[n]-f.sg[n], p.LogCap)
				return clips.add(f.clipped(in.Advantage[n], s, ds, 1-p.EpsLow, 1+p.EpsHigh, 0, 0))
			})
		}
		f.addClipFraction(clips.upper, in.Anchor, 0)
	})
}

// LUSPO is GSPO with each response's term multiplied by its length, which
// undoes the bias towards short responses that the mean over tokens has.
//
// TRL's mean is over all responses. At level token TRL averages over padding as
// well, which lets a gradient into masked tokens: not offered.
type LUSPO struct {
	// EpsLow and EpsHigh are the distances of the bounds from 1.
	EpsLow  float64 `yaml:"eps_low" default:"3e-4" range:"[0,inf]"`
	EpsHigh float64 `yaml:"eps_high" default:"4e-4" range:"[0,inf]"`
	// LogCap bounds the sequence log-ratio from above before the exponential; 0
	// is no bound, as in TRL.
	LogCap float64 `yaml:"log_cap" default:"10"`
}

// Eval computes the loss: GSPO's term on every token, summed and divided by B,
// is T_i times the term.
func (p *LUSPO) Eval(out *Grad, in *batch.Batch) error {
	g := GSPO{EpsLow: p.EpsLow, EpsHigh: p.EpsHigh, LogCap: p.LogCap, MeanAdvantage: true, Aggregation: Aggregation{Mode: "seq-all-token-sum"}}
	return g.Eval(out, in)
}
