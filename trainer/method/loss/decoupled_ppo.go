package loss

import (
	"driftlab/precision/elementary"
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
)

// DecoupledPPO is AReaL's loss: PPO's clip around a proximal policy, weighted by
// how far that policy is from the one that sampled the tokens.
//
// prox says where the proximal log-prob comes from: recompute is LogpOld; the
// others are A-3PO's. behave chooses AReaL's older treatment of w (cap):
// truncate or mask, per token or by the response's geometric mean; newer
// versions leave it to rejection sampling, a correction: then set behave to
// none. AReaL counts the tokens before rejection: aggregation token-mean@pre. It
// does not clamp r.
type DecoupledPPO struct {
	// EpsLow and EpsHigh are the distances of the bounds from 1.
	EpsLow  float64 `yaml:"eps_low" default:"0.2" range:"[0,inf]"`
	EpsHigh float64 `yaml:"eps_high" default:"0.2" range:"[0,inf]"`
	// DualClip is the constant that bounds the loss where A < 0.
	DualClip float64 `yaml:"dual_clip" range:"0=none|(1,inf]"`
	// Prox is where the proximal log-prob comes from.
	Prox string `yaml:"prox" default:"recompute" oneof:"recompute loglinear linear rollout"`
	// Behave is the treatment of w.
	Behave string `yaml:"behave" default:"token_truncate" oneof:"none token_truncate token_mask sequence_truncate sequence_mask"`
	// Cap bounds w; 0 is no bound.
	Cap float64 `yaml:"cap" default:"5" range:"[0,inf]"`
	// LogClamp bounds log-ratios; 0 is no bound, as in AReaL.
	LogClamp float64 `yaml:"log_clamp" default:"20" range:"[0,inf]"`
	// Aggregation over tokens.
	Aggregation Aggregation `yaml:"aggregation" default:"token-mean@pre"`
}

// NewA3PO returns the same loss with the interpolated proximal policy of A-3PO.
// The weight stays; AReaL has none unless rejection is configured: set behave to none.
func NewA3PO() *DecoupledPPO {
	p := method.New[DecoupledPPO]()
	p.Prox = "loglinear"
	return p
}

// Decoupled are the parameters, also of a loss that embeds them.
func (p *DecoupledPPO) Decoupled() *DecoupledPPO { return p }

// Eval computes the loss over the active tokens.
func (p *DecoupledPPO) Eval(out *Grad, in *batch.Batch) error {
	column := batch.LogpRoll
	switch p.Prox {
	case "recompute":
		column = batch.Anchor
	case "loglinear", "linear":
		column = batch.Version
	}
	return withFrame(out, in, p.Aggregation, batch.Columns{batch.LogpRoll, batch.Advantage, column}, func(f *frame) {
		prox := out.work(1, in.Tokens())
		for n := range prox {
			prox[n] = p.proximal(f, n)
		}
		var clips clipCounts
		weights := 0.0
		for i := range in.Len() {
			geo := elementary.Exp(f.sumLogRatio(i, prox, in.LogpRoll) / max(f.length(i), 1)) // of the ratios to the proximal policy
			f.rowTokens(i, func(n int) (value, dlogp float64) {
				r, dr := ratio(in.Now.Logp[n]-prox[n], p.LogClamp)
				value, dlogp = clips.add(f.clipped(in.Advantage[n], r, dr, 1-p.EpsLow, 1+p.EpsHigh, p.DualClip, 0))
				w := p.weight(prox[n]-in.LogpRoll[n], geo)
				weights += w
				f.note("prox", prox[n])
				f.note("w", w)
				return w * value, w * dlogp
			})
		}
		out.Add("behave_imp_weight", weights/max(f.tokens, 1))
		f.addClipFractions(clips, prox, p.LogClamp)
	})
}

// weight is w of a token with prox - roll = e in a response with geometric mean geo.
func (p *DecoupledPPO) weight(e, geo float64) float64 {
	if p.Behave == "none" {
		return 1
	}
	w := geo
	if p.Behave == "token_truncate" || p.Behave == "token_mask" {
		w, _ = ratio(e, p.LogClamp)
	}
	if p.Cap == 0 || w <= p.Cap {
		return w
	}
	if p.Behave == "token_mask" || p.Behave == "sequence_mask" {
		return 0
	}
	return p.Cap
}

// proximal is the detached proximal log-prob of token n. A-3PO places it between
// the rollout policy and the current one, by the staleness of the token: α is 0 for
// tokens of the present version and for tokens that were not generated.
func (p *DecoupledPPO) proximal(f *frame, n int) float64 {
	switch p.Prox {
	case "recompute":
		return f.in.Anchor[n]
	case "rollout":
		return f.in.LogpRoll[n]
	}
	roll, alpha := f.in.LogpRoll[n], interpolation(f.in.LearnerVersion, int(f.in.Version[n]))
	if p.Prox == "linear" {
		return elementary.Log(float64((1-alpha)*elementary.Exp(roll)) + float64(alpha*elementary.Exp(f.sg[n])) + 1e-10)
	}
	return loglinear(roll, f.sg[n], alpha)
}

// Interpolate returns A-3PO's proximal log-probs of all tokens, in the memory of dst:
// between the rollout policy's and those that are given, the nearer to these the
// older the token.
func Interpolate(dst []float64, in *batch.Batch, logp []float64) []float64 {
	dst = batch.Zeroed(dst, in.Tokens())
	for n, roll := range in.LogpRoll {
		dst[n] = loglinear(roll, logp[n], interpolation(in.LearnerVersion, int(in.Version[n])))
	}
	return dst
}

// loglinear is the share α of the way from one log-prob to another.
func loglinear(from, to, alpha float64) float64 { return from + float64(alpha*(to-from)) }

// interpolation is A-3PO's α for weights of version now and a token of version
// then: (lag-1)/lag. Versions count updates here and steps in AReaL, which are the same with one update a step.
func interpolation(now, then int) float64 {
	lag := float64(now - then)
	if then < 0 || lag <= 0 {
		return 0
	}
	return clamp((lag-1)/lag, 0, 1)
}
