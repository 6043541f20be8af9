// Package learner is the engine that computes gradients: policies pi_old and pi.
//
// Gorgonia holds the graph, the parameters and the differentiation. The nodes
// are few and large: one fused operation for the embedding, for each attention
// block, for each expert block, and for the head with the policy loss; each
// names its gradient as a second operation on the same kernels. Parameters and
// gradients are one flat slice each, and a node views the run of its block, so
// optimiser, clipping and weight sync work on plain memory.
//
//	l := learner.New(params, learner.Settings{Numerics: numerics, AdamW: ...}, 1)
//	l.Score(&old, &sampled, learner.ScoreOptions{Policy: policy})      // log-probs, routes
//	report, err := l.Gradient(&now, &sampled, objective, learner.StepOptions{Policy: policy})
//	l.Update(rate)                                              // unless report.Skipped
//
// Both passes can follow what the rollout engine recorded: its routes (Replay), its
// sampling supports (Support) and the positions its compressed cache still held
// (Retention). A gradient may then add a second objective on a dense pass.
//
// A prompt that a group shares is computed once, and goes backward once, with the
// sum of what its responses give to the gradients of its keys and values. No
// log-prob notices. A gradient in a narrow format does: the prompt's rows carry the
// sum of a group, and so may meet the end of fp16's range where no response's
// would. Between Score and the first Gradient nothing has changed: ScoreAhead
// makes the forward pass of both.
//
// All imports of Gorgonia are in this package. Tests hold the graph's gradients
// against the kernels called directly, bit for bit, so the frozen upstream is
// replaceable: in a browser, where it weighs more than all the rest, an eager machine over the
// same stages takes its place.
//
// What it is not: it knows no rewards, draws no samples and chooses no method;
// the policy loss arrives as an Objective that sets d loss/d log-prob.
package learner
