// Package trace keeps how a method came to its figures, token by token: each figure
// with the formula that gives it, in the figures before it.
//
// A method declares a Rule next to its mathematics: lines of figures, then branches.
//
//	var r trace.Rule
//	r.Formula("r", "exp(logp - old)")
//	r.Given("high", 1.2)
//	r.Branch(trace.Case{Branch: trace.ClippedHigh, When: "A > 0, r > high", Value: "-A·high", Slope: "0"},
//		trace.Case{Branch: trace.Kept, Value: "-A·r", Slope: "-A·r"})
//	t.Apply(&r, tokens)         // t := trace.New(offsets), with the columns logp, old and A
//	t.Conclude(n, computed)     // value and slope of token n, as the method computed them
//	t.Check()                   // evaluates every formula again
//	t.Tokens[n].Lines()         // r = exp(logp - old) = exp(-0.5 - (-0.7)) = 1.2214
//
// The rule is evaluated only for a trace, and separately from the method: Check and the
// caller compare its values with the method's, so a rule that says something else than
// the code is an error and never shown.
//
// What it is not: it knows no method, and no batch. It is a leaf.
package trace
