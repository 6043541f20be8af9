package kernel

import "math"

// Constants of Exp32. The polynomial is that of the Cephes library's expf
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
