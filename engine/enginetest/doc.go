// Package enginetest holds engines to the definition of the model: a reference
// transformer in float64, written straight from the formulas of package model
// and sharing no code with the kernels, and a conformance suite that compares
// any engine with it, in any numerics, with a stated tolerance per format.
//
//	enginetest.Conform(t, subject)            // an engine against the reference
//	r := enginetest.NewReference(params)
//	trace := r.Forward(tokens, nil)           // logits, routes, router probabilities
//	g := r.Gradient(func() float64 { ... })   // central differences, every parameter
//
// What it is not: fast, or a third engine. It rounds nothing, so it says how
// far an engine in a format may be from the truth, not which bits it computes;
// those are pinned by the tests of package engine, engine against engine.
package enginetest
