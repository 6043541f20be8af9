package elementary

import "math"

// A number is z·2^k with z in [0.6875, 1.375), an interval of which 80 parts lie
// below 1 and 48 above. logTable has of each part an inverse of a number in its
// middle, of 17 bits, and the logarithm of that number. In the two parts that
// meet at 1 the inverse is 1, so that nothing cancels there.
const (
	zLowest = 0x3fe6 << 48 // the bits of 0.6875

	ln2High = 0x1.62e42fefa38p-1 // 42 bits, as the table's: k·ln2High + high is exact
	ln2Low  = 0x1.ef35793c7673p-45

	tenHigh = 0x1.bcb7b1526e50ep-2 // 1/ln(10)
	tenLow  = 0x1.95355baaafad3p-57
)

// Log returns the natural logarithm.
func Log(x float64) float64 {
	k, bits := 0, math.Float64bits(x)
	if bits-1<<52 >= 0x7fe<<52 { // zero, subnormal, negative or not finite
		if special, is := logSpecial(x); is {
			return special
		}
		k, bits = -52, math.Float64bits(x*(1<<52))
	}
	t, n, r, low := logReduce(bits)
	big := float64((n+float64(k))*ln2High) + t.high
	s := big + r
	return s + (big - s + r + (low + (float64((n+float64(k))*ln2Low) + t.low) + float64(float64(r*r)*log1pTail(r))))
}

func logSpecial(x float64) (y float64, is bool) {
	switch {
	case x == 0:
		return math.Inf(-1), true
	case x < 0:
		return math.NaN(), true
	case x > 0 && x <= math.MaxFloat64:
		return 0, false
	}
	return x, true // NaN or Inf
}

// logReduce writes the normal number of the given bits as z·2^n and z as
// (1+r+low)/t.inverse, |r| < 2^-7.
func logReduce(bits uint64) (t *logPart, n, r, low float64) {
	d := bits - zLowest
	bits -= d & (0xfff << 52)
	t = &logTable[d>>45&127]
	z, upper := math.Float64frombits(bits), math.Float64frombits(bits&^(1<<20-1))
	// Both products are exact, and so is the first sum. The second loses
	// something only where it is much larger than its last addend.
	a, b := float64(upper*t.inverse)-1, float64((z-upper)*t.inverse)
	r = a + b
	return t, float64(int64(d) >> 52), r, a - r + b
}

// log1pTail is (log(1+r)-r)/r² for |r| < 2^-7: what the series leaves out of
// log(1+r) is below 2^-66 of it.
func log1pTail(r float64) float64 {
	return -1./2 + float64(r*log1pTail3(r))
}

// log1pTail3 is (log(1+r)-r+r²/2)/r³.
func log1pTail3(r float64) float64 {
	q := -1./8 + float64(r*(1./9))
	q = 1./7 + float64(r*q)
	q = -1./6 + float64(r*q)
	q = 1./5 + float64(r*q)
	q = -1./4 + float64(r*q)
	return 1./3 + float64(r*q)
}

// Log1p returns the logarithm of 1+x, right also where x is near zero.
func Log1p(x float64) float64 {
	switch {
	case math.Abs(x) < 1./128:
		if x == 0 {
			return x // with its sign
		}
		return x + float64(float64(x*x)*log1pTail(x))
	case !(x > -1 && x < 1<<60): // NaN too
		return Log(1 + x)
	}
	y, lost := sum(1, x)
	high, low := log(y)
	return high + (low + lost/y)
}

// Log10 returns the logarithm to the base 10.
func Log10(x float64) float64 {
	if special, is := logSpecial(x); is {
		return special
	}
	high, low := log(x)
	h, l := product(high, tenHigh)
	return h + (l + (float64(high*tenLow) + float64(low*tenHigh)))
}

// log returns the logarithm of a positive finite number in two parts, whose sum
// is off by less than 2^-66 of it.
func log(x float64) (high, low float64) {
	bits := math.Float64bits(x)
	var k float64
	if bits < 1<<52 {
		k, bits = -52, math.Float64bits(x*(1<<52))
	}
	t, n, r, rest := logReduce(bits)
	n += k
	a, aLow := sum(float64(n*ln2High)+t.high, r)
	square, squareLow := product(r, r)
	b, bLow := sum(a, -float64(square/2))
	low = float64(float64(square*r)*log1pTail3(r)) - float64(squareLow/2) - float64(r*rest) + rest
	low += float64(n*ln2Low) + t.low + aLow + bLow
	high = b + low
	return high, b - high + low
}
