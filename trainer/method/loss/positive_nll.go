package loss

import (
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
)

// PositiveNLL adds the negative log-likelihood of the responses with a positive
// reward.
//
// The mean runs over their tokens in the minibatch, whatever the aggregation of the
// policy loss, so that its weight depends on how many minibatches a batch has. It
// ignores advantages, clips and importance weights. A response counts by its reward,
// not by its label.
type PositiveNLL struct {
	// Coef is mu.
	Coef float64 `yaml:"coef" default:"0.1" range:"[0,inf)"`
}

var positiveNLLSpec = method.Spec{
	Name: "positive_nll", Aliases: []string{"positive_example_nll"}, Unit: method.Token,
	Does:     "Adds the mean negative log-likelihood of the tokens of responses with a reward above 0.",
	When:     "Use it if correct responses are rare and should be imitated as well as reinforced, as in VAPO.",
	Source:   "arXiv:2504.05118 (VAPO) eq. 10; NeMo-RL positive_example_nll_weight",
	Formula:  "L += coef·Σ -logp/(N + 1e-8) over the N tokens of responses with R > 0",
	Gradient: "-coef/(N + 1e-8) on those tokens",
	Needs:    batch.Columns{batch.Reward},
}

// Prepare does nothing.
func (p *PositiveNLL) Prepare(*batch.Batch) error { return nil }

// AddLoss adds the term and logs its value.
func (p *PositiveNLL) AddLoss(out *Grad, in *batch.Batch) error {
	if err := in.Require(batch.Mask, batch.Logp, batch.Reward); err != nil {
		return err
	}
	sum, tokens := 0.0, 0.0
	active := in.Active()
	for i, reward := range in.Reward {
		if reward > 0 {
			for n := range in.Where(i, active) {
				sum -= in.Now.Logp[n]
				tokens++
			}
		}
	}
	mean := sum / (tokens + 1e-8)
	out.Loss += float64(p.Coef * mean)
	for i, reward := range in.Reward {
		if reward > 0 {
			for n := range in.Where(i, active) {
				out.DLogp[n] -= p.Coef / (tokens + 1e-8)
			}
		}
	}
	out.Add("positive_nll_loss", mean)
	return nil
}
