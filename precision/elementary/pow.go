package elementary

import "math"

// Pow returns x to the y.
func Pow(x, y float64) float64 {
	switch {
	case y == 0 || x == 1:
		return 1
	case y == 1:
		return x
	case !(x > 0 && x <= math.MaxFloat64) || !(math.Abs(y) < 1<<64):
		return powSpecial(x, y)
	}
	return powPositive(x, y)
}

// powPositive is Pow of a finite x above zero and |y| < 2^64.
func powPositive(x, y float64) float64 {
	a, b := log(x)
	high, low := product(y, a)
	if !(high >= expLowest && high <= expHighest) {
		return expBeyond(high)
	}
	return exp(high, low+float64(y*b))
}

// powSpecial is Pow where x is not finite or not above zero, or y is beyond
// every number whose power is finite.
func powSpecial(x, y float64) float64 {
	if x != x || y != y {
		return math.NaN()
	}
	if math.Abs(y) >= 1<<64 { // an even number, or infinite
		switch size := math.Abs(x); {
		case x == -1:
			return 1
		case (size > 1) == (y > 0):
			return math.Inf(1)
		}
		return 0
	}
	whole := y == math.Trunc(y)
	odd := whole && math.Mod(y, 2) != 0
	var size float64
	switch {
	case x == 0 || math.IsInf(x, 0):
		if (x == 0) == (y < 0) {
			size = math.Inf(1)
		}
	case !whole: // of a negative number
		return math.NaN()
	default:
		size = powPositive(-x, y)
	}
	if odd && math.Signbit(x) {
		return -size
	}
	return size
}
