package trace

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"driftlab/precision/elementary"
)

// Rule says how the figures of a token come about: line by line, until a branch takes
// the token. Losses and corrections declare one next to their mathematics.
type Rule struct {
	steps []step
	after []Line
	// factor is a figure that multiplies value and slope of every branch.
	factor string
}

// step is a line, or a branch where that is set.
type step struct {
	line   Line
	branch *Case
}

// Line is a figure of a token.
type Line struct {
	Name string
	// Formula gives it in the figures before; empty where Value does.
	Formula string
	// Value is the figure of token n that is no formula, such as a parameter or the
	// result of a search.
	Value func(n int) float64
	// When is a condition in the figures before, such as "A > 0, r > high"; a token
	// that does not meet it has no such line. Empty is always.
	When string
}

// Case is a branch that a token can take.
type Case struct {
	Branch Branch
	// Lines are those of this branch. When may name them.
	Lines []Line
	// When and If are conditions: the branch takes a token that meets both. Empty and
	// nil are always.
	When string
	If   func(n int) bool
	// Value and Slope are formulas of a loss in this branch, and of its derivative.
	Value, Slope string
}

// Given is a line with the same number for every token.
func Given(name string, x float64) Line {
	return Line{Name: name, Value: func(int) float64 { return x }}
}

// Formula is a line by its formula.
func Formula(name, formula string) Line { return Line{Name: name, Formula: formula} }

// Add appends lines.
func (r *Rule) Add(lines ...Line) {
	for _, l := range lines {
		r.steps = append(r.steps, step{line: l})
	}
}

// Given appends a number.
func (r *Rule) Given(name string, x float64) { r.Add(Given(name, x)) }

// Figure appends a figure that is no formula.
func (r *Rule) Figure(name string, value func(n int) float64) { r.Add(Line{Name: name, Value: value}) }

// Formula appends a figure by its formula.
func (r *Rule) Formula(name, formula string) { r.Add(Formula(name, formula)) }

// Branch appends branches: a token takes the first whose conditions it meets, and has
// no line that is added later.
func (r *Rule) Branch(cases ...Case) {
	for _, c := range cases {
		r.steps = append(r.steps, step{branch: &c})
	}
}

// Branches reports whether the rule has any.
func (r *Rule) Branches() bool {
	return slices.ContainsFunc(r.steps, func(s step) bool { return s.branch != nil })
}

// After appends lines that every token but a dropped one has after its branch.
func (r *Rule) After(lines ...Line) { r.after = append(r.after, lines...) }

// Scale multiplies value and slope of every branch by a figure, if they are not 0.
func (r *Rule) Scale(name string) { r.factor = name }

// Apply works the lines of a rule out on tokens, and finds the branch of each.
func (t *Trace) Apply(r *Rule, tokens []int) error {
	open := tokens
	for _, s := range r.steps {
		if s.branch == nil {
			if err := t.Evaluate(open, s.line); err != nil {
				return err
			}
			continue
		}
		var rest []int
		for _, n := range open {
			taken, err := t.try(n, s.branch)
			if err != nil {
				return err
			}
			if !taken {
				rest = append(rest, n)
			}
		}
		open = rest
	}
	for _, n := range tokens {
		if t.Tokens[n].Branch == Dropped {
			continue
		}
		if err := t.Evaluate([]int{n}, r.after...); err != nil {
			return err
		}
		t.Tokens[n].scale(r.factor)
	}
	return nil
}

