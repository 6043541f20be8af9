// Package trace keeps how a method came to its figures, token by token: each figure
// with the formula that gave it, in the figures before it.
//
//	t := trace.New(offsets)                     // of the responses of a batch
//	t.Add(n, "r", "exp(logp - old)", r)         // where the method computes it
//	t.Take(n, trace.ClippedHigh, "-A·high", "0") // the branch it takes
//	t.Check()                                   // evaluates every formula again
//	t.Tokens[n].Lines()                         // r = exp(logp - old) = exp(-0.5 - (-0.7)) = 1.2214
//
// The values are the method's own. A formula is text that stands beside the line of
// code it describes; Check evaluates it on the values before it, so a formula that
// says something else than the code is an error and never shown.
//
// What it is not: it knows no method, and no batch. It is a leaf.
package trace
