package precision

import (
	"math"
	"math/rand/v2"
)

// RoundSliceStochastic rounds src to dst stochastically, as RoundMode with
// Stochastic does. The slices have the same length and may be the same. It
// draws exactly one Uint32 per element, in order, whatever the values, so the
// generator's state afterwards depends on the length alone. FP32 copies and
// draws nothing.
func (f Format) RoundSliceStochastic(dst, src []float32, rng *rand.Rand) {
	mustMatch("RoundSliceStochastic", len(dst), len(src))
	f.mustBeSet()
	if f.Identity() {
		copy(dst, src)
		return
	}

	// Between the smallest normal number and the power of two above Max the
	// same number of low bits is dropped. The carry of rest + v, with v the
	// complement of the leading random bits, happens exactly if those are less
	// than rest: RoundMode's rule.
	normal, limit := uint32(0), uint32(infinity)
	if f.ExponentBits < 8 {
		normal, limit = f.minExp(), (math.Float32bits(f.Max)>>23+1)<<23
	}
	drop := uint(23-f.MantissaBits) & 31
	keep := uint32(math.MaxUint32) << drop
	top, over := math.Float32bits(f.Max), f.overflowBits()
	for i, x := range src {
		u := rng.Uint32()
		b := math.Float32bits(x)
		a := b & absBits
		if a < normal || a >= limit {
			dst[i] = f.RoundMode(x, Stochastic, u)
			continue
		}
		r := (a + ^u>>(32-drop)) & keep
		if r > top {
			r = over
		}
		dst[i] = math.Float32frombits(r | b&signBit)
	}
}
