package precision

import (
	"fmt"
	"math"
)

// Bit patterns of float32.
const (
	signBit   = 1 << 31
	absBits   = 1<<31 - 1
	fraction  = 1<<23 - 1
	infinity  = 0xff << 23
	quietNaN  = infinity | 1<<22
	floatBias = 127
)

// Mode is a direction of rounding.
type Mode uint8

// The directions.
const (
	// NearestEven rounds to the nearest number, ties to the even mantissa.
	NearestEven Mode = iota
	// TowardZero drops the excess bits. A finite number never overflows: it
	// becomes at most Max.
	TowardZero
	// Stochastic rounds up in magnitude with a probability equal to the
	// fraction of the step that would be dropped, so the mean is unbiased.
	Stochastic
)

// String returns "nearest-even", "toward-zero" or "stochastic".
func (m Mode) String() string {
	return named("Mode", uint8(m), "nearest-even", "toward-zero", "stochastic")
}

// named is the name with that number, or the kind of name with a number that has none.
func named(kind string, n uint8, names ...string) string {
	if int(n) < len(names) {
		return names[n]
	}
	return fmt.Sprintf("%s(%d)", kind, n)
}

// Round returns the number of the format nearest to x, ties to even. See the
// package comment for overflow, zeros and NaN.
func (f Format) Round(x float32) float32 {
	b := math.Float32bits(x)
	switch {
	case f.ExponentBits == 8:
		if f.MantissaBits == 23 {
			return x
		}
		drop := uint(23-f.MantissaBits) & 31
		return math.Float32frombits(roundWide(b, drop, f.limit(), f.overflowBits()))
	case f.ExponentBits == 0:
		f.mustBeSet()
		return roundInteger(x, f.Max)
	}
	return math.Float32frombits(roundNarrow(b, f.minExp(), f.lift(), f.limit(), f.overflowBits()))
}

// RoundMode rounds x in the given direction. u supplies 32 uniform random bits
// and is read by Stochastic only: x is rounded up in magnitude if u is less
// than 2^32 times the dropped fraction of a step. That probability is exact
// while at most 32 bits are dropped, else short by less than 2^-32.
func (f Format) RoundMode(x float32, mode Mode, u uint32) float32 {
	f.mustBeSet()
	b := math.Float32bits(x)
	sign, a := b&signBit, b&absBits
	switch {
	case f.Identity() || a > infinity:
		return x
	case a == infinity:
		return math.Float32frombits(sign | f.overflowBits())
	}

	// |x| is significand · 2^exp; the grid around x has the step 2^step.
	exp, significand := int(a>>23), a&fraction
	if exp == 0 {
		exp = 1
	} else {
		significand |= 1 << 23
	}
	exp -= floatBias + 23
	step := max(exp+23, 1-f.Bias) - f.MantissaBits
	drop := uint(step - exp)
	k := significand >> drop // shifts of 32 and more give 0
	if roundsUp(significand-k<<drop, drop, k&1 == 1, mode, u) {
		k++
	}

	// Exact in float64: k has at most 24 bits and the power is normal there.
	magnitude := float64(k) * math.Float64frombits(uint64(step+1023)<<52)
	r := uint32(0)
	switch {
	case magnitude <= float64(f.Max):
		r = math.Float32bits(float32(magnitude))
	case mode == TowardZero:
		r = math.Float32bits(f.Max)
	default:
		r = f.overflowBits()
	}
	if r == 0 && f.Integer() {
		return 0
	}
	return math.Float32frombits(sign | r)
}

// roundsUp decides whether a magnitude of which rest, out of 2^drop, would be
// dropped, moves up to the next multiple; odd says that the one below is odd.
func roundsUp(rest uint32, drop uint, odd bool, mode Mode, u uint32) bool {
	switch mode {
	case NearestEven:
		if drop == 0 || drop > 24 { // nothing dropped, or less than half a step
			return false
		}
		half := uint32(1) << (drop - 1)
		return rest > half || rest == half && odd
	case TowardZero:
		return false
	case Stochastic:
		if drop <= 32 {
			return uint64(u) < uint64(rest)<<(32-drop)
		}
		return u < rest>>(drop-32)
	}
	panic(fmt.Sprintf("precision: unknown rounding mode %d", mode))
}

// overflowBits is the magnitude, as float32 bits, of what overflow turns into.
func (f *Format) overflowBits() uint32 {
	switch f.Overflow {
	case ToInfinity:
		return infinity
	case Saturate:
		return math.Float32bits(f.Max)
	}
	return quietNaN
}

// mustBeSet panics for the zero Format, which would otherwise round everything
// to nonsense without a word.
func (f *Format) mustBeSet() {
	if f.MantissaBits == 0 {
		panic("precision: the zero Format is not a format; use FP32 for no rounding")
	}
}
