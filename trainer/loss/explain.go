package loss

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"driftlab/trainer/batch"
	"driftlab/trainer/trace"
)

// Explain evaluates a loss and returns how every active token's part of it came about,
// from the evaluation itself. It is an error if the parts are not the loss: every
// formula of the trace is worked out again, and the parts are added up.
func Explain(l Loss, in *batch.Batch) (*trace.Trace, *Grad, error) {
	out := &Grad{trace: trace.New(in.Offsets), frozen: slices.Clone(in.Now.Logp)} // frozen: no dual variable moves
	if err := l.Eval(out, in); err != nil {
		return nil, nil, err
	}
	if err := out.trace.Check(); err != nil {
		return nil, nil, err
	}
	sum := 0.0
	for _, part := range out.trace.Rest {
		sum += float64(part.Value)
	}
	for n := range out.trace.Tokens {
		t := &out.trace.Tokens[n]
		share, _ := t.Find(trace.Share)
		grad, _ := t.Find(trace.Grad)
		sum += float64(share.Value)
		if got, want := float64(grad.Value), out.DLogp[n]; !adds(got, want) {
			return nil, nil, fmt.Errorf("trace: token %d has the gradient %v in its trace and %v in the loss", n, got, want)
		}
	}
	if !adds(sum, out.Loss) {
		return nil, nil, fmt.Errorf("trace: the tokens' parts add up to %v, the loss is %v", sum, out.Loss)
	}
	return out.trace, out, nil
}

// adds allows for the rounding of a sum in another order.
func adds(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(1, math.Abs(a), math.Abs(b)) }

// given notes the columns that a loss reads, of every active token.
func (f *frame) given(needs []batch.Column) {
	if f.trace == nil {
		return
	}
	in := f.in
	columns := []struct {
		column batch.Column
		name   string
		at     func(i, n int) float64
	}{
		{batch.LogpRoll, "roll", func(_, n int) float64 { return in.LogpRoll[n] }},
		{batch.Anchor, "old", func(_, n int) float64 { return in.Anchor[n] }},
		{batch.LogpRef, "ref", func(_, n int) float64 { return in.Ref.Logp[n] }},
		{batch.LogpTeacher, "teacher", func(_, n int) float64 { return in.Teacher.Logp[n] }},
		{batch.Entropy, "H", func(_, n int) float64 { return in.Now.Entropy[n] }},
		{batch.Turn, "turn", func(_, n int) float64 { return float64(in.Turn[n]) }},
		{batch.Reward, "R", func(i, _ int) float64 { return in.Reward[i] }},
		{batch.Correct, "correct", func(i, _ int) float64 { return count(in.Correct[i]) }},
		{batch.Advantage, "A", func(_, n int) float64 { return in.Advantage[n] }},
	}
	for i := range in.Len() {
		for n := range in.Where(i, f.active) {
			f.note(n, "logp", "", f.sg[n])
			for _, c := range columns {
				if slices.Contains(needs, c.column) {
					f.note(n, c.name, "", c.at(i, n))
				}
			}
		}
	}
}

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

// drop is the term of a token that the loss leaves out.
func (f *frame) drop(n int) (value, dlogp float64) {
	f.took(n, trace.Dropped, "0", "0")
	return 0, 0
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

// ratio is ratio of a log-ratio x of token n, which the trace knows as the formula of.
func (f *frame) ratio(n int, name, of string, x, limit float64) (r, dr float64) {
	r, dr = ratio(x, limit)
	if f.trace != nil {
		f.noteRatio(n, name, of, x, limit, r)
	}
	return r, dr
}

func (f *frame) noteRatio(n int, name, of string, x, limit, r float64) {
	formula := "exp(" + of + ")"
	if limit > 0 && math.Abs(x) > limit {
		formula = "exp(" + strconv.FormatFloat(clamp(x, -limit, limit), 'g', -1, 64) + ")"
	}
	f.note(n, name, formula, r)
}

// live is -A·r at a ratio of that name, differentiated.
func (f *frame) live(n int, name string, a, r, dr float64) (value, dlogp float64) {
	if f.trace != nil {
		f.kept(n, "-A·"+name, "-A·"+name, dr == 0)
	}
	return -a * r, -a * dr
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

// capped bounds a detached ratio by a limit, 0 for none; above says that it acted.
func (f *frame) capped(n int, r, limit float64) (w float64, above bool) {
	if above = limit > 0 && r > limit; above {
		r = limit
	}
	if f.trace != nil && limit > 0 {
		f.note(n, "cap", "", limit)
		f.note(n, "w", "min(r, cap)", r)
	} else {
		f.note(n, "w", "r", r)
	}
	return r, above
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

// detached is -sg[w]·A·logp, with w noted as the term w.
func (f *frame) detached(n int, a, w float64, capped bool) (value, dlogp float64) {
	b := trace.Kept
	if capped {
		b = trace.Capped
	}
	f.took(n, b, "-w·A·logp", "-w·A")
	return -w * a * f.in.Now.Logp[n], -w * a
}

// clip is clipped for token n, at a ratio of that name.
func (f *frame) clip(n int, name string, a, r, dr, low, high, dualClip, delta float64) surrogate {
	c := clipped(a, r, dr, low, high, dualClip, delta)
	if f.trace != nil {
		f.noteClip(n, name, c, r, dr, low, high, dualClip, delta)
	}
	return c
}

func (f *frame) noteClip(n int, name string, c surrogate, r, dr, low, high, dualClip, delta float64) {
	f.note(n, "low", "", low)
	f.note(n, "high", "", high)
	switch {
	case c.dual:
		f.note(n, "c", "", dualClip)
		f.took(n, trace.DualClipped, "-A·c", "0")
	case c.clipped && r > high:
		f.took(n, trace.ClippedHigh, "-A·high", "0")
	case c.clipped:
		f.took(n, trace.ClippedLow, "-A·low", "0")
	case delta > 0 && r > delta:
		f.note(n, "δ", "", delta)
		f.took(n, trace.Bounded, "-A·δ", "0")
	default:
		f.kept(n, "-A·"+name, "-A·"+name, dr == 0)
	}
}
