//go:build !purego

package precision

// The routines of round_arm64.s round n numbers; n is positive and dst may be src.

//go:noescape
func roundWideInfiniteNEON(dst, src *float32, n int, r *Rounder)

//go:noescape
func roundWideNEON(dst, src *float32, n int, r *Rounder)

//go:noescape
func roundNarrowNEON(dst, src *float32, n int, r *Rounder)

//go:noescape
func roundWholeNEON(dst, src *float32, n int, r *Rounder)

// slice rounds slices of one length on the path in use.
func (r *Rounder) slice(dst, src []float32) {
	if current == pathGo || r.kind <= keepAll || len(src) == 0 {
		r.sliceGo(dst, src)
		return
	}
	d, s, n := &dst[0], &src[0], len(src)
	switch r.kind {
	case wideInfinite:
		roundWideInfiniteNEON(d, s, n, r)
	case wide:
		roundWideNEON(d, s, n, r)
	case narrow:
		roundNarrowNEON(d, s, n, r)
	case whole:
		roundWholeNEON(d, s, n, r)
	}
}
