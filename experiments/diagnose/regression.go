package diagnose

import (
	"math"
	"slices"
)

// regression predicts staleness' part of what of a gap is not jumps: its log-odds are linear
// in the coordinates named, and their squares.
type regression struct {
	Coordinates []string  `json:"coordinates"`
	Mean        []float64 `json:"mean"`
	Deviation   []float64 `json:"deviation"`
	Weight      []float64 `json:"weight"` // of the constant first
}

// ridge is the weight of the penalty, bounded how near to 0 and 1 shares are taken to come.
const (
	ridge   = 1.0
	bounded = 0.03
)

// terms are the constant, the standardised coordinates and their products, as far as three deviations.
func (r regression) terms(x []float64) []float64 {
	z := make([]float64, len(x))
	for k, v := range x {
		z[k] = max(-3, min(3, (v-r.Mean[k])/r.Deviation[k]))
	}
	list := append([]float64{1}, z...)
	for i, a := range z {
		for _, b := range z[:i+1] {
			list = append(list, a*b)
		}
	}
	return list
}

// logit predicts the log-odds, false where a coordinate is missing.
func (r regression) logit(point []float64) (float64, bool) {
	x := make([]float64, len(r.Coordinates))
	for k, name := range r.Coordinates {
		x[k] = point[slices.IndexFunc(coordinates, func(c coordinate) bool { return c.name == name })]
	}
	if slices.ContainsFunc(x, math.IsNaN) {
		return 0, false
	}
	logit := 0.0
	for k, t := range r.terms(x) {
		logit += float64(r.Weight[k] * t)
	}
	return logit, true
}

// unbounded is a share as it was before the regression bounded it.
func unbounded(s float64) float64 { return max(0, min(1, (s-bounded)/(1-2*bounded))) }
