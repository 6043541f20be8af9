package kernel

import "math"

// The elementary functions below are evaluated in float64 for tables and for
// one logarithm per row. The standard library's are as good but may differ in
// the last bit between processors, where the compiler fuses or an assembly
// version exists; these wrap every product, which forbids fusing: an assignment would not.

// atanhTerms are the coefficients 1/25, 1/23, ..., 1/3 of (atanh(s)-s)/s³ in s².
var atanhTerms = [...]float64{1. / 25, 1. / 23, 1. / 21, 1. / 19, 1. / 17, 1. / 15, 1. / 13, 1. / 11, 1. / 9, 1. / 7, 1. / 5, 1. / 3}

// log64 returns ln x to about one unit in the last place. It writes
// x = m·2^e with m near 1 and sums the series of 2·atanh((m-1)/(m+1)).
func log64(x float64) float64 {
	switch {
	case x != x || x < 0:
		return math.NaN()
	case x == 0:
		return math.Inf(-1)
	case math.IsInf(x, 1):
		return x
	}
	m, e := math.Frexp(x)
	if m < math.Sqrt2/2 {
		m *= 2
		e--
	}
	s := (m - 1) / (m + 1)
	z := float64(s * s)
	// |s| <= 0.1716, so the term after z^12 is below 1e-20.
	sum := 0.0
	for _, c := range &atanhTerms {
		sum = float64((sum + c) * z)
	}
	// The exponent's part is added in two pieces, the larger one exact.
	const hi, lo = 6.93147180369123816490e-01, 1.90821492927058770002e-10
	small := float64(float64(2*s)*sum) + float64(float64(e)*lo)
	return float64(float64(e)*hi) + (float64(2*s) + small)
}

// exp64 returns e to the x for |x| < 700.
func exp64(x float64) float64 {
	const hi, lo = 6.93147180369123816490e-01, 1.90821492927058770002e-10
	n := math.RoundToEven(x * math.Log2E)
	r := x - float64(n*hi) - float64(n*lo)
	// |r| <= 0.3466: the first term left out, r^15/15!, is below 1e-19.
	sum := 1.0
	for k := 14; k >= 1; k-- {
		sum = 1 + float64(r*sum)/float64(k)
	}
	return math.Ldexp(sum, int(n))
}

// sincos64 returns the sine and cosine of 0 <= x < 1e6.
func sincos64(x float64) (sin, cos float64) {
	// Pi/2 in three parts of 33 bits: their products with a quadrant number
	// below 2^20 are exact (the split of fdlibm's e_rem_pio2).
	const p1, p2, p3 = 1.57079632673412561417e+00, 6.07710050630396597660e-11, 2.02226624879595063154e-21
	n := math.RoundToEven(x * (2 / math.Pi))
	r := x - float64(n*p1)
	r -= float64(n * p2)
	r -= float64(n * p3)
	z := float64(r * r)
	s, c := 1.0, 1.0
	// |r| <= pi/4: terms up to r^19 and r^18 leave less than 1e-19.
	for k := 18; k >= 2; k -= 2 {
		s = 1 - float64(z*s)/float64(k*(k+1))
		c = 1 - float64(z*c)/float64(k*(k-1))
	}
	s *= r
	switch int64(n) & 3 {
	case 0:
		return s, c
	case 1:
		return c, -s
	case 2:
		return -s, -c
	}
	return -c, s
}

// Constants of Exp32. The polynomial is from the Cephes library's expf
// (S. Moshier, netlib.org/cephes), a minimax fit of (exp(r)-1-r)/r² on
// |r| <= ln(2)/2; with the two-part reduction the error stays below 1.1 units
// in the last place.
const (
	expHigh  = float32(89)   // exp overflows float32 below this
	expLow   = float32(-104) // exp rounds to zero above this
	log2e    = float32(1.44269504088896341)
	ln2High  = float32(0.693359375) // nine bits: its product with an exponent is exact
	ln2Low   = float32(-2.12194440e-4)
	roundBig = float32(1.5 * (1 << 23)) // adding and subtracting it rounds to a whole number

	expP0 = float32(1.9875691500e-4)
	expP1 = float32(1.3981999507e-3)
	expP2 = float32(8.3334519073e-3)
	expP3 = float32(4.1665795894e-2)
	expP4 = float32(1.6666665459e-1)
	expP5 = float32(5.0000001201e-1)
)

