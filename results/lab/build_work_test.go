package lab

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"

	"driftlab/precision/elementary"
)

// work evaluates arithmetic over figures: + - * /, parentheses, and the functions
// below. It returns the files that the figures come from.
func (f *figures) work(formula string) (float64, []string, error) {
	e, err := parser.ParseExpr(formula)
	if err != nil {
		return 0, nil, fmt.Errorf("%q: %w", formula, err)
	}
	var sources []string
	x, err := f.eval(e, &sources)
	if err != nil {
		return 0, nil, fmt.Errorf("%q: %w", formula, err)
	}
	slices.Sort(sources)
	return x, slices.Compact(sources), nil
}

func (f *figures) eval(e ast.Expr, sources *[]string) (float64, error) {
	switch e := e.(type) {
	case *ast.BasicLit:
		return strconv.ParseFloat(e.Value, 64)
	case *ast.ParenExpr:
		return f.eval(e.X, sources)
	case *ast.UnaryExpr:
		x, err := f.eval(e.X, sources)
		if err == nil && e.Op == token.SUB {
			return -x, nil
		}
		return x, err
	case *ast.Ident:
		s, err := f.get(e.Name)
		if err == nil && s.Source != "" {
			*sources = append(*sources, s.Source)
		}
		return s.Value, err
	case *ast.BinaryExpr:
		x, err := f.eval(e.X, sources)
		if err != nil {
			return 0, err
		}
		y, err := f.eval(e.Y, sources)
		if err != nil {
			return 0, err
		}
		switch e.Op {
		case token.ADD:
			return x + y, nil
		case token.SUB:
			return x - y, nil
		case token.MUL:
			return x * y, nil
		case token.QUO:
			return x / y, nil
		}
	case *ast.CallExpr:
		return f.call(e, sources)
	}
	return 0, fmt.Errorf("%T is no arithmetic that figures know", e)
}

// call evaluates a function.
func (f *figures) call(e *ast.CallExpr, sources *[]string) (float64, error) {
	name, _ := e.Fun.(*ast.Ident)
	var x []float64
	for _, arg := range e.Args {
		v, err := f.eval(arg, sources)
		if err != nil {
			return 0, err
		}
		x = append(x, v)
	}
	switch {
	case name == nil:
	case name.Name == "pow" && len(x) == 2:
		return elementary.Pow(x[0], x[1]), nil
	case name.Name == "exp" && len(x) == 1:
		return elementary.Exp(x[0]), nil
	case name.Name == "min" && len(x) == 2:
		return min(x[0], x[1]), nil
	}
	return 0, fmt.Errorf("no such function: pow(x, y), exp(x) and min(x, y) are known")
}
