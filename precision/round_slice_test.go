package precision

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// sentinel marks the cells around a slice that no kernel may touch.
const sentinel = 0x7fc0dead

// guarded returns n cells at an offset inside a larger array of sentinels, and
// a function that reports a damaged guard.
func guarded(n, offset int) (cells []float32, intact func() bool) {
	const guard = 8
	all := make([]float32, offset+n+2*guard)
	for i := range all {
		all[i] = math.Float32frombits(sentinel)
	}
	from := guard + offset
	return all[from : from+n : from+n], func() bool {
		for i, x := range all {
			if (i < from || i >= from+n) && math.Float32bits(x) != sentinel {
				return false
			}
		}
		return true
	}
}

// Lengths 0 to 67 at odd offsets, separate and in place, on every path against
// Round, with guards on both sides: what a vector kernel gets wrong first. The
// numbers are adversarial ones, then random patterns, then all of one kind.
func TestRoundSliceLengths(t *testing.T) {
	bits := adversarial()
	rng := rand.New(rand.NewPCG(11, 12))
	draws := []func() uint32{
		func() uint32 { return bits[rng.IntN(len(bits))] },
		rng.Uint32,
		func() uint32 { return specials[rng.IntN(len(specials))] },
	}
	for _, f := range testFormats(t) {
		r := f.Rounder()
		for n := range 68 {
			for round, draw := range draws {
				want, before := make([]float32, n), make([]float32, n)
				for i := range want {
					before[i] = math.Float32frombits(draw())
					want[i] = f.Round(before[i])
				}
				for _, p := range paths() {
					what := fmt.Sprintf("%s, %s, length %d", f, p, n)
					src, srcIntact := guarded(n, (n+round)%3)
					dst, dstIntact := guarded(n, (n+round)%5)
					copy(src, before)
					onPath(p, func() { f.RoundSlice(dst, src) })
					mustEqualBits(t, what+" separate", dst, want)
					mustEqualBits(t, what+" source", src, before)
					onPath(p, func() { r.RoundSlice(src, src) })
					mustEqualBits(t, what+" in place", src, want)
					if !srcIntact() || !dstIntact() {
						t.Fatalf("%s: wrote outside the slice", what)
					}
				}
			}
		}
	}
}

// specials are the patterns with rules of their own.
var specials = []uint32{0, signBit, infinity, signBit | infinity, quietNaN, signBit | quietNaN, infinity + 1, 0xffffffff,
	1, signBit | 1, 0x7fffff, 0x800000, 0x7f7fffff, 0xff7fffff, 0x7f7f7fff, 0x7f7f8000, 0x7f7f8001}

// mustEqualBits compares patterns, payloads of NaNs included.
func mustEqualBits(t *testing.T, what string, got, want []float32) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d elements, want %d", what, len(got), len(want))
	}
	for i := range want {
		if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
			t.Fatalf("%s: element %d is %g (%#08x), want %g (%#08x)", what, i,
				got[i], math.Float32bits(got[i]), want[i], math.Float32bits(want[i]))
		}
	}
}

func TestRoundSliceDoesNotAllocate(t *testing.T) {
	src, dst := benchSlice(257, 3), make([]float32, 257)
	rng := rand.New(rand.NewPCG(13, 14))
	for _, f := range testFormats(t) {
		for _, p := range paths() {
			usePath(t, p)
			if n := testing.AllocsPerRun(20, func() {
				f.RoundSlice(dst, src)
				f.RoundSliceStochastic(dst, src, rng)
				r := f.Rounder()
				r.RoundSlice(dst[:9], src[:9])
				dst[0] = r.Round(src[2]) + f.Round(src[0]) + f.Decode(f.Encode(src[1]))
			}); n != 0 {
				t.Errorf("%s, %s: %v allocations", f, p, n)
			}
		}
	}
}
