package study

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"driftlab/results/figure"
	"driftlab/results/record"
	"driftlab/results/stats"
)

// lines draws a curve for each value of a factor and, in it, one for each seed: the
// mean over the points with that value.
func (v *view) lines(f IndexFactor, metric, unit string, curve func(*Outcome) (x, y []float64)) figure.Figure {
	c := figure.Figure{Kind: figure.Lines, Title: metric + " by " + f.Name, Metric: unit, X: figure.Axis{Label: "step"}}
	for i, value := range f.Values {
		arm := figure.Series{Name: value, Slot: i + 1}
		list := v.having(map[string]string{f.Name: value})
		for _, seed := range v.Seeds {
			if one := meanCurve(list, seed, curve); len(one.X) > 0 {
				arm.Seeds = append(arm.Seeds, one)
			}
		}
		if len(arm.Seeds) > 0 {
			c.Series = append(c.Series, arm)
		}
	}
	return c
}

// meanCurve is the mean over the outcomes of a seed, at every step that one has.
func meanCurve(list []*Row, seed uint64, curve func(*Outcome) (x, y []float64)) figure.Series {
	at := map[float64][]float64{}
	c := figure.Series{Name: fmt.Sprintf("seed %d", seed)}
	for _, o := range list {
		if o.Seed != seed {
			continue
		}
		x, y := curve(&o.Outcome)
		for i := range x {
			if _, there := at[x[i]]; !there {
				c.X = append(c.X, x[i])
			}
			at[x[i]] = append(at[x[i]], y[i])
		}
	}
	slices.Sort(c.X)
	for _, x := range c.X {
		c.Y = append(c.Y, stats.Average(at[x]))
	}
	return c
}

// doses draws the outcome of runs against a numeric factor, a line for each
// value of the first other factor that has few of them; nil for a factor of words.
func (v *view) doses(i int, f IndexFactor) *figure.Figure {
	x := numbers(f.Values)
	if x == nil {
		return nil
	}
	c := &figure.Figure{Kind: figure.Lines, Title: "Final " + v.metric() + " by " + f.Name, X: figure.Axis{Label: f.Name}, Y: figure.Axis{High: 1}}
	other := IndexFactor{Values: []string{"all"}}
	for k, o := range v.Factors {
		if k != i && len(o.Values) > 1 && len(o.Values) <= mostLines {
			other = o
			break
		}
	}
	for k, value := range other.Values {
		arm := figure.Series{Name: value, Slot: k + 1}
		for _, seed := range v.Seeds {
			curve := figure.Series{Name: fmt.Sprintf("seed %d", seed)}
			for _, j := range stats.Order(x) {
				want := map[string]string{f.Name: f.Values[j]}
				if other.Name != "" {
					want[other.Name] = value
				}
				list := slices.DeleteFunc(v.having(want), func(o *Row) bool { return o.Seed != seed })
				if y := average(list, func(o *Outcome) record.Number { return o.Final }); !math.IsNaN(y) {
					curve.X, curve.Y = append(curve.X, x[j]), append(curve.Y, y)
				}
			}
			if len(curve.X) > 0 {
				arm.Seeds = append(arm.Seeds, curve)
			}
		}
		if len(arm.Seeds) > 0 {
			c.Series = append(c.Series, arm)
		}
	}
	return c
}

// numbers are values that are all numbers, at least two; nil for any other.
func numbers(values []string) (list []float64) {
	for _, v := range values {
		x, err := strconv.ParseFloat(v, 64)
		if err != nil || len(values) < 2 {
			return nil
		}
		list = append(list, x)
	}
	return list
}

// maps draws the means of each two factors.
func (v *view) maps() (list []*figure.Figure) {
	for i, a := range v.Factors {
		for _, b := range v.Factors[i+1:] {
			if len(a.Values) < 2 || len(b.Values) < 2 {
				continue
			}
			rows, columns := a, b
			if len(columns.Values) > len(rows.Values) {
				rows, columns = b, a // a page is narrow and long
			}
			if len(columns.Values) > mostLines {
				continue
			}
			h := &figure.Figure{Kind: figure.Heat, Title: fmt.Sprintf("Mean %s: %s by %s", v.metric(), rows.Name, columns.Name), Labels: columns.Values, Full: 1,
				Y: figure.Axis{Label: "Mean over all evaluations after the start, over seeds and over what else is varied."}}
			for _, r := range rows.Values {
				line := stats.Map(columns.Values, func(c string) float64 {
					return average(v.having(map[string]string{rows.Name: r, columns.Name: c}), func(o *Outcome) record.Number { return o.Mean })
				})
				h.Series = append(h.Series, figure.Series{Name: r, Y: line})
			}
			v.pictures = append(v.pictures, Picture{"map-" + fileName(rows.Name) + "-" + fileName(columns.Name), h, []string{".svg"}})
			list = append(list, h)
		}
	}
	return list
}
