package stats

import "math"

// Slope is the least-squares slope of y on x.
func Slope(x, y []float64) float64 {
	paired("Slope", x, y)
	xx, xy, _ := moments(x, y)
	return xy / xx
}

// RSquared is the share of the variance of y that a straight line over x explains.
func RSquared(x, y []float64) float64 {
	paired("RSquared", x, y)
	xx, xy, yy := moments(x, y)
	return xy / xx * (xy / yy)
}

// Spearman is the rank correlation, ties at their mean rank; NaN if either
// side is constant.
func Spearman(x, y []float64) float64 {
	paired("Spearman", x, y)
	xx, xy, yy := moments(ranks(x), ranks(y))
	return xy / math.Sqrt(xx*yy)
}

// Kendall is the rank correlation tau-a: concordant minus discordant pairs, over
// all pairs.
func Kendall(x, y []float64) float64 {
	paired("Kendall", x, y)
	balance, pairs := 0, len(x)*(len(x)-1)/2
	for i := range x {
		for j := range i {
			if (x[i] < x[j]) == (y[i] < y[j]) {
				balance++
			} else {
				balance--
			}
		}
	}
	return float64(balance) / float64(pairs)
}

// moments are the sums of squares and products about the means.
func moments(x, y []float64) (xx, xy, yy float64) {
	mx, my := Average(x), Average(y)
	for i := range x {
		dx, dy := x[i]-mx, y[i]-my
		xx, xy, yy = xx+float64(dx*dx), xy+float64(dx*dy), yy+float64(dy*dy)
	}
	return xx, xy, yy
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
