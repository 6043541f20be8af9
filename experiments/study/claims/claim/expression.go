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

	"driftlab/precision/elementary"
	"driftlab/results/stats"
)

// An expression is a list of numbers per unit of replication, usually of one number. It is
// written as in Go. A text is a figure of the observation, averaged over the runs of a unit,
// [k] its entry, counted from the end where k is negative, and [a:b] a part of it. A text with stars is one list of all
// figures of such names, in their order:
//
//	"dense k3"[1] / "dense k3"[0]
//	late("fp8, token TIS") - late("fp8, uncorrected")
//
// Functions are listed below. Some have a meaning of their own:
//
//	each(x)       x of every run, averaged over the runs of a unit
//	rates(x)      each(x) at every learning rate, averaged over them; $rate in a figure's name is the rate; total(x) is their sum
//	ofRates(x)    the entries of a list, one per learning rate, likewise
//	overall(x)    the mean over units, least(x) the least of them, units(x) their number
//	kendall(x, y) the rank correlation over units
//	interval(x)   estimate, low and high end of the 95 % interval of x, or of the ratio x/y of interval(x, y)

// ListFunction takes as many lists as Arguments says (at least one if that is negative) and returns one.
type ListFunction struct {
	Arguments int
	Of        func(x ...[]float64) []float64
}

// UnitFunction is a value per unit of replication, of texts.
type UnitFunction struct {
	// Texts is how many texts it takes.
	Texts int
	Of    func(j *Judge, rates []string, texts []string) []float64
}

// eachEntry makes a list function of one of numbers.
func eachEntry(of func(float64) float64) ListFunction {
	return ListFunction{1, func(x ...[]float64) []float64 { return stats.Each(x[0], of) }}
}

// Single makes a list function of one that has a number for a value.
func Single(of func([]float64) float64) ListFunction {
	return ListFunction{1, func(x ...[]float64) []float64 { return []float64{of(x[0])} }}
}

// Paired makes a list function of one of two lists that has a number for a value.
func Paired(of func(x, y []float64) float64) ListFunction {
	return ListFunction{2, func(x ...[]float64) []float64 { return []float64{of(x[0], x[1])} }}
}

// extremum is the greatest (or by a least) entry of one list, NaN of an empty one, or entry by entry of several.
func extremum(of func(a, b float64) float64) ListFunction {
	return ListFunction{-1, func(x ...[]float64) []float64 {
		if len(x) == 1 && len(x[0]) == 0 {
			return []float64{math.NaN()}
		}
		if len(x) == 1 { // the entries, as lists of one
			for _, v := range x[0][1:] {
				x = append(x, []float64{v})
			}
			x[0] = x[0][:1]
		}
		out := x[0]
		for _, y := range x[1:] {
			out = combine(out, y, of)
		}
		return out
	}}
}

