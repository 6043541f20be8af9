package trace

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"driftlab/precision/elementary"
)

// node is a formula, or a part of one.
type node struct {
	kind  kind
	op    string // of a number its text, of a name or call the name
	parts []*node
}

type kind int

const (
	number kind = iota
	name
	call
	unary
	binary
)

// parser reads a formula:
//
//	sum      = product {("+" | "-") product}
//	product  = factor {("·" | "/") factor}
//	factor   = ["-"] atom ["²"]
//	atom     = number | name | name "(" sum {"," sum} ")" | "(" sum ")" | "|" sum "|"
type parser struct {
	text string
	err  error
}

func parse(text string) (*node, error) {
	p := parser{text: text}
	n := p.sum()
	if p.err == nil && p.peek() != "" {
		p.fail("%q is left over", p.text)
	}
	return n, p.err
}

func (p *parser) fail(format string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf(format, args...)
	}
	p.text = ""
}

const operators = "+-·/(),|²"

// peek is the next token: an operator, or a run of anything else.
func (p *parser) peek() string {
	p.text = strings.TrimLeft(p.text, " ")
	for at, r := range p.text {
		if r == ' ' || strings.ContainsRune(operators, r) {
			if at == 0 {
				return p.text[:utf8.RuneLen(r)]
			}
			return p.text[:at]
		}
	}
	return p.text
}

// next takes the token that peek shows.
func (p *parser) next() string {
	t := p.peek()
	p.text = p.text[len(t):]
	return t
}

// accept takes the next token if it is one of these.
func (p *parser) accept(tokens ...string) (string, bool) {
	t := p.peek()
	for _, x := range tokens {
		if t == x {
			return p.next(), true
		}
	}
	return "", false
}

func (p *parser) expect(token string) {
	if _, ok := p.accept(token); !ok {
		p.fail("expected %q before %q", token, p.text)
	}
}

func (p *parser) sum() *node { return p.chain(p.product, "+", "-") }

func (p *parser) product() *node { return p.chain(p.factor, "·", "/") }

func (p *parser) chain(part func() *node, ops ...string) *node {
	n := part()
	for {
		op, ok := p.accept(ops...)
		if !ok {
			return n
		}
		n = &node{binary, op, []*node{n, part()}}
	}
}

func (p *parser) factor() *node {
	if _, ok := p.accept("-"); ok {
		return &node{unary, "-", []*node{p.factor()}}
	}
	n := p.atom()
	if _, ok := p.accept("²"); ok {
		n = &node{unary, "²", []*node{n}}
	}
	return n
}

func (p *parser) atom() *node {
	t := p.next()
	switch {
	case t == "(" || t == "|":
		n := p.sum()
		if t == "(" {
			p.expect(")")
			return n
		}
		p.expect("|")
		return &node{unary, "|", []*node{n}}
	case t == "" || strings.Contains(operators, t):
		p.fail("expected a number or a name before %q", t+p.text)
		return &node{}
	case t[0] >= '0' && t[0] <= '9':
		return &node{kind: number, op: t}
	}
	if _, ok := p.accept("("); !ok {
		return &node{kind: name, op: t}
	}
	n := &node{call, t, []*node{p.sum()}}
	for {
		if _, ok := p.accept(","); !ok {
			break
		}
		n.parts = append(n.parts, p.sum())
	}
	p.expect(")")
	return n
}

// functions are those of numbers, by the number of their arguments.
var functions = map[string]func(x []float64) (float64, error){
	"exp":    of(1, func(x []float64) float64 { return elementary.Exp(x[0]) }),
	"log":    of(1, func(x []float64) float64 { return elementary.Log(x[0]) }),
	"sqrt":   of(1, func(x []float64) float64 { return math.Sqrt(x[0]) }),
	"σ":      of(1, func(x []float64) float64 { return 1 / (1 + elementary.Exp(-x[0])) }),
	"sign":   of(1, func(x []float64) float64 { return below(0, x[0]) - below(x[0], 0) }),
	"min":    of(2, func(x []float64) float64 { return min(x[0], x[1]) }),
	"max":    of(2, func(x []float64) float64 { return max(x[0], x[1]) }),
	"clip":   of(3, func(x []float64) float64 { return min(max(x[0], x[1]), x[2]) }),
	"inside": of(3, func(x []float64) float64 { return (1 - below(x[0], x[1])) * (1 - below(x[2], x[0])) }),
	"not":    of(1, func(x []float64) float64 { return 1 - x[0] }),
	"above":  of(2, func(x []float64) float64 { return below(x[1], x[0]) }),
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

// names reports whether a name stands in the formula.
func (n *node) names(s string) bool {
	return n.kind == name && n.op == s || slices.ContainsFunc(n.parts, func(p *node) bool { return p.names(s) })
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
			return 0, fmt.Errorf("there is no function %s", n.op)
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

// folded is the argument of a fold at every token that it takes in.
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
