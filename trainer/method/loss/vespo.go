package loss

import (
	"driftlab/precision/elementary"
	"driftlab/trainer/method/batch"
)

// VESPO weights a response by a smooth, detached function of its full
// importance weight that fades on either side of 1.
//
// The importance weight of the correction stage enters W and does not multiply
// the loss a second time; every log-ratio and log W are clamped to ±20. The defaults are
// those of the code and of TRL; the docstring lists an older pair (2, 1.5) and (4, 2.5). The
// sign is the sign of the first token's advantage.
type VESPO struct {
	// KPos and LambdaPos shape φ for A ≥ 0, KNeg and LambdaNeg for A < 0.
	KPos      float64 `yaml:"k_pos" default:"2" range:"(0,inf]"`
	LambdaPos float64 `yaml:"lambda_pos" default:"3" range:"[1e-4,inf]"`
	KNeg      float64 `yaml:"k_neg" default:"3" range:"(0,inf]"`
	LambdaNeg float64 `yaml:"lambda_neg" default:"2" range:"[1e-4,inf]"`
	// SequenceWeights says that the correction stage gives one weight per
	// response, which enters log W once and not once per token.
	SequenceWeights bool `yaml:"sequence_weights"`
	// Aggregation over tokens.
	Aggregation Aggregation `yaml:"aggregation"`
}

// Eval computes the loss over the active tokens.
func (p *VESPO) Eval(out *Grad, in *batch.Batch) error {
	return withFrame(out, in, p.Aggregation, batch.Columns{batch.Anchor, batch.Advantage}, func(f *frame) {
		phis, weights, kl := newSpread(), newSpread(), 0.0
		for i := range in.Len() {
			x, staleness := f.logWeight(i, p.SequenceWeights)
			kl -= staleness / max(f.length(i), 1)
			phi := p.phi(x, f.firstAdvantage(i))
			phis.add(phi)
			weights.add(elementary.Exp(x))
			for n := range in.Where(i, f.active) {
				w := f.gated(i, n)
				f.begin(n)
				f.note("φ", phi)
				f.add(n, w, -float64(w*phi*in.Advantage[n]*in.Now.Logp[n]))
				out.DLogp[n] -= float64(w * phi * in.Advantage[n])
			}
		}
		out.Add("vespo/phi_seq_mean", phis.sum/max(phis.count, 1))
		phis.log(out, "vespo/phi_mean", "vespo/phi_min", "vespo/phi_max")
		weights.log(out, "vespo/w_seq_mean", "vespo/w_seq_min", "vespo/w_seq_max")
		out.Add("actor/approx_kl", kl/max(float64(in.Len()), 1))
	})
}

// phi is the weight of a response with log-weight x, which has a floor.
func (p *VESPO) phi(x, advantage float64) float64 {
	x = max(x, elementary.Log(1e-8))
	k, lambda := p.KPos, p.LambdaPos
	if advantage < 0 {
		k, lambda = p.KNeg, p.LambdaNeg
	}
	return elementary.Exp(lambda + float64(k*x) - float64(lambda*elementary.Exp(x)))
}

// logWeight is log W of response i, and the part of it that is Σ_t clamp(logp -
// old, ±20); once says that all its importance weights are the same one.
func (f *frame) logWeight(i int, once bool) (logW, staleness float64) {
	sum, weighed := 0.0, false
	for n := range f.in.Where(i, f.active) {
		staleness += clamp(f.sg[n]-f.in.Anchor[n], -20, 20)
		if f.in.Weight != nil && !(once && weighed) {
			weighed = true
			sum += clamp(elementary.Log(max(f.in.Weight[n], 1e-8)), -20, 20)
		}
	}
	return clamp(staleness+sum, -20, 20), staleness
}

// firstAdvantage is the advantage of the first active token of response i.
func (f *frame) firstAdvantage(i int) float64 {
	for n := range f.in.Where(i, f.active) {
		return f.in.Advantage[n]
	}
	return 0
}
