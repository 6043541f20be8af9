// Package correction turns the gap between two policies into importance
// weights and rejection masks.
//
// Responses come from the rollout engine (policy mu, LogpRoll); the gradient
// comes from the learner (pi_old at the start of the step, LogpOld; pi at every
// gradient step, Logp). Everything here starts from a token log-ratio
//
//	e_t = logp_old_t - logp_roll_t     decoupled mode, once per batch
//	e_t = logp_t     - logp_roll_t     bypass mode, at every gradient step
//
// A Weighting turns e into a weight that multiplies the policy loss; a Masking
// turns it into a decision which tokens count at all. A Pipeline joins one
// weighting with any number of masks in a declared order:
//
//	p := &correction.Pipeline{
//		Mode:    correction.Decoupled,
//		Weights: &correction.TokenTIS{Cap: 2},
//		Masks:   []correction.Masking{&correction.Geometric{Low: 0.99, High: 1.01}},
//	}
//	err := p.Apply(b, correction.AtBatch)     // after LogpOld is known
//	err  = p.Apply(mini, correction.AtStep)   // after Logp is known
//
// Weights and masks are constants to the gradient: nothing here is
// differentiated. Log-ratios are clamped to ±20 before exp, sums are clamped
// after summing; Pipeline.Clamp sets another bound. Bounds keep the boundary value. Everything is float64.
//
// Modes (verl's names): decoupled has three policies, mu, pi_old and pi. Bypass
// has two: the batch stage sets LogpOld to LogpRoll, and weights and masks
// follow pi/mu at every step.
//
// What it is not: it computes no loss and no advantage. Methods that a loss
// differentiates through (clips, GSPO, MinPRO) are in package loss.
package correction
