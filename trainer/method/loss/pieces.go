package loss

import (
	"math"
	"strconv"

	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/trace"
)

// What many losses are made of, token by token: a ratio, a cap, a clip. Each tells the
// trace its formulas itself.

// drop is the term of a token that the loss leaves out.
func (f *frame) drop(n int) (value, dlogp float64) {
	f.took(n, trace.Dropped, "0", "0")
	return 0, 0
}

// reject is drop of a token that a mask of the loss keeps out.
func (f *frame) reject(n int) (value, dlogp float64) {
	if len(f.out.rejected) == 0 {
		f.out.rejected = batch.Zeroed(f.out.rejected, f.in.Tokens())
	}
	f.out.rejected[n] = true
	return f.drop(n)
}

// ratio is ratio of a log-ratio x of token n, which the trace knows as the formula of.
func (f *frame) ratio(n int, name, of string, x, limit float64) (r, dr float64) {
	r, dr = ratio(x, limit)
	if f.trace != nil {
		f.noteRatio(n, name, of, x, limit, r)
	}
	return r, dr
}

func (f *frame) noteRatio(n int, name, of string, x, limit, r float64) {
	formula := "exp(" + of + ")"
	if limit > 0 && math.Abs(x) > limit {
		formula = "exp(" + strconv.FormatFloat(clamp(x, -limit, limit), 'g', -1, 64) + ")"
	}
	f.note(n, name, formula, r)
}

// live is -A·r at a ratio of that name, differentiated.
func (f *frame) live(n int, name string, a, r, dr float64) (value, dlogp float64) {
	if f.trace != nil {
		f.kept(n, "-A·"+name, "-A·"+name, dr == 0)
	}
	return -a * r, -a * dr
}

// capped bounds a detached ratio by a limit, 0 for none; above says that it acted.
func (f *frame) capped(n int, r, limit float64) (w float64, above bool) {
	if above = limit > 0 && r > limit; above {
		r = limit
	}
	if f.trace != nil && limit > 0 {
		f.note(n, "cap", "", limit)
		f.note(n, "w", "min(r, cap)", r)
	} else {
		f.note(n, "w", "r", r)
	}
	return r, above
}

// detached is -sg[w]·A·logp, with w noted as the term w.
func (f *frame) detached(n int, a, w float64, capped bool) (value, dlogp float64) {
	b := trace.Kept
	if capped {
		b = trace.Capped
	}
	f.took(n, b, "-w·A·logp", "-w·A")
	return -w * a * f.in.Now.Logp[n], -w * a
}

// clip is clipped for token n, at a ratio of that name.
func (f *frame) clip(n int, name string, a, r, dr, low, high, dualClip, delta float64) surrogate {
	c := clipped(a, r, dr, low, high, dualClip, delta)
	if f.trace != nil {
		f.noteClip(n, name, c, r, dr, low, high, dualClip, delta)
	}
	return c
}

func (f *frame) noteClip(n int, name string, c surrogate, r, dr, low, high, dualClip, delta float64) {
	f.note(n, "low", "", low)
	f.note(n, "high", "", high)
	switch {
	case c.dual:
		f.note(n, "c", "", dualClip)
		f.took(n, trace.DualClipped, "-A·c", "0")
	case c.clipped && r > high:
		f.took(n, trace.ClippedHigh, "-A·high", "0")
	case c.clipped:
		f.took(n, trace.ClippedLow, "-A·low", "0")
	case delta > 0 && r > delta:
		f.note(n, "δ", "", delta)
		f.took(n, trace.Bounded, "-A·δ", "0")
	default:
		f.kept(n, "-A·"+name, "-A·"+name, dr == 0)
	}
}
