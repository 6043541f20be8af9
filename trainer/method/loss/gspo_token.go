package loss

import (
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
)

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

var gspoTokenSpec = method.Spec{
	Name: "gspo_token", Unit: method.Sequence,
	Does:     "Clips the ratio of the response as gspo does, but lets each token have its own advantage and gradient.",
	When:     "Use it in place of gspo with advantages per token or turn; verl and SkyRL call this variant gspo.",
	Source:   "arXiv:2507.18071 eq. 13-14; verl gspo, SkyRL gspo, TRL sequence_token",
	Formula:  "L = max(-A·s_t, -A·clip(s_t, 1-ε_low, 1+ε_high)), s_t = sg[s]·exp(logp - sg[logp]), s = exp(mean lr)",
	Gradient: "-A·s, or 0 where PPO's rule clips s",
	Needs:    batch.Columns{batch.Anchor, batch.Advantage},
}

// Eval computes the loss over the active tokens.
func (p *GSPOToken) Eval(out *Grad, in *batch.Batch) error {
	f, err := start(out, in, p.Aggregation, batch.Anchor, batch.Advantage)
	if err != nil {
		return err
	}
	clips, whole := 0.0, f
	if p.RatioMask == "pre" {
		whole.active = in.Mask
	}
	for i := range in.Len() {
		mean := whole.meanLogRatio(i)
		f.rowTokens(i, func(n int) (value, dlogp float64) {
			s, ds := cappedExp(mean+in.Now.Logp[n]-f.sg[n], p.LogCap)
			c := clipped(in.Advantage[n], s, ds, 1-p.EpsLow, 1+p.EpsHigh, 0, 0)
			clips += count(c.clipped)
			return c.value, c.dlogp
		})
	}
	out.Add("actor/pg_clipfrac", f.mean(clips))
	f.addKL(in.Anchor, 0)
	return nil
}

func (p *GSPOToken) rule(r *rule) {
	if p.RatioMask == "pre" { // a mean over tokens that have no lines
		whole := r.frame
		whole.active = r.in.Mask
		r.Figure("x", r.ofResponse(whole.meanLogRatio))
	} else {
		r.Formula("x", "mean(logp - old)")
	}
	r.cappedExp("s", p.LogCap)
	r.band(1-p.EpsLow, 1+p.EpsHigh)
	r.clip("s", 0)
}

// meanLogRatio is the mean detached log-ratio of response i.
func (f *frame) meanLogRatio(i int) float64 {
	return f.sumLogRatio(i, f.sg, f.in.Anchor) / max(f.length(i), 1)
}
