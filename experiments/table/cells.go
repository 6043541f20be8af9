package table

import (
	"fmt"
	"math"
	"strconv"

	"driftlab/results/figure"
	"driftlab/results/stats"
)

// interval is an estimate with its ends, which are NaN where one seed makes none.
func interval(i stats.Interval) []float64 {
	if i.N < 2 {
		return []float64{i.Estimate, math.NaN(), math.NaN()}
	}
	return []float64{i.Estimate, i.Low, i.High}
}

// rounded is a number to four decimals: the pass rates are of some hundred prompts.
func rounded(v float64) figure.Cell {
	if !math.IsNaN(v) && !math.IsInf(v, 0) {
		v = math.Round(v*1e4) / 1e4
	}
	return figure.Number(v, 3)
}

// number heads a column of figures.
func number(name string) figure.Column {
	return figure.Column{Name: name, Align: figure.Right}
}

// count is a whole number.
func count(n int) figure.Cell {
	return figure.Cell{Text: strconv.Itoa(n), Value: float64(n), Numeric: true}
}

// signed is a difference of pass rates, hundredths is a distance of some.
func signed(v float64) figure.Cell {
	return figure.Cell{Text: fmt.Sprintf("%+.2f", v), Value: v, Numeric: true}
}

func hundredths(v float64) figure.Cell {
	return figure.Cell{Text: fmt.Sprintf("%.2f", v), Value: v, Numeric: true}
}

// between are the ends of an interval, empty if there is none.
func between(i stats.Interval) figure.Cell {
	if i.N < 2 {
		return figure.Cell{}
	}
	return figure.Word(fmt.Sprintf("%+.2f to %+.2f", i.Low, i.High))
}
