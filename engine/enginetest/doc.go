// Package enginetest holds engines to package reference: a conformance suite compares any engine with
// it, in any numerics, with a stated tolerance per format, and gradients are compared with its backward pass.
//
//	enginetest.Conform(t, all, subject)                        // an engine against the reference
//	enginetest.Backward(m, passes, coefficients, balance)      // its gradient
package enginetest
