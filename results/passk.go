package results

import (
	"fmt"
	"math"
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

// logTwo is log₂ k.
func logTwo(k int) float64 { return elementary.Log(float64(k)) / math.Ln2 }
