package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"driftlab/precision/must"
)

// differences are lists of n pairs around the means given.
func differences(rng *rand.Rand, n int, means ...float64) [][]float64 {
	lists := make([][]float64, len(means))
	for k, mean := range means {
		for range n {
			lists[k] = append(lists[k], mean+rng.NormFloat64())
		}
	}
	return lists
}

// TestWestfallYoungOfOne: one list is Fisher's own test, and the same list twice is one.
func TestWestfallYoungOfOne(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 1))
	for n := 1; n <= 12; n++ {
		d := differences(rng, n, 0.5)[0]
		want := SignFlip(d)
		for _, lists := range [][][]float64{{d}, {d, d}, {Each(d, func(v float64) float64 { return 1e-3 * v }), Negated(d)}} {
			for _, got := range WestfallYoung(lists) {
				if got != want {
					t.Errorf("%d pairs, %d lists: %v, want %v", n, len(lists), got, want)
				}
			}
		}
	}
}

// TestWestfallYoungEnumerated sets the definition beside it: the share of patterns in
// which the largest |t| of a list and all that are nearer to zero reaches the list's,
// and never less than that of a farther one.
func TestWestfallYoungEnumerated(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 2))
	studentised := func(d []float64, mask int) float64 {
		flipped := slices.Clone(d)
		for i := range flipped {
			if mask>>i&1 == 1 {
				flipped[i] = -flipped[i]
			}
		}
		return math.Abs(Average(flipped)) / Deviation(flipped)
	}
	for range 20 {
		const n = 7
		lists := differences(rng, n, 0, 0.5, 2, 0, 1)
		got := WestfallYoung(lists)
		for k := range lists {
			want := 0.0
			for _, farther := range lists {
				bound := studentised(farther, 0)
				if bound < studentised(lists[k], 0) {
					continue
				}
				count := 0
				for mask := range 1 << n {
					if slices.ContainsFunc(lists, func(d []float64) bool {
						return studentised(d, 0) <= bound && studentised(d, mask) >= bound*(1-1e-9)
					}) {
						count++
					}
				}
				want = max(want, float64(count)/(1<<n))
			}
			if got[k] != want {
				t.Errorf("list %d: %v, want %v", k, got[k], want)
			}
		}
	}
}

// TestWestfallYoungFamily: where nothing is to be found, it finds something in one
// family of twenty; what is there is found beside what is not.
func TestWestfallYoungFamily(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 3))
	const families = 400
	wrong, found := 0, 0
	for range families {
		p := WestfallYoung(differences(rng, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))
		if slices.Min(p) <= 0.05 {
			wrong++
		}
		if WestfallYoung(differences(rng, 8, 3, 0, 0, 0, 0, 0))[0] <= 0.05 {
			found++
		}
	}
	within(t, "families with a false one", float64(wrong)/families, 0.05, 4*math.Sqrt(0.05*0.95/families))
	if found < families*9/10 {
		t.Errorf("three standard deviations were found %d times of %d", found, families)
	}
}

// TestWestfallYoungUntested: what cannot be tested does not count, and many pairs are drawn.
func TestWestfallYoungUntested(t *testing.T) {
	d := []float64{1, 2, 3, 4, 5}
	p := WestfallYoung([][]float64{{0, 0, 0, 0, 0}, d, {1, 2, math.NaN(), 4, 5}, {1, 2, 3, 4, math.Inf(1)}})
	if p[1] != SignFlip(d) || !math.IsNaN(p[0]) || !math.IsNaN(p[2]) || !math.IsNaN(p[3]) {
		t.Errorf("p are %v", p)
	}
	if got := WestfallYoung(nil); len(got) != 0 {
		t.Errorf("no lists: %v", got)
	}
	many := differences(rand.New(rand.NewPCG(5, 4)), 30, 2)
	if got, want := WestfallYoung(many)[0], 1.0/(drawnFlips+1); got != want {
		t.Errorf("thirty far from zero: %v, want %v", got, want)
	}
	must.Panic(t, "lists of different lengths", func() { WestfallYoung([][]float64{{1, 2}, {1}}) })
}
