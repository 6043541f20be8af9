// Package moe is the mixture-of-experts mathematics that is not a matrix
// product: which experts a token visits, with what gates, in what order the
// tokens are dispatched, and how balanced the load is.
//
// Every routing decision can be given back (Gate.Replay), with gradients still
// flowing to the gates: this is rollout routing replay, R3 (arXiv:2510.11370). Logits and gates are float32,
// as engines pass them; sums inside are float64 in a fixed order with our own
// exponential, so all machines make the same bits.
//
// What it is not: it holds no weights and computes no expert. The router's
// logits come from an engine's kernels, in that engine's numerics, and the
// experts are run there. It starts no goroutine and allocates nothing after
// its buffers have grown.
//
// # A short tour
//
//	gate := moe.Gate{Experts: 8, TopK: 2, Order: moe.TopKThenSoftmax}
//	gate.Select(ids, weights, logits, nil, rows)   // the engine's own choice
//
//	var d moe.Dispatch
//	d.Plan(ids, rows, gate.TopK, gate.Experts)     // tokens sorted by expert
//	for e := range gate.Experts {
//		from, to := d.Span(e)                  // run expert e on the rows d.Row[from:to]
//	}
//
//	gate.Replay(weights, logits, ids, rows)        // in the other engine: its logits, those experts
//	gate.Grad(dlogits, dweights, weights, logits, ids, rows)
package moe
