//go:build !purego

package precision

// The routines of round_avx512_amd64.s and round_avx2_amd64.s round n numbers;
// n is positive and dst may be src.

//go:noescape
func roundWideInfinite512(dst, src *float32, n int, r *Rounder)

//go:noescape
func roundWide512(dst, src *float32, n int, r *Rounder)

//go:noescape
func roundNarrow512(dst, src *float32, n int, r *Rounder)

//go:noescape
func roundWhole512(dst, src *float32, n int, r *Rounder)

//go:noescape
func roundWideInfinite256(dst, src *float32, n int, r *Rounder)

//go:noescape
func roundWide256(dst, src *float32, n int, r *Rounder)

//go:noescape
func roundNarrow256(dst, src *float32, n int, r *Rounder)

//go:noescape
func roundWhole256(dst, src *float32, n int, r *Rounder)

// slice rounds slices of one length on the path in use.
func (r *Rounder) slice(dst, src []float32) {
	if current == pathGo || r.kind <= keepAll || len(src) == 0 {
		r.sliceGo(dst, src)
		return
	}
	d, s, n := &dst[0], &src[0], len(src)
	if current == pathAVX512 {
		switch r.kind {
		case wideInfinite:
			roundWideInfinite512(d, s, n, r)
		case wide:
			roundWide512(d, s, n, r)
		case narrow:
			roundNarrow512(d, s, n, r)
		case whole:
			roundWhole512(d, s, n, r)
		}
		return
	}
	switch r.kind {
	case wideInfinite:
		roundWideInfinite256(d, s, n, r)
	case wide:
		roundWide256(d, s, n, r)
	case narrow:
		roundNarrow256(d, s, n, r)
	case whole:
		roundWhole256(d, s, n, r)
	}
}
