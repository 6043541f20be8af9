package loss

import (
	"slices"

	"driftlab/results/stats"
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
)

// TopEntropy keeps the policy term of the tokens with the highest entropy, the
// forks of a response, and closes the gate of the others. Denominators and the
// KL term do not change.
//
// The quantile interpolates linearly, as in TRL.
type TopEntropy struct {
	// Share is the fraction of tokens kept.
	Share float64 `yaml:"share" default:"0.2" range:"(0,1]"`

	sorted []float64
}

var topEntropySpec = method.Spec{
	Name: "top_entropy", Aliases: []string{"top_entropy_mask", "80/20"}, Unit: method.Batch,
	Does:     "Restricts the policy loss to the share of tokens with the highest entropy.",
	When:     "Use it to concentrate the gradient on tokens at which responses branch.",
	Source:   "arXiv:2506.01939; TRL top_entropy_quantile",
	Formula:  "gate_n = 1[H_n ≥ quantile(H, 1-share)]",
	Gradient: "none of its own: it closes the gate of the policy term",
	Needs:    batch.Columns{batch.Entropy},
}

// Prepare closes the gates of the tokens below the quantile.
func (e *TopEntropy) Prepare(in *batch.Batch) error {
	if err := in.Require(batch.Mask, batch.Entropy); err != nil {
		return err
	}
	active := in.Active()
	e.sorted = e.sorted[:0]
	for n, m := range active {
		if m {
			e.sorted = append(e.sorted, in.Now.Entropy[n])
		}
	}
	if e.Share >= 1 || len(e.sorted) == 0 {
		return nil
	}
	slices.Sort(e.sorted)
	threshold := stats.Quantile(e.sorted, 1-e.Share)
	if in.Gate == nil {
		in.Gate = make([]bool, in.Tokens())
		for n := range in.Gate {
			in.Gate[n] = true
		}
	}
	for n, m := range active {
		if m && in.Now.Entropy[n] < threshold {
			in.Gate[n] = false
		}
	}
	return nil
}

// AddLoss does nothing.
func (e *TopEntropy) AddLoss(*Grad, *batch.Batch) error { return nil }
