package elementary

import "math"

// ln(2)/steps in two parts, the first of 33 bits: its product with any step of
// the exponent is exact.
const (
	steps       = 128 // entries of exp2Table: powers of 2^(1/128)
	stepsPerOne = steps * math.Log2E
	stepHigh    = 0x1.62e42fefp-8
	stepLow     = 0x1.473de6af278edp-41

	wholeNumber = 0x1.8p52 // adding and subtracting it rounds to a whole number

	expHighest = 0x1.62e42fefa39efp+9  // e to anything above overflows
	expLowest  = -0x1.74910d52d3052p+9 // e to anything below rounds to zero
)

// Exp returns e to the x.
func Exp(x float64) float64 {
	if !(x >= expLowest && x <= expHighest) { // NaN too
		return expBeyond(x)
	}
	return exp(x, 0)
}

// expBeyond is Exp outside the range of float64.
func expBeyond(x float64) float64 {
	switch {
	case x > 0:
		return math.Inf(1)
	case x < 0:
		return 0
	}
	return x
}

// exp returns e to the x+low for x within the range, low far smaller.
func exp(x, low float64) float64 {
	k, r := expReduce(x, low)
	t := &exp2Table[k&(steps-1)]
	y := t.high + (t.low + float64(t.high*expm1Step(r)))
	e := k >> 7
	if uint(e+1021) < 2044 { // the result is normal
		return y * math.Float64frombits(uint64(e+1023)<<52)
	}
	// Two scalings, of which only the second can round.
	h := e >> 1
	return float64(y*math.Float64frombits(uint64(h+1023)<<52)) * math.Float64frombits(uint64(e-h+1023)<<52)
}

// expReduce writes x+low as k·ln(2)/steps + r with |r| <= ln(2)/256.
func expReduce(x, low float64) (k int, r float64) {
	n := float64(x*stepsPerOne) + wholeNumber - wholeNumber
	return int(n), x - float64(n*stepHigh) - float64(n*stepLow) + low
}

// expm1Step is e^r-1 for |r| <= ln(2)/256: what the series leaves out is below 2^-60.
func expm1Step(r float64) float64 {
	q := 1./24 + float64(r*(1./120))
	q = 1./6 + float64(r*q)
	q = 1./2 + float64(r*q)
	return r + float64(float64(r*r)*q)
}

// Expm1 returns e to the x minus 1, right also where x is near zero.
func Expm1(x float64) float64 {
	switch {
	case math.Abs(x) < 1./8:
		if x == 0 {
			return x // with its sign
		}
		q := 0.0
		for _, c := range &expm1Terms {
			q = c + float64(x*q)
		}
		return x + float64(float64(x*x)*q)
	case x < -40:
		return -1
	case !(x < 100): // NaN too
		return Exp(x)
	}
	k, r := expReduce(x, 0)
	t := &exp2Table[k&(steps-1)]
	scale := math.Float64frombits(uint64(k>>7+1023) << 52)
	high, low := sum(float64(t.high*scale), -1)
	return high + (low + float64((t.low+float64(t.high*expm1Step(r)))*scale))
}

// expm1Terms are 1/11!, ..., 1/3!, 1/2!.
var expm1Terms = [...]float64{1. / 39916800, 1. / 3628800, 1. / 362880, 1. / 40320, 1. / 5040, 1. / 720, 1. / 120, 1. / 24, 1. / 6, 1. / 2}
