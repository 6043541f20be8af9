package trainer

import (
	"driftlab/trainer/batch"
	"driftlab/trainer/correction"
	"driftlab/trainer/loss"
)

// objective is what the learner minimises: the corrections that are due at
// every gradient step, the policy loss, and the KL term. It is a loss.Loss, the
// last operation of the learner's graph.
type objective struct {
	correction *correction.Pipeline
	loss       loss.Loss
	kl         loss.KL
}

// Eval implements loss.Loss.
func (o *objective) Eval(out *loss.Grad, b *batch.Batch) error {
	if err := o.correction.Apply(b, correction.AtStep); err != nil {
		return err
	}
	return loss.Evaluate(out, b, o.loss, o.kl)
}

// likelihood is the supervised loss of the warm start: the mean over response
// tokens of -log p(token).
type likelihood struct{}

// Eval implements loss.Loss.
func (likelihood) Eval(out *loss.Grad, b *batch.Batch) error {
	out.Reset(b.Tokens())
	n := 0
	for _, m := range b.Mask {
		if m {
			n++
		}
	}
	for i, m := range b.Mask {
		if m {
			out.Loss -= b.Logp[i] / float64(n)
			out.DLogp[i] = -1 / float64(n)
		}
	}
	return nil
}
