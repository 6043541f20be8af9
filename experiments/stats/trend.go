package stats

import (
	"gonum.org/v1/gonum/stat"
)

// Slope is the least-squares slope of y on x.
func Slope(x, y []float64) float64 {
	paired("Slope", x, y)
	_, slope := stat.LinearRegression(x, y, nil, false)
	return slope
}

// RSquared is the share of the variance of y that a straight line over x explains.
func RSquared(x, y []float64) float64 {
	paired("RSquared", x, y)
	a, b := stat.LinearRegression(x, y, nil, false)
	return stat.RSquared(x, y, nil, a, b)
}

// Spearman is the rank correlation, ties at their mean rank; NaN if either
// side is constant.
func Spearman(x, y []float64) float64 {
	paired("Spearman", x, y)
	return stat.Correlation(ranks(x), ranks(y), nil)
}

// Kendall is the rank correlation tau-a: concordant minus discordant pairs, over
// all pairs.
func Kendall(x, y []float64) float64 {
	paired("Kendall", x, y)
	return stat.Kendall(x, y, nil)
}

// ranks returns the rank of each value, from 1, ties at their mean.
func ranks(x []float64) []float64 {
	order := Order(x)
	out := make([]float64, len(x))
	for i := 0; i < len(order); {
		j := i
		for j < len(order) && x[order[j]] == x[order[i]] {
			j++
		}
		for _, at := range order[i:j] {
			out[at] = float64(i+j+1) / 2
		}
		i = j
	}
	return out
}
