package elementary

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Exps has the bits of Exp, wherever numbers stand whose exponential is not a normal one, and
// writes nothing else.
func TestExps(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	special := []float64{0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), math.NaN(), 1000, -1000, expHighest, expLowest, 706.9, -707.1, -744, 0x1p-60, -0x1p-1074}
	eachWidth(func(width int) {
		for n := range 100 {
			src, dst := make([]float32, n), make([]float64, n+1)
			for i := range src {
				x := rng.NormFloat64() * 20
				switch rng.IntN(8 * (1 + n%3)) {
				case 0:
					x = special[rng.IntN(len(special))]
				case 1:
					x = rng.Float64()*1600 - 800
				}
				src[i] = float32(x)
			}
			dst[n] = 3
			Exps(dst[:n], src)
			for i, x := range src {
				if got, want := dst[i], Exp(float64(x)); math.Float64bits(got) != math.Float64bits(want) && !(math.IsNaN(got) && math.IsNaN(want)) {
					t.Fatalf("width %d, %d of %d: e to %g is %x, want %x", width, i, n, x, got, want)
				}
			}
			if dst[n] != 3 {
				t.Fatalf("width %d: written behind %d", width, n)
			}
		}
	})
}

func BenchmarkExps(b *testing.B) {
	src, dst := make([]float32, 32), make([]float64, 32)
	for i := range src {
		src[i] = -float32(i) / 3
	}
	b.SetBytes(int64(8 * len(src)))
	for range b.N {
		Exps(dst, src)
	}
}
