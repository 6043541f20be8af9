package diagnose

import (
	"math"
	"slices"

	"driftlab/precision/elementary"
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

// regress fits a regression over the coordinates named to points with shares.
func regress(points [][]float64, shares []float64, names []string) (regression, bool) {
	r := regression{Coordinates: names}
	var at []int
	for _, name := range names {
		at = append(at, slices.IndexFunc(coordinates, func(c coordinate) bool { return c.name == name }))
	}
	var rows [][]float64
	var goal []float64
	for i, x := range points {
		row := make([]float64, len(at))
		for k, c := range at {
			row[k] = x[c]
		}
		if !slices.ContainsFunc(row, math.IsNaN) {
			rows, goal = append(rows, row), append(goal, shares[i])
		}
	}
	if len(rows) < 4*len(at) {
		return r, false
	}
	for k := range at {
		var m moments
		for _, row := range rows {
			m.add(row[k], 0)
		}
		xx, _, _ := m.centred()
		n := float64(m.n)
		r.Mean, r.Deviation = append(r.Mean, m.x/n), append(r.Deviation, math.Sqrt(max(xx/n, 1e-12)))
	}
	var terms [][]float64
	for _, row := range rows {
		terms = append(terms, r.terms(row))
	}
	n := len(terms[0])
	normal, right := matrix(n), make([]float64, n)
	for i, row := range terms {
		s := bounded + float64((1-2*bounded)*goal[i])
		y := elementary.Log(s / (1 - s))
		for a := range n {
			right[a] += float64(row[a] * y)
			for b := range n {
				normal[a][b] += float64(row[a] * row[b])
			}
		}
	}
	for a := 1; a < n; a++ {
		normal[a][a] += ridge
	}
	root, ok := cholesky(normal)
	if !ok {
		return r, false
	}
	for i := range n { // forwards, then backwards
		for k := range i {
			right[i] -= float64(root[i][k] * right[k])
		}
		right[i] /= root[i][i]
	}
	for i := n - 1; i >= 0; i-- {
		for k := i + 1; k < n; k++ {
			right[i] -= float64(root[k][i] * right[k])
		}
		right[i] /= root[i][i]
	}
	r.Weight = right
	return r, true
}

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
