package loss

import "driftlab/trainer/method/batch"

// reject is the term of token n where a mask of the loss keeps it out.
func (f *frame) reject(n int) (value, dlogp float64) {
	if len(f.out.rejected) == 0 {
		f.out.rejected = batch.Zeroed(f.out.rejected, f.in.Tokens())
	}
	f.out.rejected[n] = true
	return 0, 0
}

// live is -A·r, differentiated through the ratio.
func live(a, r, dr float64) (value, dlogp float64) { return -a * r, -a * dr }

// detached is -sg[w]·A·logp.
func detached(w, a, logp float64) (value, dlogp float64) { return -w * a * logp, -w * a }

// capped bounds a detached ratio by a limit, 0 for none; above says that it acted.
func capped(r, limit float64) (w float64, above bool) {
	if limit > 0 && r > limit {
		return limit, true
	}
	return r, false
}
