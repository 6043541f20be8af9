package loss

import (
	"slices"
	"strconv"
	"strings"

	"driftlab/trainer/method/trace"
)

// rule says how a token's part of a loss comes about, for a trace. It is evaluated
// after Eval, and only for a trace; the frame is that of Eval.
type rule struct {
	frame
	trace.Rule
	// clamped is the condition under which the last ratio has no gradient.
	clamped string
	// share are the lines after value and slope, up to the token's part of the loss and
	// its gradient.
	share []trace.Line
	// tokens are those that the rule is for; nil for all.
	tokens []int
	// also are rules that add to the parts of the tokens.
	also []rule
	// rest are parts of the loss that belong to no token.
	rest []trace.Term
}

// ruled is a loss that can be explained.
type ruled interface {
	// rule declares how the figures of a token come about.
	rule(r *rule)
}

// ratio appends exp of a log-ratio, clamped to the limit if that is not 0.
func (r *rule) ratio(name, of string, limit float64) {
	r.clamped = ""
	if limit == 0 {
		r.Formula(name, "exp("+of+")")
		return
	}
	bound := strconv.FormatFloat(limit, 'f', -1, 64)
	r.clamped = "|" + of + "| > " + bound
	r.Add(trace.Line{Name: name, Formula: "exp(" + of + ")", When: "|" + of + "| ≤ " + bound},
		trace.Line{Name: name, Formula: "exp(" + bound + ")", When: of + " > " + bound},
		trace.Line{Name: name, Formula: "exp(-" + bound + ")", When: of + " < -" + bound})
}

// cappedExp appends exp(min(x, limit)) of the figure x; a limit of 0 is none.
func (r *rule) cappedExp(name string, limit float64) {
	r.clamped = ""
	if limit <= 0 {
		r.Formula(name, "exp(x)")
		return
	}
	bound := trace.Number(limit).String()
	r.clamped = "x > " + bound
	r.Formula(name, "exp(min(x, "+bound+"))")
}

// kept ends the rule with the whole term of a token, without a slope where the last ratio
// is clamped.
func (r *rule) kept(value, slope string, lines ...trace.Line) {
	r.keptIf(nil, value, slope, lines...)
}

// keptIf is kept for the tokens of which the condition is true.
func (r *rule) keptIf(condition func(n int) bool, value, slope string, lines ...trace.Line) {
	if r.clamped != "" {
		r.Branch(trace.Case{Branch: trace.Clamped, If: condition, Lines: lines, When: r.clamped, Value: value, Slope: "0"})
	}
	r.Branch(trace.Case{Branch: trace.Kept, If: condition, Lines: lines, Value: value, Slope: slope})
}

// term ends the rule with a term that no ratio can clamp.
func (r *rule) term(value, slope string) {
	r.Branch(trace.Case{Branch: trace.Kept, Value: value, Slope: slope})
}

// drop is the branch of the tokens that the loss leaves out.
func (r *rule) drop(dropped func(n int) bool) {
	r.Branch(trace.Case{Branch: trace.Dropped, If: dropped, Value: "0", Slope: "0"})
}

// detached ends the rule with -sg[w]·A·logp. The lines give w; a token that meets the
// condition has a bounded weight.
func (r *rule) detached(bounded string, lines ...trace.Line) {
	if bounded != "" {
		r.Branch(trace.Case{Branch: trace.Capped, Lines: lines, When: bounded, Value: "-w·A·logp", Slope: "-w·A"})
	}
	r.Branch(trace.Case{Branch: trace.Kept, Lines: lines, Value: "-w·A·logp", Slope: "-w·A"})
}

// capped ends the rule with detached, of the ratio r below a cap, 0 for none.
func (r *rule) capped(limit float64) {
	if limit == 0 {
		r.detached("", trace.Line{Name: "w", Formula: "r"})
		return
	}
	r.Given("cap", limit)
	r.detached("r > cap", trace.Line{Name: "w", Formula: "min(r, cap)"})
}

// band appends the bounds of a clip.
func (r *rule) band(low, high float64) {
	r.Given("low", low)
	r.Given("high", high)
}

