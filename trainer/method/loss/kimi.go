package loss

import "driftlab/trainer/method/batch"

// Kimi is the regression-style policy update of Kimi k1.5: a policy gradient
// with a quadratic penalty of the log-ratio.
//
// It is the gradient of the paper's squared surrogate, with the mean reward as
// log-partition; ROLL's is the token form. Level token with anchor old is the same function
// as DRO with β = τ.
type Kimi struct {
	// Tau is the strength of the penalty.
	Tau float64 `yaml:"tau" default:"0.1" range:"[0,inf]"`
	// Level is sequence or token.
	Level string `yaml:"level" default:"sequence" oneof:"sequence token"`
	// Anchor is the policy the log-ratio is taken to.
	Anchor Anchor `yaml:"anchor" default:"old" oneof:"old roll"`
	// Aggregation over tokens; a response's penalty counts once, with the mean
	// weight of its tokens.
	Aggregation Aggregation `yaml:"aggregation" default:"seq-mean-token-sum"`
}

// Eval computes the loss over the active tokens.
func (p *Kimi) Eval(out *Grad, in *batch.Batch) error {
	return withFrame(out, in, p.Aggregation, batch.Columns{p.Anchor.Column(), batch.Advantage}, func(f *frame) {
		anchor := p.Anchor.Of(in)
		f.eachToken(func(n int) (value, dlogp float64) {
			value, dlogp = float64(-in.Advantage[n]*in.Now.Logp[n]), -in.Advantage[n]
			if p.Level == "token" {
				lr := in.Now.Logp[n] - anchor[n]
				return value + float64(p.Tau/2*lr*lr), dlogp + float64(p.Tau*lr)
			}
			return value, dlogp
		})
		if p.Level == "sequence" {
			for i := range in.Len() {
				w := f.rowSum(i) / max(f.length(i), 1)
				sum := f.sumLogRatio(i, in.Now.Logp, anchor)
				f.share(i, "S", sum)
				f.addResponse(i, float64(w*p.Tau/2*sum*sum))
				f.spread(i, w*p.Tau*sum)
			}
		}
		f.addKL(anchor, 0)
	})
}
