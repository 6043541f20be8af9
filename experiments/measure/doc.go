// Package measure compares two engines at equal weights: nothing is trained.
//
// Gaps says by how much a rollout engine and a learner differ on the same tokens,
// Attribute which of their differences makes how much of that, Levels what each
// difference does by itself, from none at all to too much.
//
//	r, err := recipe.Load("default", "rollout.numerics=fp8-w8a8")
//	m, err := measure.Gaps(ctx, measure.GapRequest{Recipe: r, Pairs: measure.UsualPairs()})
//	m.Pairs[0].Gap.K3          // of the first pair: an estimate of KL(rollout || learner)
//
// What it is not: it is no other way to sample or to score. The fleet, the
// requests, the policy and the weights are those of a run's step (trainer/engines,
// trainer.BeforeMeasurement), so that what is measured is what trains.
package measure
