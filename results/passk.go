package results

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"driftlab/precision/elementary"
	"driftlab/results/figure"
	"driftlab/results/record"
	"driftlab/results/stats/passk"
)

// The metrics of an evaluation with several samples per prompt.
const (
	passOne   = "val/learner/pass_rate"
	passAtK   = "val/learner/pass@"
	passAlpha = "val/learner/pass_beta/alpha"
	passBeta  = "val/learner/pass_beta/beta"
)

// farthestK is how far pass@k is drawn beyond the samples, by the fitted Beta
// distribution.
const farthestK = 1024

// PassAtKOf draws pass@k over k: of one group before training and at its end, of
// several at their ends. What was counted is one line; another goes on from there by
// the Beta distribution of the prompts' pass rates. Without several samples per
// prompt the chart has no arms.
func PassAtKOf(groups []RunGroup) figure.Figure {
	c := figure.Figure{Kind: figure.Lines, Title: "Pass@k", X: figure.Axis{Label: "k, as a power of two"}, Y: figure.Axis{Label: "share of prompts solved within k responses", High: 1},
		Note: "Unbiased estimate from counts up to the number of samples; beyond it, from the Beta distribution fitted to the prompts' pass rates (simulate methods recipe, eval.samples)."}
	for _, g := range groups {
		for _, end := range endsOf(g, len(groups)) {
			slot := len(c.Series)/2 + 1
			counted, fitted := figure.Series{Name: end.name, Slot: slot}, figure.Series{Name: end.name + ", fitted", Slot: slot}
			for _, r := range g.Runs {
				a, b := passCurves(r, end.at)
				if len(a.X) > 0 {
					counted.Seeds, fitted.Seeds = append(counted.Seeds, a), append(fitted.Seeds, b)
				}
			}
			if len(counted.Seeds) > 0 {
				c.Series = append(c.Series, counted, fitted)
			}
		}
	}
	return c
}

// end is an evaluation of a run: its name in a chart, and its place in a column that
// every evaluation has.
type end struct {
	name string
	at   func(*record.Column) int
}

// endsOf are the evaluations that a chart of so many groups shows: those before and
// after training of one alone, the last ones of several.
func endsOf(g RunGroup, groups int) []end {
	last := end{g.Name, func(c *record.Column) int { return len(c.Value) - 1 }}
	if groups > 1 {
		return []end{last}
	}
	last.name = "at the end"
	return []end{{"before training", func(*record.Column) int { return 0 }}, last}
}

// passCurves are pass@k of a run's evaluation, counted and beyond.
func passCurves(r *record.Record, at func(*record.Column) int) (counted, fitted figure.Series) {
	counted.Name = fmt.Sprintf("seed %d", r.Seed)
	fitted.Name = counted.Name
	alpha, beta, one := r.Column(passAlpha), r.Column(passBeta), r.Column(passOne)
	if alpha == nil || beta == nil || one == nil {
		return counted, fitted
	}
	i := at(alpha)
	counted.X, counted.Y = []float64{0}, []float64{one.Value[i]}
	samples := 1
	for _, column := range r.Columns {
		if k, err := strconv.Atoi(strings.TrimPrefix(column.Name, passAtK)); err == nil && k > samples {
			samples = k
			counted.X, counted.Y = append(counted.X, logTwo(k)), append(counted.Y, column.Value[i])
		}
	}
	fit := passk.Beta{Alpha: alpha.Value[i], Beta: beta.Value[i]}
	for k := samples; k <= farthestK; k *= 2 {
		fitted.X, fitted.Y = append(fitted.X, logTwo(k)), append(fitted.Y, fit.PassAt(k))
	}
	return counted, fitted
}

func logTwo(k int) float64 { return elementary.Log(float64(k)) / math.Ln2 }

// passFamilies are pass rates that an evaluation with several samples per prompt sorts
// by something.
var passFamilies = []struct{ prefix, title, by, caption string }{
	{"val/learner/pass_rate_at/", "Pass rate by difficulty", "difficulty", "Held-out prompts, by the difficulty of the task."},
	{"val/learner/pass_rate_of_length/", "Pass rate by length", "tokens, up to", "Responses by length, in eighths of the maximum length."},
}

// passRatesOf draws pass rates by difficulty and by length, before and after training
// as PassAtKOf does. Without several samples per prompt there are no charts.
func passRatesOf(groups []RunGroup) []figure.Figure {
	var charts []figure.Figure
	for _, f := range passFamilies {
		c := figure.Figure{Kind: figure.Lines, Title: f.title, X: figure.Axis{Label: f.by}, Y: figure.Axis{Label: "pass rate", High: 1}, Note: f.caption}
		for _, g := range groups {
			for _, end := range endsOf(g, len(groups)) {
				arm := figure.Series{Name: end.name, Slot: len(c.Series) + 1}
				for _, r := range g.Runs {
					if curve := ratesBy(r, f.prefix, end.at); len(curve.X) > 0 {
						arm.Seeds = append(arm.Seeds, curve)
					}
				}
				if len(arm.Seeds) > 0 {
					c.Series = append(c.Series, arm)
				}
			}
		}
		if len(c.Series) > 0 {
			charts = append(charts, c)
		}
	}
	return charts
}

// ratesBy are the values of a family of columns at one evaluation of a run, by the
// number that ends their names. A column may lack the evaluation.
func ratesBy(r *record.Record, prefix string, at func(*record.Column) int) figure.Series {
	curve := figure.Series{Name: fmt.Sprintf("seed %d", r.Seed)}
	one := r.Column(passOne)
	if one == nil || len(one.Value) == 0 {
		return curve
	}
	var points [][2]float64
	for i := range r.Columns {
		column := &r.Columns[i]
		x, err := strconv.Atoi(strings.TrimPrefix(column.Name, prefix))
		if !strings.HasPrefix(column.Name, prefix) || err != nil {
			continue
		}
		if y, ok := column.At(one.Step[at(one)]); ok {
			points = append(points, [2]float64{float64(x), y})
		}
	}
	slices.SortFunc(points, func(a, b [2]float64) int { return int(a[0] - b[0]) })
	for _, p := range points {
		curve.X, curve.Y = append(curve.X, p[0]), append(curve.Y, p[1])
	}
	return curve
}