// listFunctions are the list functions of every claim; a library has more.
var listFunctions = map[string]ListFunction{
	"log": eachEntry(elementary.Log), "exp": eachEntry(elementary.Exp), "log1p": eachEntry(elementary.Log1p), "sqrt": eachEntry(math.Sqrt),
	"abs": eachEntry(math.Abs), "round": eachEntry(math.Round),
	"min": extremum(func(a, b float64) float64 { return min(a, b) }), "max": extremum(func(a, b float64) float64 { return max(a, b) }),
	"mean": Single(stats.Average), "auc": Single(func(y []float64) float64 { return stats.AUC(Counting(len(y)), y) }),
	"length": Single(func(x []float64) float64 { return float64(len(x)) }),
	// collapsed is 1 for a curve that ends 30 % or more below its own best.
	"collapsed": Single(func(x []float64) float64 { return truth(Collapsed(x)) }),
	// count is 1, 2, ... in the place of the entries, begin the former half of them and half the latter.
	"begin":  {1, func(x ...[]float64) []float64 { return x[0][:(len(x[0])+1)/2] }},
	"count":  {1, func(x ...[]float64) []float64 { return Counting(len(x[0])) }},
	"sorted": {1, func(x ...[]float64) []float64 { return slices.Sorted(slices.Values(x[0])) }},
	"half":   {1, func(x ...[]float64) []float64 { return x[0][len(x[0])/2:] }},
	// third is the first third of the entries, at least one of any.
	"third":     {1, func(x ...[]float64) []float64 { return x[0][:thirdOf(x[0])] }},
	"lastThird": {1, func(x ...[]float64) []float64 { return x[0][len(x[0])-thirdOf(x[0]):] }},
	// ending are as many of the last entries as a second list has, 0 where there are fewer.
	"ending": {2, func(x ...[]float64) []float64 {
		if len(x[0]) < len(x[1]) {
			return []float64{0}
		}
		return x[0][len(x[0])-len(x[1]):]
	}},
	"sum": Single(sumOf),
	// cumulated has the sums of the entries so far.
	"cumulated": {1, func(x ...[]float64) []float64 {
		out := make([]float64, len(x[0]))
		for i := range out {
			out[i] = sumOf(x[0][:i+1])
		}
		return out
	}},
	"list": {-1, func(x ...[]float64) []float64 { return slices.Concat(x...) }},
	// where has the entries of its first list at which the second is not 0.
	"where": {2, func(x ...[]float64) (out []float64) {
		for i, v := range x[0] {
			if x[1][i] != 0 {
				out = append(out, v)
			}
		}
		return out
	}},
	// every has every n-th entry of a list, from a place on.
	"every": {3, func(x ...[]float64) (out []float64) {
		for k := int(x[2][0]); k < len(x[0]); k += max(int(x[1][0]), 1) {
			out = append(out, x[0][k])
		}
		return out
	}},
	// blocks are means over the given number of entries in a row.
	"blocks": {2, func(x ...[]float64) []float64 { return Blocks(x[0], max(min(int(x[1][0]), len(x[0])), 1)) }},
	"slope":  Paired(func(x, y []float64) float64 { return stats.Slope(x[:min(len(x), len(y))], y) }), "rsquared": Paired(stats.RSquared), "spearman": Paired(stats.Spearman), "pow": {2, func(x ...[]float64) []float64 { return combine(x[0], x[1], elementary.Pow) }},
}

func sumOf(x []float64) (sum float64) {
	for _, v := range x {
		sum += v
	}
	return sum
}

func thirdOf(x []float64) int { return max(len(x)/3, min(len(x), 1)) }

// armFunctions stand for expressions of an arm's runs, $1, and of a column of them, $2; a batch of the headline's recipe has 64 responses.
var armFunctions = map[string]string{
	// late is the late pass rate in the learner's engine, sampled in the rollout engine, which is evaluated at the first update too.
	"late":    `rates(mean(half("$1 at lr $rate")))`,
	"sampled": `rates(mean(half(ending("$1 at lr $rate, val/rollout/pass_rate", "$1 at lr $rate"))))`,
	// average is the mean of a column over a run, first and last are the means over its first and last third.
	"average": `rates(mean("$1 at lr $rate, $2"))`,
	"first":   `rates(mean(third("$1 at lr $rate, $2")))`,
	"last":    `rates(mean(lastThird("$1 at lr $rate, $2")))`,
	// generated counts the tokens of the runs at all rates, tokens those of which a column has the share.
	"generated": `total(sum(round("$1 at lr $rate, response_length/mean" * 64)))`,
	"tokens":    `total(sum(round("$1 at lr $rate, $2" * round("$1 at lr $rate, response_length/mean" * 64))))`,
}

// scope is where an expression is evaluated.
type scope struct {
	j     *Judge
	rates []string
	all   []string // the claim's learning rates, of which rates are some
	rate  string   // that stands for $rate; empty outside rates(...)
	lib   *Library
}

// Evaluate is the value of an expression, a list for each unit of replication, over learning rates.
func (j *Judge) Evaluate(lib *Library, rates []string, text string) ([][]float64, error) {
	of, err := (&compiler{lib: lib}).compile(text)
	if err != nil {
		return nil, err
	}
	return of(scope{j: j, rates: rates, all: rates, lib: lib}), nil
}

// evaluate is the value of an expression that the claim's file was checked with, one number per unit.
func (s scope) evaluate(text string) []float64 {
	lists := s.lists(text)
	out := make([]float64, len(lists))
	for i, x := range lists {
		if len(x) != 1 {
			panic(&FigureError{text, fmt.Sprintf("has %d values, not one", len(x))})
		}
		out[i] = x[0]
	}
	return out
}

