package kernel

import (
	"math"

	"driftlab/precision"
)

// RoundSlice rounds src into dst, which may be the same slice, with the bits
// that f.RoundSlice gives and vector code where there is some. The zero Format
// copies.
func RoundSlice(f precision.Format, dst, src []float32) {
	src = src[:len(dst)]
	if exact(f) {
		copy(dst, src)
		return
	}
	if !roundVector(&f, dst, src) {
		f.RoundSlice(dst, src)
	}
}

// roundVector rounds with assembly if the path has it. The constants are those
// of precision's own rounding: the magnitudes above last overflow to over.
func roundVector(f *precision.Format, dst, src []float32) bool {
	if CurrentPath() == PathGo || len(dst) == 0 {
		return false
	}
	if f.Integer() {
		return roundIntegerVector(dst, src, -f.Max, f.Max)
	}
	top, drop := math.Float32bits(f.Max), uint32(23-f.MantissaBits)&31
	if drop == 0 || f.MantissaBits == 0 {
		return false
	}
	// The midpoint above Max, itself kept if the tie goes to Max for being even.
	last := top + 1<<(drop-1) - top>>drop&1
	over := uint32(0x7f800000)
	switch f.Overflow {
	case precision.Saturate:
		over = top
	case precision.ToNaN:
		over = 0x7fc00000
	}
	if f.ExponentBits == 8 {
		return roundWideVector(dst, src, 1<<(drop-1)-1, drop, math.MaxUint32<<drop, last, over)
	}
	return roundNarrowVector(dst, src, uint32(1-f.Bias+127)<<23, drop<<23, last, over)
}

// exact reports whether rounding float32 values to f changes nothing. The zero
// Format stands for FP32.
func exact(f precision.Format) bool { return f.Identity() || f.MantissaBits == 0 }

// roundTo rounds dst in place to f.
func roundTo(f precision.Format, dst []float32) {
	if !exact(f) {
		RoundSlice(f, dst, dst)
	}
}
