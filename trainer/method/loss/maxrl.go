package loss

import "driftlab/trainer/method/batch"

// MaxRL maximises the likelihood of success, log E[R], in place of E[R]: the
// gradient of a prompt is divided by its success rate.
//
// With K of G responses right, the baseline-free part is the mean score of the K
// successes: an unbiased estimate of a truncated log-likelihood. A prompt
// without success gives no gradient. Rewards must not be negative.
type MaxRL struct {
	// Epsilon is added to the mean reward.
	Epsilon float64 `yaml:"epsilon" default:"1e-6" range:"(0,inf]"`
	// Baseline subtracts the mean reward; without it only successes teach.
	Baseline bool `yaml:"baseline" default:"true"`
	// Ratio weights by the live ratio to old.
	Ratio bool `yaml:"ratio" default:"true"`
	// Aggregation over tokens.
	Aggregation Aggregation `yaml:"aggregation" default:"seq-mean-token-sum"`
}

// Eval computes the loss over the active tokens.
func (p *MaxRL) Eval(out *Grad, in *batch.Batch) error {
	return withFrame(out, in, p.Aggregation, batch.Columns{batch.Reward, batch.Group, either(p.Ratio, batch.Anchor, batch.Reward)}, func(f *frame) {
		for rows := range f.groups().All() {
			mean := 0.0
			for _, i := range rows {
				mean += in.Reward[i]
			}
			mean /= float64(len(rows))
			for _, i := range rows {
				a := in.Reward[i]
				if p.Baseline {
					a -= mean
				}
				a /= mean + p.Epsilon
				f.rowTokens(i, func(n int) (value, dlogp float64) {
					f.note("A", a)
					if !p.Ratio {
						return f.detached(1, a, in.Now.Logp[n])
					}
					r, dr := ratio(in.Now.Logp[n]-in.Anchor[n], 20)
					return f.live(a, r, dr)
				})
			}
		}
	})
}
