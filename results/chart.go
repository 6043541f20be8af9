package results

import (
	"math"
	"slices"

	"driftlab/results/figure"
	"driftlab/results/stats"
)

// chart is a figure of lines or of dots. Lines that are faint are the seeds of one line.
type chart struct {
	*figure.Figure
	lines []figure.Series
}

func newChart(f *figure.Figure) *chart {
	c := &chart{Figure: f}
	faint := figure.Series{Name: "recorded seeds"}
	for _, s := range f.Series {
		if s.Faint {
			faint.Seeds = append(faint.Seeds, s)
		} else {
			c.lines = append(c.lines, s)
		}
	}
	if faint.Seeds != nil {
		c.lines = append(c.lines, faint)
	}
	return c
}

// slot is the palette place of arm i, from 0.
func (c *chart) slot(i int) int {
	if s := c.lines[i].Slot; s > 0 {
		return s - 1
	}
	return i
}

// mostBands is how many bands a reader can tell from each other.
const mostBands = 4

// banded reports whether bands are drawn unasked.
func (c *chart) banded() bool { return len(c.lines) <= mostBands }

// empty says in words what would be an empty axis, or one with nothing but a
// line at zero; it is empty itself for every other chart.
func (c *chart) empty() string {
	some, zero := false, true
	for _, a := range c.lines {
		for _, s := range a.Curves() {
			for _, y := range s.Y {
				switch {
				case !finite(y):
				case y > 0, y < 0 && !c.Y.Log:
					return ""
				default:
					some, zero = true, zero && y == 0
				}
			}
		}
	}
	switch {
	case !some:
		return "no data"
	case zero:
		return "exactly 0 throughout"
	}
	return "never above 0"
}

// point is what the seeds of an arm say together at one X.
type point struct {
	X float64
	// N counts the seeds with a finite value here.
	N int
	// Mean is NaN unless every seed of the arm has a value: a mean over the
	// survivors would hide the seeds that stopped.
	Mean float64
	// Low and High bound the band over the seeds that have a value; NaN where it is not defined.
	Low, High float64
}

// pointsOf merges the seeds of an arm: one point for each X at which any seed has
// an entry, in increasing order. An X that is not finite is nowhere.
func pointsOf(a *figure.Series, band figure.Band) []point {
	var xs []float64
	seeds := a.Curves()
	for _, s := range seeds {
		xs = append(xs, s.X...)
	}
	xs = slices.DeleteFunc(xs, func(x float64) bool { return !finite(x) })
	slices.Sort(xs)
	xs = slices.Compact(xs)
	points := make([]point, len(xs))
	at := make([]int, len(seeds)) // next entry of each seed
	values := make([]float64, 0, len(seeds))
	for i, x := range xs {
		values = values[:0]
		for k, s := range seeds {
			// A repeated X keeps its last entry, as a record does.
			for ; at[k] < len(s.X) && !(s.X[at[k]] > x); at[k]++ {
				if s.X[at[k]] == x && finite(s.Y[at[k]]) {
					values = append(values, s.Y[at[k]])
				}
			}
		}
		points[i] = summarise(x, values, len(seeds), band)
	}
	return points
}

// dotsOf are the dots of a cloud, in their order.
func dotsOf(s *figure.Series) []point {
	var dots []point
	for i, x := range s.X {
		if finite(x) && finite(s.Y[i]) {
			dots = append(dots, summarise(x, s.Y[i:i+1], 1, figure.BandNone))
		}
	}
	return dots
}

// summarise is one point of an arm with the given number of seeds.
func summarise(x float64, values []float64, seeds int, band figure.Band) point {
	p := point{X: x, N: len(values), Mean: math.NaN(), Low: math.NaN(), High: math.NaN()}
	if p.N == 0 {
		return p
	}
	if p.N == seeds {
		p.Mean = stats.Average(values)
	}
	switch {
	case band == figure.BandRange:
		p.Low, p.High = slices.Min(values), slices.Max(values)
	case band == figure.Band95 && p.N > 1:
		interval := stats.T(values)
		p.Low, p.High = interval.Low, interval.High
	}
	return p
}

// finite reports whether v is a number that can be drawn.
func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// notDrawn counts the values of the chart that its axes cannot show: those
// that are not finite and, on a log axis, those at or below zero.
func (c *chart) notDrawn() (notFinite, notPositive int) {
	for _, a := range c.lines {
		for _, s := range a.Curves() {
			for _, y := range s.Y {
				if !finite(y) {
					notFinite++
				} else if c.Y.Log && y <= 0 {
					notPositive++
				}
			}
		}
	}
	return notFinite, notPositive
}
