// Package explain follows some tokens of a run through one training step: what the
// three policies say of them after each gradient step, which ratio a clip sees, and
// every formula with the tokens' own figures.
//
//	u, err := explain.Follow(ctx, r, explain.Request{Step: 1, Tokens: 12})
//
// What it is not: it computes no loss. The run is the recipe's own, and the formulas
// are what loss and correction tell of their evaluation (package trace).
package explain
