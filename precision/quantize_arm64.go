//go:build !purego

package precision

// The routines of quantize_arm64.s work on runs of n numbers, one after the other;
// n and runs are positive and dst may be src.

//go:noescape
func magnitudesNEON(amax, src *float32, n, runs int)

//go:noescape
func divideNarrowNEON(dst, src *float32, n, runs int, scales *float32, r *Rounder, restore bool)

//go:noescape
func divideWholeNEON(dst, src *float32, n, runs int, scales *float32, r *Rounder, restore bool)

//go:noescape
func multiplyNEON(dst, src *float32, n, runs int, scales *float32)

// magnitudes is magnitudesGo on the path in use.
func magnitudes(amax, src []float32, n int) {
	if current == pathGo || len(src) == 0 || len(amax) == 0 {
		magnitudesGo(amax, src, n)
		return
	}
	magnitudesNEON(&amax[0], &src[0], n, len(amax))
}

// divide is divideGo on the path in use.
func (r *Rounder) divide(dst, src, scales []float32, n int, restore bool) {
	switch {
	case current == pathGo || len(src) == 0 || len(scales) == 0:
		r.divideGo(dst, src, scales, n, restore)
	case r.kind == narrow:
		divideNarrowNEON(&dst[0], &src[0], n, len(scales), &scales[0], r, restore)
	default:
		divideWholeNEON(&dst[0], &src[0], n, len(scales), &scales[0], r, restore)
	}
}

// multiply is multiplyGo on the path in use.
func multiply(dst, src, scales []float32, n int) {
	if current == pathGo || len(src) == 0 || len(scales) == 0 {
		multiplyGo(dst, src, scales, n)
		return
	}
	multiplyNEON(&dst[0], &src[0], n, len(scales), &scales[0])
}
