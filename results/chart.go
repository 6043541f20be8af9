package results

import (
	"math"
	"slices"

	"driftlab/results/stats"
)

// Band is what the shaded region around a mean curve shows.
type Band int

// Bands.
const (
	// BandRange runs from the lowest to the highest seed. With three seeds it
	// is the honest choice: every seed is inside it.
	BandRange Band = iota
	// Band95 is the 95% confidence interval of the mean by Student's t, which needs two seeds.
	Band95
	// BandNone draws the mean alone.
	BandNone
)

// String names the band for a caption.
func (b Band) String() string {
	return [...]string{"lowest to highest seed", "95% interval of the mean", "none"}[b]
}

// Curve is one seed of an arm: Y at increasing X. A value that is not finite
// is a gap.
type Curve struct {
	// Name says which seed, for the reader who hovers; may be empty.
	Name string
	X, Y []float64
}

// Arm is one line of a chart with its seeds.
type Arm struct {
	Name string
	// Slot is the arm's place in the palette, from 1, so that an arm keeps its
	// colour in every chart of a report; 0 takes the place in the chart.
	Slot  int
	Seeds []Curve
}

// Reference is a horizontal line to compare with, such as a matched run's level.
type Reference struct {
	Name string
	Y    float64
}

// Chart is a set of curves over one axis, for a plot or for the report.
type Chart struct {
	// Title says what is shown; Metric, the name on record, may follow it.
	Title, Metric string
	// XLabel and YLabel name the axes, with units where there are any.
	XLabel, YLabel string
	// LogY draws the y axis in decades; values at or below zero cannot be drawn and are counted.
	LogY bool
	// YRange fixes the y axis; two zeros leave it to the data.
	YRange [2]float64
	// Band is what surrounds the means.
	Band Band
	// Arms are the lines, in the order of the legend.
	Arms []Arm
	// References are drawn dashed.
	References []Reference
	// Most bounds the values that a page carries for the chart, which then draws
	// only every n-th step; 0 for all.
	Most int
	// Caption explains the chart in a sentence or two; may be empty.
	Caption string
}

// slot is the palette place of arm i, from 0.
func (c *Chart) slot(i int) int {
	if s := c.Arms[i].Slot; s > 0 {
		return s - 1
	}
	return i
}

// mostBands is how many bands a reader can tell from each other.
const mostBands = 4

// banded reports whether bands are drawn unasked.
func (c *Chart) banded() bool { return len(c.Arms) <= mostBands }

// empty says in words what would be an empty axis, or one with nothing but a
// line at zero; it is empty itself for every other chart.
func (c *Chart) empty() string {
	some, zero := false, true
	for _, a := range c.Arms {
		for _, s := range a.Seeds {
			for _, y := range s.Y {
				switch {
				case !finite(y):
				case y > 0, y < 0 && !c.LogY:
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

// Point is what the seeds of an arm say together at one X.
type Point struct {
	X float64
	// N counts the seeds with a finite value here.
	N int
	// Mean is NaN unless every seed of the arm has a value: a mean over the
	// survivors would hide the seeds that stopped.
	Mean float64
	// Low and High bound the band over the seeds that have a value; NaN where it is not defined.
	Low, High float64
}

// Points merges the seeds of an arm: one point for each X at which any seed has
// an entry, in increasing order. An X that is not finite is nowhere.
func (a *Arm) Points(band Band) []Point {
	var xs []float64
	for _, s := range a.Seeds {
		xs = append(xs, s.X...)
	}
	xs = slices.DeleteFunc(xs, func(x float64) bool { return !finite(x) })
	slices.Sort(xs)
	xs = slices.Compact(xs)
	points := make([]Point, len(xs))
	at := make([]int, len(a.Seeds)) // next entry of each seed
	values := make([]float64, 0, len(a.Seeds))
	for i, x := range xs {
		values = values[:0]
		for k, s := range a.Seeds {
			// A repeated X keeps its last entry, as a record does.
			for ; at[k] < len(s.X) && !(s.X[at[k]] > x); at[k]++ {
				if s.X[at[k]] == x && finite(s.Y[at[k]]) {
					values = append(values, s.Y[at[k]])
				}
			}
		}
		points[i] = summarise(x, values, len(a.Seeds), band)
	}
	return points
}

// summarise is one point of an arm with the given number of seeds.
func summarise(x float64, values []float64, seeds int, band Band) Point {
	p := Point{X: x, N: len(values), Mean: math.NaN(), Low: math.NaN(), High: math.NaN()}
	if p.N == 0 {
		return p
	}
	if p.N == seeds {
		p.Mean = stats.Average(values)
	}
	switch {
	case band == BandRange:
		p.Low, p.High = slices.Min(values), slices.Max(values)
	case band == Band95 && p.N > 1:
		interval := stats.T(values)
		p.Low, p.High = interval.Low, interval.High
	}
	return p
}

// finite reports whether v is a number that can be drawn.
func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// NotDrawn counts the values of the chart that its axes cannot show: those
// that are not finite and, on a log axis, those at or below zero.
func (c *Chart) NotDrawn() (notFinite, notPositive int) {
	for _, a := range c.Arms {
		for _, s := range a.Seeds {
			for _, y := range s.Y {
				if !finite(y) {
					notFinite++
				} else if c.LogY && y <= 0 {
					notPositive++
				}
			}
		}
	}
	return notFinite, notPositive
}
