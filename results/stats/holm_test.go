package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestHolm: the worked example of Wikipedia's article on the method (0.01, 0.04,
// 0.03, 0.005: the first and the fourth are rejected at 5 %), adjusted as R's
// p.adjust does; what is not tested does not count.
func TestHolm(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct{ p, want []float64 }{
		{[]float64{0.01, 0.04, 0.03, 0.005}, []float64{0.03, 0.06, 0.06, 0.02}},
		{[]float64{0.01, nan, 0.04, 0.03, nan, 0.005}, []float64{0.03, nan, 0.06, 0.06, nan, 0.02}},
		{[]float64{0.5, 0.6}, []float64{1, 1}}, {[]float64{0.04}, []float64{0.04}}, {[]float64{nan}, []float64{nan}}, {nil, nil},
	} {
		got := Holm(c.p)
		if len(got) != len(c.want) {
			t.Fatalf("%v: %v, want %v", c.p, got, c.want)
		}
		for i, v := range got {
			if math.Abs(v-c.want[i]) > 1e-15 || math.IsNaN(v) != math.IsNaN(c.want[i]) {
				t.Errorf("%v: %v, want %v", c.p, got, c.want)
			}
		}
	}
}

// TestHolmIsClosedBonferroni: an adjusted p is the largest Bonferroni p of all the
// intersections that a hypothesis is in (Marcus, Peritz and Gabriel 1976).
func TestHolmIsClosedBonferroni(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 1))
	for range 100 {
		p := make([]float64, 1+rng.IntN(7))
		for i := range p {
			p[i] = math.Round(100*rng.Float64()*rng.Float64()) / 100 // ties too
		}
		got := Holm(p)
		for i := range p {
			want := 0.0
			for mask := range 1 << len(p) {
				if mask>>i&1 == 0 {
					continue
				}
				size, least := 0, 1.0
				for j, v := range p {
					if mask>>j&1 == 1 {
						size, least = size+1, min(least, v)
					}
				}
				want = max(want, min(1, float64(size)*least))
			}
			if math.Abs(got[i]-want) > 1e-15 {
				t.Fatalf("%v: adjusted %v, closed %d: %v", p, got, i, want)
			}
		}
	}
}