// lists is the value of an expression.
func (s scope) lists(text string) [][]float64 {
	value, err := (&compiler{lib: s.lib}).compile(text)
	if err != nil {
		panic("claim: " + err.Error())
	}
	return value(s)
}

// value is what an expression comes to in a scope.
type value func(s scope) [][]float64

// compiler makes values of expressions. A test has it check the figures that they name.
type compiler struct {
	lib   *Library
	check func(figure string) error
}

// compile is the value of an expression, or says what is wrong with it.
func (c *compiler) compile(text string) (v value, err error) {
	n, err := parser.ParseExpr(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: write an expression; %s", text, err, c.lib.functionsHelp())
	}
	if err := caught(func() { v = c.value(n) }); err != nil {
		return nil, fmt.Errorf("%s: %w", text, err)
	}
	return v, nil
}

func (c *compiler) value(n ast.Expr) value {
	switch n := n.(type) {
	case *ast.ParenExpr:
		return c.value(n.X)
	case *ast.BasicLit:
		switch n.Kind {
		case token.INT, token.FLOAT:
			v, _ := strconv.ParseFloat(n.Value, 64)
			return func(s scope) [][]float64 { return s.constant(v) }
		case token.STRING:
			return c.figure(n, func(x []float64) []float64 { return x })
		}
	case *ast.UnaryExpr:
		if n.Op == token.SUB {
			return applied(func(x ...[]float64) []float64 { return stats.Negated(x[0]) }, c.value(n.X))
		}
	case *ast.BinaryExpr:
		of := operators[n.Op]
		if of == nil {
			StopOn(fmt.Errorf("no operator %s", n.Op))
		}
		return applied(func(x ...[]float64) []float64 { return combine(x[0], x[1], of) }, c.value(n.X), c.value(n.Y))
	case *ast.IndexExpr:
		index := constantIndex(n.Index)
		part := func(x []float64) []float64 { k := place(x, index); return x[k : k+1] }
		if l, ok := n.X.(*ast.BasicLit); ok && l.Kind == token.STRING { // of the runs, whose lists may have unequal lengths
			return c.figure(l, part)
		}
		return applied(func(x ...[]float64) []float64 { return part(x[0]) }, c.value(n.X))
	case *ast.SliceExpr:
		low, high := 0, math.MaxInt
		if n.Low != nil {
			low = constantIndex(n.Low)
		}
		if n.High != nil {
			high = constantIndex(n.High)
		}
		return applied(func(x ...[]float64) []float64 {
			from := clamped(x[0], low)
			return x[0][from:max(clamped(x[0], high), from)]
		}, c.value(n.X))
	case *ast.CallExpr:
		return c.call(n)
	}
	return Must[value](nil, fmt.Errorf("neither a number nor a figure nor a function"))
}

// figure is a part of the figure that a text names.
func (c *compiler) figure(l *ast.BasicLit, part func(x []float64) []float64) value {
	text, _ := strconv.Unquote(l.Value)
	if c.check != nil {
		StopOn(c.check(text))
	}
	return func(s scope) [][]float64 {
		return s.average(s.j, stats.Map(s.j.Runs, func(o *Observation) []float64 { return part(o.matching(strings.ReplaceAll(text, "$rate", s.rate))) }))
	}
}

// call is the value of a function.
func (c *compiler) call(call *ast.CallExpr) value {
	id, ok := call.Fun.(*ast.Ident)
	if !ok {
		StopOn(fmt.Errorf("no such function"))
	}
	texts := func(n int) (words []string) {
		for _, a := range call.Args {
			if l, ok := a.(*ast.BasicLit); ok && l.Kind == token.STRING {
				text, _ := strconv.Unquote(l.Value) // it was parsed
				words = append(words, text)
			}
		}
		if len(words) != len(call.Args) || len(words) != n {
			StopOn(fmt.Errorf("%s takes %d texts", id.Name, n))
		}
		return words
	}
	if form, ok := armFunctions[id.Name]; ok {
		for i, word := range texts(1 + strings.Count(form, ", $2\"")) {
			form = strings.ReplaceAll(form, fmt.Sprintf("$%d", i+1), word)
		}
		return c.value(Must(parser.ParseExpr(form)))
	}
	if u, ok := c.lib.Units[id.Name]; ok {
		words := texts(u.Texts)
		return func(s scope) [][]float64 {
			texts := stats.Map(words, func(text string) string { return strings.ReplaceAll(text, "$rate", s.rate) })
			return stats.Map(u.Of(s.j, s.rates, texts), func(v float64) []float64 { return []float64{v} })
		}
	}
	f, special := own[id.Name]
	l, known := c.lib.list(id.Name)
	switch n := len(call.Args); {
	case special && n >= 1 && n <= f.most:
	case !special && known && (n == l.Arguments || l.Arguments < 0 && n >= 1):
	default:
		StopOn(fmt.Errorf("no function %s of %d values: %s", id.Name, n, c.lib.functionsHelp()))
	}
	args := stats.Map(call.Args, c.value)
	if special {
		return func(s scope) [][]float64 { return f.of(s, args) }
	}
	return applied(l.Of, args...)
}

