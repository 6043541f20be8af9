package trace

import (
	"slices"
	"strings"
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

// meets reports whether a token meets every part of a condition.
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
