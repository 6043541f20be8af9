package stats

import "math"

// Solve returns the x for which Σ_k columns[k]·x[k] comes nearest to b in the
// sum of squares, by Householder's reflections: the solution where there are as
// many columns as rows. It reports whether the columns determine x, and leaves
// them as they are.
func Solve(columns [][]float64, b []float64) (x []float64, ok bool) {
	n := len(columns)
	if n > len(b) {
		return nil, false
	}
	a := make([][]float64, n+1) // the last is b
	for k := range n {
		a[k] = append([]float64(nil), columns[k]...)
	}
	a[n] = append([]float64(nil), b...)
	diagonal := make([]float64, n)
	for k := range n {
		v, whole := a[k][k:], math.Sqrt(Dot(a[k], a[k]))
		size := math.Sqrt(Dot(v, v))
		if !(size > 1e-14*whole) {
			return nil, false
		}
		diagonal[k] = -math.Copysign(size, v[0])
		v[0] -= diagonal[k]
		square := Dot(v, v)
		for _, column := range a[k+1:] {
			scale := 2 * Dot(v, column[k:]) / square
			for i := range v {
				column[k+i] -= float64(scale * v[i])
			}
		}
	}
	x = a[n][:n]
	for k := n - 1; k >= 0; k-- {
		for j := k + 1; j < n; j++ {
			x[k] -= float64(a[j][k] * x[j])
		}
		x[k] /= diagonal[k]
	}
	return x, true
}
