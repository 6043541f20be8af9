package routing

import (
	"math"

	"driftlab/experiments/stats"
	"driftlab/precision/elementary"
)

// fitExcess is the least-squares fit, in logarithms, of a law that adds to a
// known floor,
//
//	y = exp(β_0 + Σ_k β_k·x_k) + floor,
//
// by Gauss's and Newton's method with halved steps. It returns β, or NaN where
// the columns do not determine it.
func fitExcess(y, floor []float64, x ...[]float64) []float64 {
	n := len(x) + 1
	columns := make([][]float64, n)
	for k := range columns {
		columns[k] = make([]float64, len(y))
	}
	// Begin where the law is a tenth at least of what is there.
	net := make([]float64, len(y))
	for i, v := range y {
		net[i] = elementary.Log(max(v-floor[i], v/10))
	}
	intercept, slopes := stats.Regress(net, x...)
	beta := append([]float64{intercept}, slopes...)
	residuals, sum := excessResiduals(beta, y, floor, x, columns)
	for range 60 {
		step, ok := stats.Solve(columns, residuals)
		if !ok {
			return stats.Each(beta, func(float64) float64 { return math.NaN() })
		}
		moved := false
		for size := 1.0; size > 1e-6 && !moved; size /= 2 {
			next := make([]float64, n)
			for k := range next {
				next[k] = beta[k] + float64(size*step[k])
			}
			if r, s := excessResiduals(next, y, floor, x, columns); s < sum {
				moved = s < sum*(1-1e-12)
				beta, residuals, sum = next, r, s
			}
		}
		if !moved {
			break
		}
	}
	return beta
}

// excessResiduals are log y less the law's, with the law's derivatives in
// columns, and their sum of squares.
func excessResiduals(beta, y, floor []float64, x, columns [][]float64) (residuals []float64, sum float64) {
	residuals = make([]float64, len(y))
	for i, v := range y {
		at := beta[0]
		for k := range x {
			at += float64(beta[k+1] * x[k][i])
		}
		law := elementary.Exp(at)
		whole := law + floor[i]
		residuals[i] = elementary.Log(v) - elementary.Log(whole)
		sum += float64(residuals[i] * residuals[i])
		columns[0][i] = law / whole
		for k := range x {
			columns[k+1][i] = law / whole * x[k][i]
		}
	}
	return residuals, sum
}