// Exp32 returns e to the x in float32, the same bits on every processor:
// separate multiplications and additions, never fused. It overflows to +Inf
// above 88.72, is subnormal below -87.34, zero below -103.97, and NaN for NaN.
func Exp32(x float32) float32 {
	switch { // min and max would take care of NaN and signed zeros at every call
	case x != x:
		return x
	case x > expHigh:
		x = expHigh
	case x < expLow:
		x = expLow
	}
	n := float32(x*log2e) + roundBig - roundBig
	r := x - float32(n*ln2High)
	r -= float32(n * ln2Low)
	p := float32(expP0*r) + expP1
	p = float32(p*r) + expP2
	p = float32(p*r) + expP3
	p = float32(p*r) + expP4
	p = float32(p*r) + expP5
	p = float32(float32(p*r)*r) + r + 1
	// Two scalings, so that 2^128 and the subnormals are reached; only the
	// second can round.
	e := int32(n)
	h := e >> 1
	return float32(float32(p*powerOfTwo(h)) * powerOfTwo(e-h))
}

// powerOfTwo returns 2^e for -126 <= e <= 127.
func powerOfTwo(e int32) float32 { return math.Float32frombits(uint32(e+127) << 23) }

// Exp sets dst[i] = Exp32(src[i]). dst may be src.
func Exp(dst, src []float32) {
	expAffine(dst, src, 1, 0) // both exact: x·1-0 is x
}

// Log32 returns the natural logarithm of x rounded to float32, the same bits
// on every processor: -Inf for zero, NaN below it. It rounds log64, whose float64
// value is right to about 2e-16, so the result is correctly rounded but for rare ties.
//
// A short series around the nearest entry of a table gives the logarithm to 2^-48 of
// itself. That decides the rounding, except where a float32 midpoint is as near as that:
// there, and where x is not a normal number, log64 does.
func Log32(x float32) float32 {
	const smallest, infinity = 1 << 23, 0xff << 23 // the bits of the smallest normal number and of +Inf
	bits := math.Float32bits(x)
	if bits-smallest >= infinity-smallest {
		return float32(log64(float64(x)))
	}
	above := bits - logFrom
	near := &logTable[above>>17%logEntries]
	m := math.Float32frombits(bits - above&^(1<<23-1)) // x = m·2^e, and m about 0.7 to 1.4
	r := float64(float64(m)*near.inverse) - 1          // exact: 24 bits by 24
	r2 := float64(r * r)
	// series is (ln(1+r) - r)/r²: the first term left out is r^8/8 of ln(1+r), below 2^-58.
	series := float64(r*(1./3)) - 0.5
	series += float64(r2 * (float64(r*(1./5)) - 1./4))
	series += float64(float64(r2*r2) * (float64(r*(1./7)) - 1./6))
	y := float64(float64(int32(above)>>23)*math.Ln2) + near.log + (r + float64(r2*series))
	const midpoint, margin = 1 << 28, 1 << 6 // of the 29 bits that float32 has not
	if math.Float64bits(y)%(1<<29)-(midpoint-margin) <= 2*margin {
		return float32(log64(float64(x)))
	}
	return float32(y)
}

// logInto replaces each x by Log32(x).
func logInto(x []float32) {
	for i, v := range x {
		x[i] = Log32(v)
	}
}

// logFrom are the bits of the number where the table begins, chosen so that 1 is in the
// middle of an entry: its logarithm is then exactly 0.
const (
	logFrom    = 0x3f330000
	logEntries = 64
)

// logTable has for each of 64 intervals from 0.7 to 1.4 about the inverse of its middle,
// with 24 bits, and minus the logarithm of that inverse.
var logTable = func() (table [logEntries]struct{ inverse, log float64 }) {
	for i := range table {
		middle := math.Float32frombits(logFrom + uint32(i)<<17 + 1<<16)
		inverse := float64(1 / middle)
		table[i].inverse, table[i].log = inverse, -log64(inverse)
	}
	return table
}()
