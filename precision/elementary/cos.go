package elementary

import "math"

// π in two parts.
const (
	piHigh = math.Pi
	piLow  = 0x1.1a62633145c07p-53
)

// CosPi returns the cosine of πx, exact in its argument: CosPi(1/2) is 0.
func CosPi(x float64) float64 {
	if !(math.Abs(x) <= 1<<53) {
		if x-x == 0 {
			return 1 // an even number
		}
		return math.NaN()
	}
	n := math.RoundToEven(2 * x)
	r := x - float64(n/2) // exact, and within ±1/4
	a, low := product(r, piHigh)
	low += float64(r * piLow)
	z := float64(a * a)
	var y float64
	if int64(n)&1 == 0 {
		q := 0.0
		for _, c := range &cosTerms {
			q = c + float64(z*q)
		}
		half := float64(z / 2)
		one := 1 - half
		y = one + (1 - one - half + (float64(float64(z*z)*q) - float64(a*low)))
	} else {
		q := 0.0
		for _, c := range &sinTerms {
			q = c + float64(z*q)
		}
		y = -(a + (low + float64(float64(a*z)*q)))
		if a == 0 {
			return 0
		}
	}
	if int64(n)&2 != 0 {
		return -y
	}
	return y
}

// The coefficients of the two series, (cos a - 1 + a²/2)/a⁴ and (sin a - a)/a³,
// in a²: what they leave out for |a| <= π/4 is below 2^-62.
var (
	cosTerms = [...]float64{-1. / 6402373705728000, 1. / 20922789888000, -1. / 87178291200, 1. / 479001600, -1. / 3628800, 1. / 40320, -1. / 720, 1. / 24}
	sinTerms = [...]float64{1. / 355687428096000, -1. / 1307674368000, 1. / 6227020800, -1. / 39916800, 1. / 362880, -1. / 5040, 1. / 120, -1. / 6}
)
