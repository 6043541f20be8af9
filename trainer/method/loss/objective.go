package loss

import (
	"driftlab/engine/column"
	"driftlab/trainer/method/batch"
)

// Objective is a loss over a batch, as a learner minimises it.
type Objective struct {
	// Loss is evaluated on Batch, whose Now the learner fills.
	Loss  Loss
	Batch *batch.Batch

	grad Grad
	view batch.Batch
}

// Eval computes the loss of what the learner recorded of its current weights. If
// that is not the batch's own Now, it is a dense pass next to a shadow, which Now
// then is.
func (o *Objective) Eval(out *column.Grad, now *column.Scored) error {
	b := o.Batch
	if now != &b.Now {
		o.view = *b
		o.view.Now, o.view.Shadow = *now, b.Now
		b = &o.view
	}
	o.grad.Grad = *out
	err := o.Loss.Eval(&o.grad, b)
	*out = o.grad.Grad
	return err
}