// Evaluate works lines out, each on all of the tokens before the next.
func (t *Trace) Evaluate(tokens []int, lines ...Line) error {
	for _, l := range lines {
		for _, n := range tokens {
			if err := t.line(n, l); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *Trace) line(n int, l Line) error {
	if ok, err := t.Tokens[n].meets(l.When); err != nil || !ok {
		return err
	}
	if l.Value != nil {
		t.Add(n, l.Name, "", l.Value(n))
		return nil
	}
	return t.derive(n, l.Name, l.Formula)
}

// try puts token n into a branch if it meets its conditions.
func (t *Trace) try(n int, c *Case) (taken bool, err error) {
	k := &t.Tokens[n]
	if c.If != nil && !c.If(n) {
		return false, nil
	}
	before := len(k.Terms)
	if err := t.Evaluate([]int{n}, c.Lines...); err != nil {
		return false, err
	}
	if taken, err = k.meets(c.When); err != nil || !taken {
		k.Terms = k.Terms[:before]
		return false, err
	}
	k.Branch, k.value, k.slope = c.Branch, c.Value, c.Slope
	return true, nil
}

func (k *Token) meets(condition string) (bool, error) {
	if condition == "" {
		return true, nil
	}
	for _, part := range topLevel(condition) {
		text := part
		if strings.ContainsAny(part, "≤≥<>") {
			var err error
			if text, err = indicator(part); err != nil {
				return false, err
			}
		}
		n, err := parse(text)
		if err != nil {
			return false, err
		}
		if x, err := n.eval(k); err != nil || x == 0 {
			return false, err
		}
	}
	return true, nil
}

// scale multiplies both formulas of a token by a figure, if there is one.
func (k *Token) scale(factor string) {
	if factor == "" {
		return
	}
	k.value = factor + "·(" + k.value + ")"
	if k.slope != "0" {
		k.slope = factor + "·(" + k.slope + ")"
	}
}

// functions are those of numbers, by the number of their arguments.
var functions = map[string]func(x []float64) (float64, error){
	"exp":    of(1, func(x []float64) float64 { return elementary.Exp(x[0]) }),
	"log":    of(1, func(x []float64) float64 { return elementary.Log(x[0]) }),
	"sqrt":   of(1, func(x []float64) float64 { return math.Sqrt(x[0]) }),
	"tanh":   of(1, func(x []float64) float64 { return 2/(1+elementary.Exp(-2*x[0])) - 1 }),
	"σ":      of(1, func(x []float64) float64 { return 1 / (1 + elementary.Exp(-x[0])) }),
	"sign":   of(1, func(x []float64) float64 { return below(0, x[0]) - below(x[0], 0) }),
	"min":    of(2, func(x []float64) float64 { return min(x[0], x[1]) }),
	"max":    of(2, func(x []float64) float64 { return max(x[0], x[1]) }),
	"clip":   of(3, func(x []float64) float64 { return min(max(x[0], x[1]), x[2]) }),
	"inside": of(3, func(x []float64) float64 { return (1 - below(x[0], x[1])) * (1 - below(x[2], x[0])) }),
	"not":    of(1, func(x []float64) float64 { return 1 - x[0] }),
	"above":  of(2, func(x []float64) float64 { return below(x[1], x[0]) }),
}

func functionNames() string {
	return strings.Join(slices.Sorted(maps.Keys(functions)), ", ") + " of numbers, " + strings.Join(slices.Sorted(maps.Keys(folds)), ", ") + " of a response's tokens"
}

func of(n int, f func([]float64) float64) func([]float64) (float64, error) {
	return func(x []float64) (float64, error) {
		if len(x) != n {
			return 0, fmt.Errorf("a function of %d has %d arguments", n, len(x))
		}
		return f(x), nil
	}
}

func below(x, y float64) float64 {
	if x < y {
		return 1
	}
	return 0
}

// fold is a function over the tokens of a response: those that it takes in, and how.
type fold struct {
	in   func(k, other *Token) bool
	join func(x []float64) float64
}

var folds = map[string]fold{
	"Σ":          {whole, sum},
	"mean":       {whole, mean},
	"most":       {whole, most},
	"least":      {whole, func(x []float64) float64 { return -most(negated(x)) }},
	"first":      {whole, func(x []float64) float64 { return x[0] }},
	"count":      {whole, func(x []float64) float64 { return float64(len(x)) }},
	"Σ_turn":     {sameTurn, sum},
	"mean_turn":  {sameTurn, mean},
	"count_turn": {sameTurn, func(x []float64) float64 { return float64(len(x)) }},
	"Σ_≤t":       {func(k, o *Token) bool { return o.n <= k.n }, sum},
	"count_≤t":   {func(k, o *Token) bool { return o.n <= k.n }, func(x []float64) float64 { return float64(len(x)) }},
	"least_<t": {func(k, o *Token) bool { return o.n < k.n }, func(x []float64) float64 {
		if len(x) == 0 {
			return 1 // the first token has no prefix
		}
		return -most(negated(x))
	}},
}

func whole(_, _ *Token) bool { return true }

func sameTurn(k, other *Token) bool {
	a, _ := k.Find("turn")
	b, _ := other.Find("turn")
	return a.Value == b.Value
}

func sum(x []float64) float64 {
	s := 0.0
	for _, v := range x {
		s += v
	}
	return s
}

func mean(x []float64) float64 { return sum(x) / float64(len(x)) }

func most(x []float64) float64 {
	m := math.Inf(-1)
	for _, v := range x {
		m = max(m, v)
	}
	return m
}

func negated(x []float64) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = -v
	}
	return y
}

func (n *node) names(s string) bool {
	return n.kind == name && n.op == s || slices.ContainsFunc(n.parts, func(p *node) bool { return p.names(s) })
}

// fold is the first function over tokens in the formula, empty if there is none.
func (n *node) fold() string {
	if _, ok := folds[n.op]; ok && n.kind == call {
		return n.op
	}
	for _, p := range n.parts {
		if name := p.fold(); name != "" {
			return name
		}
	}
	return ""
}

// eval works the formula out on the terms of a token.
func (n *node) eval(k *Token) (float64, error) {
	switch n.kind {
	case number:
		return strconv.ParseFloat(n.op, 64)
	case name:
		term, ok := k.Find(n.op)
		if !ok {
			return 0, fmt.Errorf("there is no term %s", n.op)
		}
		return float64(term.Value), nil
	case call:
		if f, ok := folds[n.op]; ok {
			x, err := n.folded(f, k)
			return f.join(x), err
		}
		f, ok := functions[n.op]
		if !ok {
			return 0, fmt.Errorf("there is no function %s: the functions are %s", n.op, functionNames())
		}
		x, err := evalAll(n.parts, k)
		if err != nil {
			return 0, err
		}
		return f(x)
	}
	x, err := evalAll(n.parts, k)
	if err != nil {
		return 0, err
	}
	if n.kind == unary {
		switch n.op {
		case "²":
			return x[0] * x[0], nil
		case "|":
			return math.Abs(x[0]), nil
		}
		return -x[0], nil
	}
	switch n.op {
	case "+":
		return x[0] + x[1], nil
	case "-":
		return x[0] - x[1], nil
	case "·":
		return x[0] * x[1], nil
	}
	return x[0] / x[1], nil
}

func evalAll(parts []*node, k *Token) ([]float64, error) {
	x := make([]float64, len(parts))
	var faults []error
	for i, p := range parts {
		v, err := p.eval(k)
		x[i], faults = v, append(faults, err)
	}
	return x, errors.Join(faults...)
}

func (n *node) folded(f fold, k *Token) (x []float64, err error) {
	for _, other := range k.response() {
		if !f.in(k, other) {
			continue
		}
		v, fault := n.parts[0].eval(other)
		x, err = append(x, v), errors.Join(err, fault)
	}
	return x, err
}
