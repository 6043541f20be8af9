package claim

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"driftlab/results/stats"
)

// An expression is a value per replication, written as in Go: numbers, + - * / and the
// functions below of arms, averaged over learning rates.
//
//	late("fp8, token TIS") - late("fp8, uncorrected")

// armFunctions read an arm's runs, and a column of them where they take one.
var armFunctions = map[string]struct {
	column bool
	of     func(j *Judge, rates []string, arm, column string) []float64
}{
	// late is the late pass rate in the learner's engine, sampled in the rollout engine.
	"late":    {false, func(j *Judge, rates []string, arm, _ string) []float64 { return j.Late(rates, arm) }},
	"sampled": {false, func(j *Judge, rates []string, arm, _ string) []float64 { return j.OverRates(rates, arm, lateSampled) }},
	// average is the mean of a column over a run.
	"average": {true, (*Judge).Average},
	// first and last are the means of the first and the last third of a column.
	"first": {true, func(j *Judge, rates []string, arm, column string) []float64 {
		return j.thirds(rates, arm, column, false)
	}},
	"last": {true, func(j *Judge, rates []string, arm, column string) []float64 {
		return j.thirds(rates, arm, column, true)
	}},
	// generated counts the tokens of the runs, tokens those of which a column has the share.
	"generated": {false, func(j *Judge, rates []string, arm, _ string) []float64 { return j.countTokens(rates, arm, "") }},
	"tokens":    {true, (*Judge).countTokens},
}

// lengthColumn is the mean length of a batch's responses, of which the headline's recipe has
// batchResponses.
const (
	lengthColumn   = "response_length/mean"
	batchResponses = 64
)

// countTokens counts the tokens that an arm's runs generated at all rates, or those of which a
// column has the share.
func (j *Judge) countTokens(rates []string, arm, share string) []float64 {
	return j.Each(func(o *Observation) (sum float64) {
		for _, r := range rates {
			name := AtLR(arm, r)
			for i, length := range o.List(ArmColumn(name, lengthColumn)) {
				n := math.Round(float64(length * batchResponses))
				if share != "" {
					n = math.Round(float64(o.List(ArmColumn(name, share))[i] * n))
				}
				sum += n
			}
		}
		return sum
	})
}

// Functions of values: mean is that over replications, as a number; slope is that of
// y over x, of arguments x1, y1, x2, y2, ...
const meanFunction, slopeFunction = "mean", "slope"

// evaluate is the value of an expression that checkExpression took.
func (j *Judge) evaluate(rates []string, text string) []float64 {
	n, err := parser.ParseExpr(text)
	if err != nil {
		panic("claim: " + err.Error())
	}
	return j.value(rates, n)
}

func (j *Judge) value(rates []string, n ast.Expr) []float64 {
	switch n := n.(type) {
	case *ast.ParenExpr:
		return j.value(rates, n.X)
	case *ast.BasicLit:
		v, _ := strconv.ParseFloat(n.Value, 64)
		return j.Each(func(*Observation) float64 { return v })
	case *ast.BinaryExpr:
		x, y := j.value(rates, n.X), j.value(rates, n.Y)
		for i := range x {
			x[i] = operators[n.Op](x[i], y[i])
		}
		return x
	}
	call := n.(*ast.CallExpr)
	name := call.Fun.(*ast.Ident).Name
	if f, ok := armFunctions[name]; ok {
		words := append(literals(call), "")
		return f.of(j, rates, words[0], words[1])
	}
	var values [][]float64
	for _, a := range call.Args {
		values = append(values, j.value(rates, a))
	}
	if name == meanFunction {
		mean := stats.Average(values[0])
		return j.Each(func(*Observation) float64 { return mean })
	}
	out := make([]float64, len(values[0]))
	for i := range out {
		var x, y []float64
		for k := 0; k < len(values); k += 2 {
			x, y = append(x, values[k][i]), append(y, values[k+1][i])
		}
		out[i] = stats.Slope(x, y)
	}
	return out
}

