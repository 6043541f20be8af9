// Package metrics measures: the gap between the two engines at equal weights,
// and the figures of every training step, under the names verl logs.
//
//	g := metrics.Compare(b)                 // the gap as one struct of numbers
//	m = metrics.Step(m[:0], b, limits)      // the step's metrics, in a fixed order
//	term, known := metrics.Lookup("gap/k3") // what a name means, formula, unit, source
//
// The gap is the difference of LogpOld, the learner, from LogpRoll, the rollout engine that
// sampled: e_t = old − roll. Samples come from the rollout engine, so the
// estimators estimate KL(roll || old) and relatives:
//
//	k1 = −e    k2 = e²/2    k3 = exp(e) − 1 − e
//
// Where routes are recorded, flips are counted on the unordered top-k sets.
// Where full distributions are recorded, KL and total variation are exact.
// Everything runs over Mask, the tokens the policy generated.
//
// What it is not: it changes nothing in the batch, and the figures that belong
// to one method (clip fractions, truncated weights) come from that method.
package metrics
