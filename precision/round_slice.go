package precision

import (
	"fmt"
	"math"
)

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

// roundSliceWide applies roundWide.
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

// roundSliceInteger applies roundInteger.
func roundSliceInteger(dst, src []float32, limit float32) {
	dst = dst[:len(src)]
	for i, x := range src {
		dst[i] = roundInteger(x, limit)
	}
}
