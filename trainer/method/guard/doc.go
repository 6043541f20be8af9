// Package guard has the guards at the optimiser: methods that look at a
// minibatch and its gradient just before the step and scale the learning rate,
// change the gradient, or skip the step.
//
//	d, err := guard.Apply(guards, grad, guard.Input{Batch: mini, Step: n})
//	if !d.Skip {
//		optimiser.Step(grad, lr*d.Scale)
//	}
//
// Guards keep state between steps (a length history, the previous gradient);
// AppendState and SetState carry it through an interruption, bit for bit.
//
// What it is not: it clips no gradient norms (the optimiser does) and stops no
// run on NaN (the trainer does).
package guard
