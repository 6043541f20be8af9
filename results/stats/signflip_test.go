package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestSignFlip: Fisher's own count for the maize, 1,726 of the 32,768 arrangements
// (The Design of Experiments, 1935, section 21), and what can be told by hand.
func TestSignFlip(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		d    []float64
		want float64
	}{
		{zeaMays, 1726.0 / 32768},
		{[]float64{1, 2, 3, 4, 5}, 2.0 / 32}, {[]float64{-1}, 1}, {[]float64{0, 0, 0}, 1},
		{[]float64{1, 1, 1, 1, 1, 0}, 2.0 / 32},          // a zero decides nothing
		{[]float64{1, 1, -1}, 1},                         // sums ±1 and ±3
		{[]float64{0.1, 0.2, 0.3, -0.1, -0.2, -0.3}, 1},  // a sum that is zero but for rounding
		{[]float64{0.1, 0.2, 0.3, 0.6, 0.7}, 2.0 / 32},   // 0.1+0.2+0.3 is not 0.6
		{[]float64{0.1, 0.2, -0.3, 0.6, 0.7}, 10.0 / 32}, // 13 tenths: those without {}, 1, 2, 3 or 1 and 2
		{nil, nan}, {[]float64{1, nan}, nan}, {[]float64{1, math.Inf(1)}, nan},
	} {
		if got := SignFlip(c.d); got != c.want && !(math.IsNaN(got) && math.IsNaN(c.want)) {
			t.Errorf("%v: %v, want %v", c.d, got, c.want)
		}
	}
}

// TestSignFlipEnumerated counts whole numbers, which do not round, mask by mask.
func TestSignFlipEnumerated(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 9))
	for range 200 {
		n := 1 + rng.IntN(10)
		d, sum := make([]int, n), 0
		scaled := make([]float64, n)
		for i := range d {
			d[i] = rng.IntN(9) - 3
			sum, scaled[i] = sum+d[i], float64(d[i])*0.1
		}
		far := 0
		for mask := range 1 << n {
			flipped := 0
			for i, v := range d {
				if mask>>i&1 == 1 {
					v = -v
				}
				flipped += v
			}
			if max(flipped, -flipped) >= max(sum, -sum) {
				far++
			}
		}
		if got, want := SignFlip(scaled), float64(far)/float64(int(1)<<n); got != want {
			t.Errorf("tenths of %v: %v, want %v", d, got, want)
		}
	}
}

// TestSignFlipDrawn: beyond what is enumerated, whole numbers by the distribution of
// their sum, counted exactly; four standard errors of the drawn share.
func TestSignFlipDrawn(t *testing.T) {
	d, sum := make([]float64, 30), 0
	ways := map[int]float64{0: 1}
	for i := range d {
		v := i%7 - 2
		d[i], sum = float64(v), sum+v
		next := map[int]float64{}
		for s, w := range ways {
			next[s+v] += w / 2
			next[s-v] += w / 2
		}
		ways = next
	}
	want := 0.0
	for s, w := range ways {
		if max(s, -s) >= sum {
			want += w
		}
	}
	got := SignFlip(d)
	within(t, "drawn", got, want, 4*math.Sqrt(want*(1-want)/drawnFlips))
	if again := SignFlip(d); again != got {
		t.Errorf("drawn again it is %v, not %v", again, got)
	}
	for i := range d {
		d[i] = 1
	}
	if got, want := SignFlip(d), 1.0/(drawnFlips+1); got != want { // never 0
		t.Errorf("thirty of thirty: %v, want %v", got, want)
	}
}
