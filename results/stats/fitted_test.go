package stats

import (
	"math"
	"testing"
)

// The interval of a fit without a column is Student's of the mean; that of a line has the textbook's closed form.
func TestFitted(t *testing.T) {
	y := []float64{1.3, 2.9, 2.1, 4.4, 4.2}
	mean := Fitted(y, nil, false, func(intercept float64, _ []float64) float64 { return intercept })
	want := T(y)
	for _, of := range [][2]float64{{mean.Estimate, want.Estimate}, {mean.Low, want.Low}, {mean.High, want.High}} {
		within(t, "the mean", of[0], of[1], 1e-12)
	}
	x, at := []float64{1, 2, 3, 5, 8}, 10.0
	line := Fitted(y, [][]float64{x}, true, func(intercept float64, slopes []float64) float64 { return intercept + slopes[0]*at })
	intercept, slopes := Regress(y, x)
	var squares, spread float64
	for i := range x {
		r := y[i] - intercept - slopes[0]*x[i]
		squares += r * r
		spread += (x[i] - Average(x)) * (x[i] - Average(x))
	}
	half := StudentQuantile(3) * math.Sqrt(squares/3*(1+1.0/5+(at-Average(x))*(at-Average(x))/spread))
	within(t, "the line", line.Estimate, intercept+slopes[0]*at, 1e-12)
	within(t, "half the interval", (line.High-line.Low)/2, half, 1e-12)
	if exact := Fitted(y[:2], [][]float64{x[:2]}, true, func(intercept float64, _ []float64) float64 { return intercept }); !math.IsNaN(exact.Low) {
		t.Errorf("two points on a line leave no residual, but the interval starts at %v", exact.Low)
	}
}
