package loss

import (
	"slices"
	"strings"

	"driftlab/trainer/method/trace"
)

// What a loss tells of its evaluation. Without a trace nothing here does anything; what
// costs more than a look at that stands in a function of its own.

// note tells the trace a figure of token n, with its formula in those noted before.
func (f *frame) note(n int, name, formula string, value float64) {
	if f.trace != nil {
		f.trace.Add(n, name, formula, value)
	}
}

// took tells the trace the branch of token n, and value and slope there as formulas.
func (f *frame) took(n int, b trace.Branch, value, slope string) {
	if f.trace != nil {
		f.trace.Take(n, b, value, slope)
	}
}

// scaled tells the trace that both are multiplied by a term.
func (f *frame) scaled(n int, name string) {
	if f.trace != nil {
		f.trace.Scale(n, name)
	}
}

// result tells the trace what came of token n, where its gradient is its own.
func (f *frame) result(i, n int, value, dlogp float64) {
	if f.trace != nil {
		f.noteResult(i, n, value, dlogp)
	}
}

func (f *frame) noteResult(i, n int, value, dlogp float64) {
	f.trace.Result(n, value, dlogp)
	w := f.noteWeight(i, n)
	f.share(n, w+trace.Value, f.weight(i, n)*value, w+trace.Slope, f.weight(i, n)*dlogp)
}

// spreadResult tells the trace what came of token n, where the whole response shares
// its gradient.
func (f *frame) spreadResult(i, n int, value, dlogp float64) {
	if f.trace != nil {
		f.trace.Result(n, value, dlogp)
		w := f.weight(i, n)
		f.note(n, "w", strings.TrimSuffix(f.noteWeight(i, n), "·"), w)
		f.note(n, trace.Share, "w·L", w*value)
	}
}

// noteWeight notes the factors of weight, and returns their product as a formula.
func (f *frame) noteWeight(i, n int) string {
	if f.trace == nil {
		return ""
	}
	formula := "agg·"
	f.note(n, "agg", "", f.rowWeight[i])
	if f.in.Weight != nil {
		f.note(n, "weight", "", f.in.Weight[n])
		formula += "weight·"
	}
	if f.in.Gate != nil {
		f.note(n, "gate", "", count(f.in.Gate[n]))
		formula += "gate·"
	}
	return formula
}

// kept tells the trace that token n has its whole term, without a slope where the
// log-ratio is clamped.
func (f *frame) kept(n int, value, slope string, clamped bool) {
	if clamped {
		f.took(n, trace.Clamped, value, "0")
		return
	}
	f.took(n, trace.Kept, value, slope)
}

// noteExp notes what cappedExp made of the term x.
func (f *frame) noteExp(n int, name string, limit, value float64) {
	if f.trace == nil {
		return
	}
	formula := "exp(x)"
	if limit > 0 {
		formula = "exp(min(x, " + trace.Number(limit).String() + "))"
	}
	f.note(n, name, formula, value)
}

// leave tells the trace that token n does not count.
func (f *frame) leave(n int) {
	if f.trace != nil {
		f.trace.Tokens[n].Terms, f.trace.Tokens[n].Branch = nil, trace.Dropped
	}
}

// traced are the active tokens of response i, if they are traced.
func (f *frame) traced(i int) []int {
	if f.trace == nil {
		return nil
	}
	return slices.Collect(f.in.Where(i, f.active))
}

// whole tells the trace that token n shares a term of its response of weight w, whose
// value is counted once.
func (f *frame) whole(n int, w, value, dlogp float64) {
	f.trace.Result(n, value, dlogp)
	f.note(n, "W", "", w)
	f.share(n, "W·L/count(1)", w*value/f.length(f.trace.Tokens[n].Response), "W·dL", w*dlogp)
}

// rest tells the trace a part of the loss that belongs to no token.
func (f *frame) rest(name string, value float64) {
	if f.trace != nil {
		f.trace.Rest = append(f.trace.Rest, trace.Term{Name: name, Value: trace.Number(value)})
	}
}

// share tells the trace what token n adds to the loss and has as a gradient, where it
// is not the product of its weight with value and slope. What comes from several terms
// is summed.
func (f *frame) share(n int, loss string, value float64, slope string, grad float64) {
	if f.trace == nil {
		return
	}
	if t, ok := f.trace.Tokens[n].Find(trace.Share); ok {
		loss, value = "", value+float64(t.Value)
	}
	if t, ok := f.trace.Tokens[n].Find(trace.Grad); ok {
		slope, grad = "", grad+float64(t.Value)
	}
	f.note(n, trace.Share, loss, value)
	f.note(n, trace.Grad, slope, grad)
}