// average are the means of lists, one per run, over the runs of a judge's units, entry by entry.
func (s scope) average(j *Judge, lists [][]float64) [][]float64 {
	out := make([][]float64, j.Independent())
	for u, group := range j.byWarmStart() {
		if len(group) == 1 {
			out[u] = lists[group[0]]
			continue
		}
		for k := range lists[group[0]] {
			var entry []float64
			for _, i := range group {
				if len(lists[i]) != len(lists[group[0]]) {
					panic(&FigureError{"a list", "has unequal lengths in the runs of a warm start: it needs each(...)"})
				}
				entry = append(entry, lists[i][k])
			}
			out[u] = append(out[u], stats.Average(entry))
		}
	}
	return out
}

// single is the scope in which every run is a unit.
func (s scope) single() scope {
	s.j = &Judge{Seeds: s.j.Seeds, Runs: s.j.Runs}
	return s
}

// overRates is the sum of an expression over the learning rates, run by run, divided by a number.
func (s scope) overRates(of value, by float64) [][]float64 {
	one := s.single()
	sum := one.constant(0)
	for _, rate := range s.rates {
		one.rate, one.rates = rate, []string{rate}
		sum = apply(func(x ...[]float64) []float64 { return combine(x[0], x[1], operators[token.ADD]) }, sum, of(one))
	}
	return s.average(s.j, apply(func(x ...[]float64) []float64 { return combine(x[0], []float64{by}, operators[token.QUO]) }, sum))
}

// ofRates is the mean of the entries of a list, one for each of the claim's learning rates, at those at hand.
func (s scope) ofRates(x ...[]float64) []float64 {
	mean := 0.0
	for _, rate := range s.rates {
		mean += x[0][slices.Index(s.all, rate)] / float64(len(s.rates))
	}
	return []float64{mean}
}

// constant is the same list in every unit.
func (s scope) constant(list ...float64) [][]float64 {
	out := make([][]float64, s.j.Independent())
	for i := range out {
		out[i] = list
	}
	return out
}

// first are the first entries.
func first(lists [][]float64) []float64 {
	return stats.Map(lists, func(x []float64) float64 { return x[0] })
}

// applied is a function of values.
func applied(of func(x ...[]float64) []float64, args ...value) value {
	return func(s scope) [][]float64 {
		return apply(of, stats.Map(args, func(a value) [][]float64 { return a(s) })...)
	}
}

// apply is a function of lists, unit by unit.
func apply(of func(x ...[]float64) []float64, args ...[][]float64) [][]float64 {
	out := make([][]float64, len(args[0]))
	for u := range out {
		out[u] = of(stats.Map(args, func(a [][]float64) []float64 { return a[u] })...)
	}
	return out
}

// combine is an operation entry by entry; a list of one entry goes with every entry of the other.
func combine(a, b []float64, of func(a, b float64) float64) []float64 {
	out := make([]float64, max(len(a), len(b)))
	if len(a) == 0 || len(b) == 0 {
		return nil
	}
	if len(a) != len(b) && len(a) != 1 && len(b) != 1 {
		panic(&FigureError{"a list", fmt.Sprintf("of %d entries meets one of %d", len(a), len(b))})
	}
	for i := range out {
		out[i] = of(a[min(i, len(a)-1)], b[min(i, len(b)-1)])
	}
	return out
}

// place is the place in a list that an index means.
func place(x []float64, k int) int {
	if k < 0 {
		k += len(x)
	}
	if k < 0 || k >= len(x) {
		panic(&FigureError{"a list", fmt.Sprintf("of %d entries has none at %d", len(x), k)})
	}
	return k
}

