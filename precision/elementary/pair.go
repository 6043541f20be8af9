package elementary

import "math"

// sum returns a+b and what rounding it lost (Knuth's two-sum).
func sum(a, b float64) (high, low float64) {
	high = a + b
	t := high - a
	return high, (a - (high - t)) + (b - t)
}

// product returns a·b and what rounding it lost.
func product(a, b float64) (high, low float64) {
	high = float64(a * b)
	return high, math.FMA(a, b, -high)
}
