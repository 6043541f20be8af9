//go:build (amd64 || arm64) && !purego

package precision

// The routines of assembly. Those of a Rounder round n numbers; the others work on runs of n
// numbers, one after the other. n and runs are positive, and dst may be src.

//go:noescape
func roundWideInfiniteVector(dst, src *float32, n int, r *Rounder)

//go:noescape
func roundWideVector(dst, src *float32, n int, r *Rounder)

//go:noescape
func roundNarrowVector(dst, src *float32, n int, r *Rounder)

//go:noescape
func roundWholeVector(dst, src *float32, n int, r *Rounder)

//go:noescape
func magnitudesVector(amax, src *float32, n, runs int)

//go:noescape
func divideNarrowVector(dst, src *float32, n, runs int, scales *float32, r *Rounder, restore bool)

//go:noescape
func divideWholeVector(dst, src *float32, n, runs int, scales *float32, r *Rounder, restore bool)

//go:noescape
func multiplyVector(dst, src *float32, n, runs int, scales *float32)

// slice rounds slices of one length on the path in use.
func (r *Rounder) slice(dst, src []float32) {
	if current == pathGo || r.kind <= keepAll || len(src) == 0 {
		r.sliceGo(dst, src)
		return
	}
	d, s, n := &dst[0], &src[0], len(src)
	switch r.kind {
	case wideInfinite:
		roundWideInfiniteVector(d, s, n, r)
	case wide:
		roundWideVector(d, s, n, r)
	case narrow:
		roundNarrowVector(d, s, n, r)
	case whole:
		roundWholeVector(d, s, n, r)
	}
}

// magnitudes is magnitudesGo on the path in use.
func magnitudes(amax, src []float32, n int) {
	if current == pathGo || len(src) == 0 || len(amax) == 0 {
		magnitudesGo(amax, src, n)
		return
	}
	magnitudesVector(&amax[0], &src[0], n, len(amax))
}

// divide is divideGo on the path in use.
func (r *Rounder) divide(dst, src, scales []float32, n int, restore bool) {
	switch {
	case current == pathGo || len(src) == 0 || len(scales) == 0:
		r.divideGo(dst, src, scales, n, restore)
	case r.kind == narrow:
		divideNarrowVector(&dst[0], &src[0], n, len(scales), &scales[0], r, restore)
	default:
		divideWholeVector(&dst[0], &src[0], n, len(scales), &scales[0], r, restore)
	}
}

// multiply is multiplyGo on the path in use.
func multiply(dst, src, scales []float32, n int) {
	if current == pathGo || len(src) == 0 || len(scales) == 0 {
		multiplyGo(dst, src, scales, n)
		return
	}
	multiplyVector(&dst[0], &src[0], n, len(scales), &scales[0])
}