// clamped is the place that the end of a part means, the nearest one where a list is too short.
func clamped(x []float64, k int) int {
	if k < 0 {
		k += len(x)
	}
	return max(min(k, len(x)), 0)
}

// constantIndex reads an index: a whole number.
func constantIndex(n ast.Expr) int {
	sign := 1
	if u, ok := n.(*ast.UnaryExpr); ok && u.Op == token.SUB {
		n, sign = u.X, -1
	}
	if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.INT {
		if k, err := strconv.Atoi(l.Value); err == nil {
			return sign * k
		}
	}
	return Must(0, fmt.Errorf("an index is a whole number"))
}

// truth is 1 for true.
func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// operators round their results, so that no product is fused with a sum; a comparison is 1 or 0.
var operators = map[token.Token]func(a, b float64) float64{
	token.ADD: func(a, b float64) float64 { return float64(a + b) },
	token.SUB: func(a, b float64) float64 { return float64(a - b) },
	token.MUL: func(a, b float64) float64 { return float64(a * b) },
	token.QUO: func(a, b float64) float64 { return float64(a / b) },
	token.LSS: func(a, b float64) float64 { return truth(a < b) },
	token.GTR: func(a, b float64) float64 { return truth(a > b) },
	token.EQL: func(a, b float64) float64 { return truth(a == b) },
	token.LEQ: func(a, b float64) float64 { return truth(a <= b) },
	token.GEQ: func(a, b float64) float64 { return truth(a >= b) },
}

// own are the functions with a meaning of their own, and how many values they take at most.
var own = map[string]struct {
	most int
	of   func(s scope, x []value) [][]float64
}{
	"each":    {1, func(s scope, x []value) [][]float64 { return s.average(s.j, x[0](s.single())) }},
	"rates":   {1, func(s scope, x []value) [][]float64 { return s.overRates(x[0], float64(len(s.rates))) }},
	"total":   {1, func(s scope, x []value) [][]float64 { return s.overRates(x[0], 1) }},
	"ofRates": {1, func(s scope, x []value) [][]float64 { return s.average(s.j, apply(s.ofRates, x[0](s.single()))) }},
	"units":   {1, func(s scope, x []value) [][]float64 { return s.constant(float64(len(x[0](s)))) }},
	"least":   {1, func(s scope, x []value) [][]float64 { return s.constant(slices.Min(first(x[0](s)))) }},
	"overall": {1, func(s scope, x []value) [][]float64 { return s.constant(stats.Average(first(x[0](s)))) }},
	"kendall": {2, func(s scope, x []value) [][]float64 { return s.constant(stats.Kendall(first(x[0](s)), first(x[1](s)))) }},
	"interval": {2, func(s scope, x []value) [][]float64 {
		i := stats.T(first(x[0](s)))
		if len(x) == 2 {
			i = stats.TRatio(first(x[0](s)), first(x[1](s)))
		}
		return s.constant(i.Estimate, i.Low, i.High)
	}},
}

// functionsHelp lists what expressions can call.
func (lib *Library) functionsHelp() string {
	names := slices.Concat(slices.Collect(maps.Keys(own)), slices.Collect(maps.Keys(listFunctions)), slices.Collect(maps.Keys(armFunctions)),
		slices.Collect(maps.Keys(lib.Lists)), slices.Collect(maps.Keys(lib.Units)))
	slices.Sort(names)
	return "the functions are " + strings.Join(names, ", ")
}

// records reports whether a figure is listed, or is of an arm: what it records, or its pass rates and columns.
func (f *file) records(name string) bool {
	if slices.ContainsFunc(f.Figures, func(pattern string) bool { return fits(pattern, name) }) {
		return true
	}
	t := &f.Training
	for i := range t.Arms {
		a := &t.Arms[i]
		for _, rate := range t.ratesOf(a) {
			arm := AtLR(a.Name, rate)
			if t.Record == nil && (name == arm || slices.ContainsFunc(t.columnsOf(a), func(column string) bool { return name == ArmColumn(arm, column) })) ||
				slices.ContainsFunc(t.Record, func(f recorded) bool { own, ok := f.figure(a, rate); return ok && own == name }) {
				return true
			}
		}
	}
	return false
}
