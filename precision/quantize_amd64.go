//go:build !purego

package precision

// The routines of quantize_avx512_amd64.s and quantize_avx2_amd64.s work on runs
// of n numbers, one after the other; n and runs are positive and dst may be src.

//go:noescape
func magnitudes512(amax, src *float32, n, runs int)

//go:noescape
func magnitudes256(amax, src *float32, n, runs int)

//go:noescape
func divideNarrow512(dst, src *float32, n, runs int, scales *float32, r *Rounder, restore bool)

//go:noescape
func divideNarrow256(dst, src *float32, n, runs int, scales *float32, r *Rounder, restore bool)

//go:noescape
func divideWhole512(dst, src *float32, n, runs int, scales *float32, r *Rounder, restore bool)

//go:noescape
func divideWhole256(dst, src *float32, n, runs int, scales *float32, r *Rounder, restore bool)

//go:noescape
func multiply512(dst, src *float32, n, runs int, scales *float32)

//go:noescape
func multiply256(dst, src *float32, n, runs int, scales *float32)

// magnitudes is magnitudesGo on the path in use.
func magnitudes(amax, src []float32, n int) {
	switch {
	case current == pathGo || len(src) == 0 || len(amax) == 0:
		magnitudesGo(amax, src, n)
	case current == pathAVX512:
		magnitudes512(&amax[0], &src[0], n, len(amax))
	default:
		magnitudes256(&amax[0], &src[0], n, len(amax))
	}
}

// divide is divideGo on the path in use.
func (r *Rounder) divide(dst, src, scales []float32, n int, restore bool) {
	if current == pathGo || len(src) == 0 || len(scales) == 0 {
		r.divideGo(dst, src, scales, n, restore)
		return
	}
	d, s, runs, scale := &dst[0], &src[0], len(scales), &scales[0]
	switch {
	case current == pathAVX512 && r.kind == narrow:
		divideNarrow512(d, s, n, runs, scale, r, restore)
	case current == pathAVX512:
		divideWhole512(d, s, n, runs, scale, r, restore)
	case r.kind == narrow:
		divideNarrow256(d, s, n, runs, scale, r, restore)
	default:
		divideWhole256(d, s, n, runs, scale, r, restore)
	}
}

// multiply is multiplyGo on the path in use.
func multiply(dst, src, scales []float32, n int) {
	switch {
	case current == pathGo || len(src) == 0 || len(scales) == 0:
		multiplyGo(dst, src, scales, n)
	case current == pathAVX512:
		multiply512(&dst[0], &src[0], n, len(scales), &scales[0])
	default:
		multiply256(&dst[0], &src[0], n, len(scales), &scales[0])
	}
}
