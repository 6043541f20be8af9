package kernel

import "driftlab/precision"

// Numerics declares the arithmetic of one operation. Inputs are taken as they
// are: whoever produced them rounded them. The zero value is float32 throughout
// in the canonical order.
type Numerics struct {
	// Accumulator is the format of the running sum. The zero Format and FP32
	// are the ordinary case; a narrower one rounds after every step and every
	// combination of partial sums, in plain Go.
	Accumulator precision.Format
	// Output is the format to which each result is rounded once, after the
	// scale. The zero Format means FP32.
	Output precision.Format
	// Reduction is the order of the sum.
	Reduction Reduction
}

// exact reports whether rounding float32 values to f changes nothing. The zero
// Format stands for FP32.
func exact(f precision.Format) bool {
	return f == precision.Format{} || f.Identity()
}

// roundTo rounds dst in place to f.
func roundTo(f precision.Format, dst []float32) {
	if !exact(f) {
		RoundSlice(f, dst, dst)
	}
}

// RoundSlice rounds src into dst, which may be the same slice, as
// f.RoundSlice does, with vector code where there is some. The zero Format
// copies.
func RoundSlice(f precision.Format, dst, src []float32) {
	if exact(f) {
		copy(dst, src)
		return
	}
	f.RoundSlice(dst, src)
}
