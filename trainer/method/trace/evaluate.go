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

// functionNames lists what formulas can call.
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

// names reports whether a name stands in the formula.
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
