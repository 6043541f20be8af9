package stats

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"driftlab/precision/elementary"
)

// Regress is the least-squares fit of y = intercept + Σ_k slopes[k]·x[k]. It
// panics where the columns do not determine it.
func Regress(y []float64, x ...[]float64) (intercept float64, slopes []float64) {
	ones := make([]float64, len(y))
	for i := range ones {
		ones[i] = 1
	}
	for _, column := range x {
		paired("Regress", column, y)
	}
	beta, ok := Solve(append([][]float64{ones}, x...), y)
	if !ok {
		panic(fmt.Sprintf("stats: Regress on %d columns of %d: they do not determine it", len(x), len(y)))
	}
	return beta[0], beta[1:]
}

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

// AUC is the area under the learning curve y at increasing x by the rule of the
// trapezium, divided by the width: the mean height, in the unit of y. One point
// is its own height. It panics on lengths that differ.
func AUC(x, y []float64) float64 {
	paired("AUC", x, y)
	if len(x) == 1 {
		return y[0]
	}
	area := 0.0
	for i := 1; i < len(x); i++ {
		area += float64((x[i] - x[i-1]) * (y[i-1] + y[i]) / 2)
	}
	return area / (x[len(x)-1] - x[0])
}

// Average is the arithmetic mean.
func Average(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return float64(sum / float64(len(x)))
}

// Deviation is the standard deviation, unbiased in its square.
func Deviation(x []float64) float64 {
	m, square := Average(x), 0.0
	for _, v := range x {
		square += float64((v - m) * (v - m))
	}
	return math.Sqrt(square / float64(len(x)-1))
}

// Quantile interpolates linearly between the order statistics of a sorted list that is not
// empty (R's type 7, and torch.quantile).
func Quantile(sorted []float64, q float64) float64 {
	at := float64(q * float64(len(sorted)-1))
	i := int(at)
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	a, b := sorted[i], sorted[i+1]
	share := at - float64(i)
	if a == b || share == 0 {
		return a // also infinities, whose difference is NaN
	}
	return a + float64((b-a)*share)
}

// Median is the middle value of a list, or the mean of the two middle ones.
func Median(x []float64) float64 {
	order := Order(x)
	n := len(x)
	return (x[order[(n-1)/2]] + x[order[n/2]]) / 2
}

// Each applies a function to each entry.
func Each(x []float64, of func(float64) float64) []float64 {
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = of(v)
	}
	return out
}

// Logs takes the natural logarithm of each entry.
func Logs(x []float64) []float64 { return Each(x, elementary.Log) }

// Magnitudes are the entries without their signs.
func Magnitudes(x []float64) []float64 { return Each(x, math.Abs) }

// Complement is 1 - x.
func Complement(x []float64) []float64 { return Each(x, func(v float64) float64 { return 1 - v }) }

// Negated is -x.
func Negated(x []float64) []float64 { return Each(x, func(v float64) float64 { return -v }) }

// Quotients are the quotients of the pairs.
func Quotients(a, b []float64) []float64 {
	q := make([]float64, len(a))
	for i := range a {
		q[i] = a[i] / b[i]
	}
	return q
}

// Max is the largest value; minus infinity for an empty list.
func Max(x []float64) float64 {
	m := math.Inf(-1)
	for _, v := range x {
		m = max(m, v)
	}
	return m
}

// Dot is the sum of the products.
func Dot(a, b []float64) float64 {
	sum := 0.0
	for i := range a {
		sum += float64(a[i] * b[i])
	}
	return sum
}

// Order returns the indices of x in increasing order of its values, equal ones
// in their own order.
func Order(x []float64) []int {
	order := make([]int, len(x))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(x[a], x[b]) })
	return order
}

// Edges are the inner edges of bins with equally many of the values.
func Edges(x []float64, bins int) []float64 {
	sorted := slices.Clone(x)
	slices.SortFunc(sorted, cmp.Compare[float64])
	edges := make([]float64, bins-1)
	for k := range edges {
		edges[k] = sorted[(k+1)*len(sorted)/bins]
	}
	return edges
}