// clip ends the rule with PPO's clip of the ratio of that name between low and high, and
// with the dual clip, 0 for none.
func (r *rule) clip(name string, dual float64) {
	if dual > 0 {
		r.dualClip(name, trace.Given("c", dual))
	}
	r.Branch(trace.Case{Branch: trace.ClippedHigh, When: "A > 0, " + name + " > high", Value: "-A·high", Slope: "0"},
		trace.Case{Branch: trace.ClippedLow, When: "A < 0, " + name + " < low", Value: "-A·low", Slope: "0"})
	r.kept("-A·"+name, "-A·"+name)
}

// dualClip is the branch in which the line c bounds the loss.
func (r *rule) dualClip(name string, c trace.Line) {
	r.Branch(trace.Case{Branch: trace.DualClipped, Lines: []trace.Line{c}, When: "A < 0, max(" + name + ", low) > c", Value: "-A·c", Slope: "0"})
}

// shared says that every token of a response has the same gradient, by a formula in the
// weight w of a token.
func (r *rule) shared(gradient string) {
	weight, lines := r.weightFormula()
	r.share = append(lines, trace.Formula("w", strings.TrimSuffix(weight, "·")), trace.Formula(trace.Share, "w·L"), trace.Formula(trace.Grad, gradient))
}

// whole says that a term is the response's: its tokens have its gradient each, and
// its value together.
func (r *rule) whole(weight func(i int) float64) {
	r.share = []trace.Line{{Name: "W", Value: r.ofResponse(weight)}, trace.Formula(trace.Share, "W·L/count(1)"), trace.Formula(trace.Grad, "W·dL")}
}

// perToken says that every token has its own value and gradient, times its weight.
func (r *rule) perToken() {
	weight, lines := r.weightFormula()
	r.share = append(lines, trace.Formula(trace.Share, weight+trace.Value), trace.Formula(trace.Grad, weight+trace.Slope))
}

// weightFormula is the product of the factors of weight, and its lines.
func (r *rule) weightFormula() (product string, lines []trace.Line) {
	product, lines = "agg·", []trace.Line{{Name: "agg", Value: r.ofResponse(func(i int) float64 { return r.rowWeight[i] })}}
	if in := r.in; in.Weight != nil {
		product, lines = product+"weight·", append(lines, trace.Line{Name: "weight", Value: func(n int) float64 { return in.Weight[n] }})
	}
	if in := r.in; in.Gate != nil {
		product, lines = product+"gate·", append(lines, trace.Line{Name: "gate", Value: func(n int) float64 { return count(in.Gate[n]) }})
	}
	return product, lines
}

// remain says that a part of the loss belongs to no token.
func (r *rule) remain(name string, value float64) {
	r.rest = append(r.rest, trace.Term{Name: name, Value: trace.Number(value)})
}

// ofResponse is a figure of responses as one of their tokens.
func (f *frame) ofResponse(figure func(i int) float64) func(n int) float64 {
	var values []float64
	return func(n int) float64 {
		if values == nil {
			values = make([]float64, f.in.Tokens())
			for i := range f.in.Len() {
				from, to := f.in.Span(i)
				for x := figure(i); from < to; from++ {
					values[from] = x
				}
			}
		}
		return values[n]
	}
}

// ofGroup is ofResponse of a figure that the responses of a group have together.
func (f *frame) ofGroup(figure func(rows []int) func(i int) float64) func(n int) float64 {
	return f.ofResponse(func(i int) float64 {
		groups := f.groups()
		for k := range groups.Len() {
			if rows := groups.Rows(k); slices.Contains(rows, i) {
				return figure(rows)(i)
			}
		}
		return 0
	})
}

// ofToken is a figure of a token of a response, by that and its own number.
func (f *frame) ofToken(figure func(i, n int) float64) func(n int) float64 {
	values := make([]float64, f.in.Tokens())
	for i := range f.in.Len() {
		for n := range f.in.Where(i, f.active) {
			values[n] = figure(i, n)
		}
	}
	return func(n int) float64 { return values[n] }
}