// operators round their results, so that no product is fused with a sum.
var operators = map[token.Token]func(a, b float64) float64{
	token.ADD: func(a, b float64) float64 { return float64(a + b) },
	token.SUB: func(a, b float64) float64 { return float64(a - b) },
	token.MUL: func(a, b float64) float64 { return float64(a * b) },
	token.QUO: func(a, b float64) float64 { return float64(a / b) },
}

// literals are the arguments of a call that are texts.
func literals(call *ast.CallExpr) (out []string) {
	for _, a := range call.Args {
		if l, ok := a.(*ast.BasicLit); ok && l.Kind == token.STRING {
			if text, err := strconv.Unquote(l.Value); err == nil {
				out = append(out, text)
			}
		}
	}
	return out
}

// functionsHelp lists what expressions can call.
func functionsHelp() string {
	return fmt.Sprintf("the functions are %s and %s of values, and %s of an arm", meanFunction, slopeFunction, strings.Join(slices.Sorted(maps.Keys(armFunctions)), ", "))
}

// checkExpression says what is wrong with an expression of the training's arms.
func (t *Training) checkExpression(text string) error {
	n, err := parser.ParseExpr(text)
	if err != nil {
		return fmt.Errorf("%s: %w: write function(arguments); %s", text, err, functionsHelp())
	}
	if err := t.check(n); err != nil {
		return fmt.Errorf("%s: %w", text, err)
	}
	return nil
}

func (t *Training) check(n ast.Expr) error {
	switch n := n.(type) {
	case *ast.ParenExpr:
		return t.check(n.X)
	case *ast.BasicLit:
		if n.Kind == token.INT || n.Kind == token.FLOAT {
			return nil
		}
	case *ast.BinaryExpr:
		if operators[n.Op] == nil {
			return fmt.Errorf("no operator %s", n.Op)
		}
		if err := t.check(n.X); err != nil {
			return err
		}
		return t.check(n.Y)
	case *ast.CallExpr:
		return t.checkCall(n)
	}
	return fmt.Errorf("neither a number nor a function")
}

// checkCall checks the names in a function's arguments, and their number.
func (t *Training) checkCall(call *ast.CallExpr) error {
	id, ok := call.Fun.(*ast.Ident)
	if !ok {
		return fmt.Errorf("no such function")
	}
	f, reads := armFunctions[id.Name]
	switch words := literals(call); {
	case !reads && id.Name == meanFunction && len(call.Args) == 1, !reads && id.Name == slopeFunction && len(call.Args) >= 4 && len(call.Args)%2 == 0:
		for _, a := range call.Args {
			if err := t.check(a); err != nil {
				return err
			}
		}
		return nil
	case !reads:
		return fmt.Errorf("no function %s of %d values: %s", id.Name, len(call.Args), functionsHelp())
	case len(words) != len(call.Args) || f.column != (len(words) == 2) || len(words) == 0:
		return fmt.Errorf("%s takes an arm, and a column if it reads one", id.Name)
	case t.arm(words[0]) == nil:
		return fmt.Errorf("no arm %q", words[0])
	case f.column && !t.keeps(words[0], words[1]):
		return fmt.Errorf("arm %q keeps no column %q", words[0], words[1])
	case (id.Name == "tokens" || id.Name == "generated") && !t.keeps(words[0], lengthColumn):
		return fmt.Errorf("arm %q keeps no column %q", words[0], lengthColumn)
	case id.Name == "sampled" && !t.keeps(words[0], sampledRate):
		return fmt.Errorf("arm %q keeps no column %q", words[0], sampledRate)
	}
	return nil
}

// keeps reports whether a column of an arm is recorded.
func (t *Training) keeps(arm, column string) bool {
	columns := t.Columns
	if own := t.arm(arm).Columns; own != nil {
		columns = own
	}
	return slices.Contains(columns, column)
}
