// Package trace keeps how a method came to its figures, token by token.
//
//	t := trace.New(offsets)
//	t.Add(n, "r", 1.22)               // figures in the order in which they were computed
//	t.Tokens[n].Branch = trace.Kept
//	t.Tokens[n].Lines()               // r = 1.22   (kept)
//
// The figures come from the method's own evaluation, which records them.
//
// What it is not: it knows no method, and no batch. It is a leaf.
package trace
