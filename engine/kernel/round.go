package kernel

import "driftlab/precision"

// roundSlice rounds src into dst, which may be the same slice, as f.RoundSlice
// does, except that the zero Format copies.
func roundSlice(f precision.Format, dst, src []float32) {
	src = src[:len(dst)]
	if exact(f) {
		copy(dst, src)
		return
	}
	f.RoundSlice(dst, src)
}

// exact reports whether rounding float32 values to f changes nothing. The zero
// Format stands for FP32.
func exact(f precision.Format) bool { return f.Identity() || f.MantissaBits == 0 }

// roundTo rounds dst in place to f.
func roundTo(f precision.Format, dst []float32) {
	if !exact(f) {
		f.RoundSlice(dst, dst)
	}
}
