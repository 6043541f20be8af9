package loss

import (
	"driftlab/precision/elementary"
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
)

// Entropy is a bonus for the entropy of the policy at the sampled states.
//
// Its gradient goes to the logits (Grad.DLogits), since entropy is no function
// of the sampled token's log-prob.
type Entropy struct {
	// Coef is the coefficient (verl 0; 0.001 to 0.01 in use).
	Coef float64 `yaml:"coef" default:"0.001" range:"(-inf,inf)"`
	// Aggregation over tokens.
	Aggregation Aggregation `yaml:"aggregation"`
}

var entropySpec = method.Spec{
	Name: "entropy", Aliases: []string{"entropy_bonus"}, Unit: method.Token,
	Does:     "Adds a bonus for the entropy of the policy.",
	When:     "Use it if entropy collapses before the reward stops rising.",
	Source:   "arXiv:1602.01783; verl entropy_coeff, TRL entropy_coef",
	Formula:  "L -= coef·Σ agg·H, H = -Σ_a p(a)·log p(a)",
	Gradient: "d L/d logit_a = coef·agg·p(a)·(log p(a) + H)",
	Needs:    batch.Columns{batch.Dist},
}

// Prepare does nothing.
func (e *Entropy) Prepare(*batch.Batch) error { return nil }

// AddLoss subtracts the bonus and logs actor/entropy.
func (e *Entropy) AddLoss(out *Grad, in *batch.Batch) error {
	if err := in.Require(batch.Mask, batch.Dist); err != nil {
		return err
	}
	return addEntropy(out, in, in.Now.Dist, e.Coef, e.Aggregation)
}

// addEntropy subtracts coef times the aggregated entropy of rows of log-probs.
func addEntropy[F ~float32 | ~float64](out *Grad, in *batch.Batch, dist []F, coef float64, agg Aggregation) error {
	out.NeedLogits(in.Tokens(), in.Vocab)
	rows := out.work(0, in.Len())
	if err := agg.RowWeights(rows, in, &out.groups); err != nil {
		return err
	}
	sum, active := 0.0, in.Active()
	for i, w := range rows {
		for n := range in.Where(i, active) {
			at := n * in.Vocab
			sum += float64(w * entropyRow(out.DLogits[at:at+in.Vocab], dist[at:at+in.Vocab], -coef*w))
		}
	}
	out.Loss -= float64(coef * sum)
	out.Add("actor/entropy", sum)
	return nil
}

// entropyRow returns the entropy of a row of log-probs and adds scale times
// its derivative with respect to the logits to dlogits.
func entropyRow[F ~float32 | ~float64](dlogits []float64, logp []F, scale float64) float64 {
	h := 0.0
	for _, lp := range logp {
		if p := elementary.Exp(float64(lp)); p > 0 {
			h -= float64(p * float64(lp))
		}
	}
	for a, lp := range logp {
		if p := elementary.Exp(float64(lp)); p > 0 {
			dlogits[a] -= float64(scale * p * (float64(lp) + h))
		}
	}
	return h
}
