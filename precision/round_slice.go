package precision

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// RoundSlice rounds src to the nearest numbers of the format, ties to even,
// into dst. The two have the same length and may be the same slice; they must
// not overlap otherwise. It does not allocate. For FP32 it copies.
//
// It is the one entry through which slices are rounded: kernels in other
// languages hide behind it and must return these bits.
func (f Format) RoundSlice(dst, src []float32) {
	mustMatch("RoundSlice", len(dst), len(src))
	switch {
	case f.Identity():
		copy(dst, src)
	case f.ExponentBits == 8:
		roundSliceWide(dst, src, f.wide())
	case f.Integer():
		roundSliceInteger(dst, src, f.Max)
	default:
		roundSliceNarrow(dst, src, f.narrow())
	}
}

// RoundSliceStochastic rounds src to dst stochastically (see Stochastic). It
// draws exactly one Uint32 per element, in order, whatever the values, so the
// generator's state afterwards depends on the length alone. FP32 copies and
// draws nothing.
func (f Format) RoundSliceStochastic(dst, src []float32, rng *rand.Rand) {
	mustMatch("RoundSliceStochastic", len(dst), len(src))
	if f.Identity() {
		copy(dst, src)
		return
	}
	for i, x := range src {
		dst[i] = f.RoundMode(x, Stochastic, rng.Uint32())
	}
}

// mustMatch panics if two slices differ in length.
func mustMatch(what string, dst, src int) {
	if dst != src {
		panic(fmt.Sprintf("precision: %s: dst has %d elements, src has %d", what, dst, src))
	}
}

// wide rounds to formats with the exponent of float32, where every number,
// normal or not, loses the same number of low bits. Adding just under half of
// the dropped range, plus one if the kept part is odd, carries exactly when
// nearest-even rounds up; a carry out of the largest finite number arrives at
// the pattern of infinity.
type wide struct {
	drop, half, keep uint32 // bits dropped, half of them less one, mask of the kept
	max, over        uint32 // largest finite magnitude; what exceeds it becomes over
}

// wide returns the constants of f, which has 8 exponent bits.
func (f Format) wide() wide {
	drop := uint32(23 - f.MantissaBits)
	return wide{
		drop: drop, half: 1<<(drop-1) - 1, keep: math.MaxUint32 << drop,
		max: math.Float32bits(f.Max), over: f.overflowBits(),
	}
}

// round rounds the float32 pattern b.
func (w wide) round(b uint32) uint32 {
	a := b & absBits
	r := (a + w.half + a>>w.drop&1) & w.keep
	if r > w.max {
		r = w.over
	}
	if a > infinity {
		r = a
	}
	return r | b&signBit
}

func roundSliceWide(dst, src []float32, w wide) {
	dst = dst[:len(src)]
	for i, x := range src {
		dst[i] = math.Float32frombits(w.round(math.Float32bits(x)))
	}
}

// narrow rounds to formats of less range than float32 by adding and taking away
// a power of two so large that the sum's last bit is worth one step of the
// format: the float32 addition itself rounds to nearest even. The power follows
// the exponent of x, but not below the smallest normal one of the format, under
// which the step stays the same.
type narrow struct {
	limit     uint32 // magnitudes are cut to this power of two above Max
	minExp    uint32 // exponent field of the smallest normal number
	lift      uint32 // added to the exponent field to get that of the power
	max, over uint32 // as in wide
}

// narrow returns the constants of f, which has fewer than 8 exponent bits.
func (f Format) narrow() narrow {
	f.mustBeSet()
	top := math.Float32bits(f.Max)
	return narrow{
		limit:  (top>>23 + 1) << 23,
		minExp: uint32(1-f.Bias+floatBias) << 23,
		lift:   uint32(23-f.MantissaBits) << 23,
		max:    top, over: f.overflowBits(),
	}
}

// round rounds the float32 pattern b.
func (n narrow) round(b uint32) uint32 {
	a := b & absBits
	cut := min(a, n.limit)
	power := math.Float32frombits(max(cut&infinity, n.minExp) + n.lift)
	r := math.Float32bits(math.Float32frombits(cut) + power - power)
	if r > n.max {
		r = n.over
	}
	if a > infinity {
		r = a
	}
	return r | b&signBit
}

func roundSliceNarrow(dst, src []float32, n narrow) {
	dst = dst[:len(src)]
	for i, x := range src {
		dst[i] = math.Float32frombits(n.round(math.Float32bits(x)))
	}
}

// integerPower is 1.5·2^23: added to a number of magnitude below 2^22 it leaves
// no room for a fraction, so the sum is rounded to a whole number. Taking it
// away again gives +0 for every zero, the only one integers have.
const integerPower = 3 << 22

func roundSliceInteger(dst, src []float32, limit float32) {
	dst = dst[:len(src)]
	for i, x := range src {
		// The comparisons are false for NaN, which the addition passes on.
		if x > limit {
			x = limit
		}
		if x < -limit {
			x = -limit
		}
		if x == x {
			x = x + integerPower - integerPower
		}
		dst[i] = x
	}
}
