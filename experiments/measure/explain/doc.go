// Package explain follows some tokens of a run through one training step: what the
// three policies say of them after each gradient step, which ratio a clip sees, and
// every figure that the loss and the correction compute of them.
//
//	u, err := explain.Follow(ctx, r, explain.Request{Step: 1, Tokens: 12})
//
// What it is not: it computes no loss. The run is the recipe's own, and the figures
// are what loss and correction record of their evaluation (package trace).
package explain
