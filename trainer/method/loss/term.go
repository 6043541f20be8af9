package loss

import "driftlab/trainer/method/batch"

// Term is an addition to a policy loss: something that shapes what the loss
// reads, or something added to it.
type Term interface {
	// Prepare runs before the policy loss. It may close gates of the batch, and
	// may put other advantages in the place of the batch's for this evaluation.
	Prepare(in *batch.Batch) error
	// AddLoss runs after the policy loss and adds to its result.
	AddLoss(out *Grad, in *batch.Batch) error
}

// Evaluate computes a policy loss with a KL term and any further terms.
func Evaluate(out *Grad, in *batch.Batch, l Loss, kl KL, terms ...Term) error {
	defer func(advantage []float64) { in.Advantage = advantage }(in.Advantage)
	for _, t := range terms {
		if err := t.Prepare(in); err != nil {
			return err
		}
	}
	if err := l.Eval(out, in); err != nil {
		return err
	}
	if err := kl.AddLoss(out, in); err != nil {
		return err
	}
	for _, t := range terms {
		if err := t.AddLoss(out, in); err != nil {
			return err
		}
	}
	return nil
}
