// Package engine is what the two engines share: the numerics in which they
// differ, the weights in a given format, and one transformer pass, forward and
// backward, on the kernels.
//
// The rollout engine (engine/rollout) and the learner (engine/learner) run the
// same Pass over the same parameters. They differ only in what Numerics
// declares: number formats, reduction order, attention kernel, and in how rows
// are put together. With equal, batch-invariant Numerics they agree bit for
// bit; that is what makes every measured gap attributable.
//
// A pass in five lines:
//
//	weights := engine.NewWeights(params.Config, numerics)
//	weights.Publish(params, 0)
//	pass := engine.NewPass(params.Config, 1)
//	pass.Begin(weights, pack, engine.Options{})
//	pass.Forward()
//
// Sequences of a pack that begin alike may share their beginning as a prefix, and
// go on from its keys and values: see Pack.
//
// What it is not: it does not sample, does not optimise, and knows nothing of
// rewards.
package engine
