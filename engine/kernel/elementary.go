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
