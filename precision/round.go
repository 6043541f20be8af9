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
	return math.Float32frombits(roundNarrow(b, f.minExp(), uint32(23-f.MantissaBits)<<23, f.limit(), f.overflowBits()))
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
// It is the one entry through which slices are rounded: assembly hides behind it
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

// roundSliceBF16 is roundSliceWide for the format that is used most: with the
// constants in the instructions, and without a limit, since the carry out of
// the largest number is the infinity wanted.
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

func roundSliceWide(dst, src []float32, drop uint, limit, over uint32) {
	dst = dst[:len(src)]
	drop &= 31 // spares the shifts a test for longer ones
	half, keep := uint32(1)<<(drop-1)-1, uint32(math.MaxUint32)<<drop
	for i := range src {
		b := math.Float32bits(src[i])
		if b&absBits < limit {
			b = (b + half + b>>drop&1) & keep
		} else {
			b = outside(b, over)
		}
		dst[i] = math.Float32frombits(b)
	}
}

// roundSliceNarrow applies roundNarrow. Its one branch is for numbers above the
// largest, so the time does not depend on how normals and subnormals mix.
func roundSliceNarrow(dst, src []float32, minExp, lift, limit, over uint32) {
	dst = dst[:len(src)]
	for i := range src {
		b := math.Float32bits(src[i])
		if a := b & absBits; a < limit {
			power := math.Float32frombits(max(a&infinity, minExp) + lift)
			b = math.Float32bits(math.Float32frombits(a)+power-power) | b&signBit
		} else {
			b = outside(b, over)
		}
		dst[i] = math.Float32frombits(b)
	}
}

func roundSliceInteger(dst, src []float32, limit float32) {
	dst = dst[:len(src)]
	for i, x := range src {
		dst[i] = roundInteger(x, limit)
	}
}
