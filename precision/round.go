package precision

import (
	"fmt"
	"math"
	"math/rand/v2"
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

func named(kind string, n uint8, names ...string) string {
	if int(n) < len(names) {
		return names[n]
	}
	return fmt.Sprintf("%s(%d)", kind, n)
}

// Round returns the number of the format nearest to x, ties to even. See the
// package comment for overflow, zeros and NaN.
func (f Format) Round(x float32) float32 {
	r := f.Rounder()
	return r.Round(x)
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

// RoundSlice rounds src to the nearest numbers of the format, ties to even,
// into dst. The two have the same length and may be the same slice; they must
// not overlap otherwise. It does not allocate. For FP32 it copies.
//
// It is the one entry through which slices are rounded: assembly is called from it
// and returns the bits of the loops below.
func (f Format) RoundSlice(dst, src []float32) {
	mustMatch("RoundSlice", len(dst), len(src))
	var r Rounder
	r.set(&f)
	r.slice(dst, src)
}

// mustMatch panics if two slices differ in length.
func mustMatch(what string, dst, src int) {
	if dst != src {
		panic(fmt.Sprintf("precision: %s: dst has %d elements, src has %d", what, dst, src))
	}
}

// roundSliceBF16 rounds to the format that is used most: with the constants in the
// instructions, and without a limit, since the carry out of the largest number is the
// infinity wanted.
func roundSliceBF16(dst, src []float32) {
	dst = dst[:len(src)]
	for i := range src {
		b := math.Float32bits(src[i])
		if b&absBits <= infinity {
			b = (b + 0x7fff + b>>16&1) & 0xffff0000
		}
		dst[i] = math.Float32frombits(b)
	}
}

// roundSliceNarrow rounds to a format of less range than float32 by adding and taking away a
// power of two so large that the sum's last bit is worth one step of the format: the float32
// addition itself rounds to nearest even. The power has the exponent of x, but at least that of the
// smallest normal number, raised by lift, the number of mantissa bits to lose. Its one branch is
// for numbers above the largest, so the time does not depend on how normals and subnormals mix,
// as that of Round does.
func roundSliceNarrow(dst, src []float32, minExp, lift, limit, over uint32) {
	dst = dst[:len(src)]
	for i := range src {
		b := math.Float32bits(src[i])
		if a := b & absBits; a < limit {
			power := math.Float32frombits(max(a&infinity, minExp) + lift)
			b = math.Float32bits(math.Float32frombits(a)+power-power) | b&signBit
		} else if a <= infinity {
			b = b&signBit | over
		}
		dst[i] = math.Float32frombits(b)
	}
}

// RoundSliceStochastic rounds src to dst stochastically, as RoundMode with
// Stochastic does. The slices have the same length and may be the same. It
// draws exactly one Uint32 per element, in order, whatever the values, so the
// generator's state afterwards depends on the length alone. FP32 copies and
// draws nothing.
func (f Format) RoundSliceStochastic(dst, src []float32, rng *rand.Rand) {
	mustMatch("RoundSliceStochastic", len(dst), len(src))
	f.mustBeSet()
	if f.Identity() {
		copy(dst, src)
		return
	}

	// Between the smallest normal number and the power of two above Max the
	// same number of low bits is dropped. The carry of rest + v, with v the
	// complement of the leading random bits, happens exactly if those are less
	// than rest: RoundMode's rule.
	normal, limit := uint32(0), uint32(infinity)
	if f.ExponentBits < 8 {
		normal, limit = f.minExp(), (math.Float32bits(f.Max)>>23+1)<<23
	}
	drop := uint(23-f.MantissaBits) & 31
	keep := uint32(math.MaxUint32) << drop
	top, over := math.Float32bits(f.Max), f.overflowBits()
	for i, x := range src {
		u := rng.Uint32()
		b := math.Float32bits(x)
		a := b & absBits
		if a < normal || a >= limit {
			dst[i] = f.RoundMode(x, Stochastic, u)
			continue
		}
		r := (a + ^u>>(32-drop)) & keep
		if r > top {
			r = over
		}
		dst[i] = math.Float32frombits(r | b&signBit)
	}
}
