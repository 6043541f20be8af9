package results

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"driftlab/results/figure"
	"driftlab/results/record"
)

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
