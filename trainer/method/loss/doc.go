// Package loss has the policy losses and KL terms, each with its parameters and
// their defaults, its value and d loss/d log-prob; methods.txt has the formulas and
// the papers.
//
// A loss reads a batch.Batch and fills a Grad. It never differentiates through
// anything but the current log-probs; what a paper detaches is read as a constant
// (f.sg). Everything is float64: the engines round, the losses do not.
//
//	entry, err := loss.Registry.Lookup("ppo_clip")  // by name or alias
//	policy := entry.New()                           // a parameter struct with defaults
//	err = loss.Evaluate(&out, batch, policy, kl)    // out.Loss, out.DLogp, out.Metrics
//
// What the methods share:
//
//   - Ratios. r is exp(logp - old), w is exp(logp - roll); log-ratios are clamped
//     to ±20 before the exponential, as in verl, unless log_clamp is 0. A clamped
//     token has no gradient where the ratio is differentiated.
//   - Sums. Aggregation names every published way of turning tokens into one
//     number. Masked tokens are never read, not even multiplied by zero.
//   - Corrections. Batch.Weight multiplies each token's term (VESPO and GMPO take
//     it into their sequence weight; FlowRL, GVPO, OAPL, OnlineDPO and REAL do not
//     read it), Batch.LossMask removes tokens from sums and
//     statistics, Batch.Gate closes the policy term of a token that stays in every
//     denominator. A batch without a single token gives loss and gradient zero.
//   - Traces. Explain returns what Eval recorded of every token: its ratio, weight and
//     branch, and its part of the loss. It checks their sum and the gradient; see package trace.
//   - Clips. A bound belongs to the band; where two branches tie, each has half
//     of the gradient, as automatic differentiation has it.
//   - Logits. Methods that need full distributions (exact KL, entropy, kl_cov's
//     exact penalty) add to Grad.DLogits: d loss/d logits is
//     DLogp·(onehot(token) - p) + DLogits.
//
// The tests compare every loss with finite differences, hand-worked numbers,
// identities, exact enumeration where theory says so, and with what the reference
// implementations compute (package golden).
//
// What it is not: it does not draw samples, weight them or reject them; that is
// the correction stage, whose results arrive in Batch.Weight, Batch.LossMask and
// Batch.Gate. It does not estimate advantages, except in methods whose paper makes
// them part of the loss (OAPL, QUATRO, MaxRL).
package loss
