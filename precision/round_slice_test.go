package precision

import (
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

// Lengths 0 to 67 at odd offsets, separate and in place, against Round, with
// guards on both sides: what a vector kernel gets wrong first.
func TestRoundSliceLengths(t *testing.T) {
	bits := adversarial()
	rng := rand.New(rand.NewPCG(11, 12))
	for _, f := range testFormats(t) {
		for n := range 68 {
			src, srcIntact := guarded(n, n%3)
			dst, dstIntact := guarded(n, n%5)
			want := make([]float32, n)
			for i := range src {
				src[i] = math.Float32frombits(bits[rng.IntN(len(bits))])
				want[i] = f.Round(src[i])
			}
			before := append([]float32(nil), src...)
			f.RoundSlice(dst, src)
			mustEqualBits(t, f.Name+" separate", dst, want)
			mustEqualBits(t, f.Name+" source", src, before)
			f.RoundSlice(src, src)
			mustEqualBits(t, f.Name+" in place", src, want)
			if !srcIntact() || !dstIntact() {
				t.Fatalf("%s: length %d: wrote outside the slice", f, n)
			}
		}
	}
}

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
		if n := testing.AllocsPerRun(20, func() {
			f.RoundSlice(dst, src)
			f.RoundSliceStochastic(dst, src, rng)
			dst[0] = f.Round(src[0]) + f.Decode(f.Encode(src[1]))
		}); n != 0 {
			t.Errorf("%s: %v allocations", f, n)
		}
	}
}
