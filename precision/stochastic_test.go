package precision

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Of the 2^16 values of the leading random bits exactly as many round up as
// there are dropped units: the probability is exact, not nearly so.
func TestStochasticProbabilityIsExact(t *testing.T) {
	for _, rest := range []uint32{0, 1, 2, 77, 0x7fff, 0x8000, 0xfffe, 0xffff} {
		for _, base := range []uint32{0x3f800000, 0xc2490000, 0x00050000} { // normal, negative, subnormal
			x, ups := math.Float32frombits(base|rest), uint32(0)
			for u := range uint32(1 << 16) {
				switch math.Float32bits(BF16.RoundMode(x, Stochastic, u<<16|0xffff&(u*40503))) {
				case base:
				case base + 1<<16:
					ups++
				default:
					t.Fatalf("%#08x left its two neighbours", base|rest)
				}
			}
			if ups != rest {
				t.Errorf("%#08x: rounded up %d times of 65536, want %d", base|rest, ups, rest)
			}
		}
	}
}

// The mean of many draws is the number itself, within five standard errors, and
// a number of the format never moves.
func TestStochasticIsUnbiased(t *testing.T) {
	const draws = 40_000
	rng := rand.New(rand.NewPCG(15, 16))
	src, dst := make([]float32, draws), make([]float32, draws)
	for _, c := range []struct {
		format Format
		x      float32
	}{
		{BF16, 1.001}, {BF16, -3.14159}, {FP16, 1e-6}, {FP16, 2049.3}, {E4M3, 0.0003}, {E4M3, 17.3}, {E4M3, -0.1},
		{E5M2, 1e-5}, {E2M1, 0.2}, {E2M1, -5.2}, {INT8, 0.4}, {INT8, -77.7},
	} {
		f := c.format
		for i := range src {
			src[i] = c.x
		}
		f.RoundSliceStochastic(dst, src, rng)
		var sum float64
		for _, y := range dst {
			sum += float64(y)
		}
		down := float64(f.RoundMode(c.x, TowardZero, 0))
		gap := math.Abs(float64(f.RoundMode(c.x, Stochastic, 0)) - down)
		p := math.Abs(float64(c.x)-down) / gap
		standardError := gap * math.Sqrt(p*(1-p)/draws)
		if bias := sum/draws - float64(c.x); math.Abs(bias) > 5*standardError {
			t.Errorf("%s: mean of %g is off by %g, standard error %g", f, c.x, bias, standardError)
		}
	}
	for _, f := range []Format{BF16, FP16, E4M3, E5M2, E2M1, INT8} {
		for _, s := range enumerate(f)[:64%(1<<(f.Bits()-1))+1] {
			if x := float32(s.value); s.value <= float64(f.Max) && f.RoundMode(x, Stochastic, 0) != x {
				t.Errorf("%s: %g moved", f, x)
			}
		}
	}
}

// The slice form is the scalar form with one draw per element, in order.
func TestRoundSliceStochasticIsRoundMode(t *testing.T) {
	bits := adversarial()
	src, dst := make([]float32, len(bits)), make([]float32, len(bits))
	for i, b := range bits {
		src[i] = math.Float32frombits(b)
	}
	for _, f := range testFormats(t) {
		a, b := rand.New(rand.NewPCG(17, 18)), rand.New(rand.NewPCG(17, 18))
		f.RoundSliceStochastic(dst, src, a)
		if f.Identity() {
			mustEqualBits(t, f.Name, dst, src)
			if a.Uint32() != b.Uint32() {
				t.Errorf("%s drew random numbers", f)
			}
			continue
		}
		want := make([]float32, len(src))
		for i, x := range src {
			want[i] = f.RoundMode(x, Stochastic, b.Uint32())
		}
		mustEqualBits(t, f.Name, dst, want)
		if a.Uint64() != b.Uint64() {
			t.Errorf("%s: not one draw per element", f)
		}
	}
}
