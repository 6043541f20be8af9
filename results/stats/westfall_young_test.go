package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
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
	defer func() {
		if recover() == nil {
			t.Error("lists of different lengths")
		}
	}()
	WestfallYoung([][]float64{{1, 2}, {1}})
}

// A list whose |t| is beyond the critical one has an adjusted p of at most the level; the one just
// below it has not, since the critical |t| is that of the list that is farthest from zero.
func TestWestfallYoungCritical(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	const n, lists = 9, 12
	var all [][]float64
	for k := range lists {
		d := make([]float64, n)
		for i := range d {
			d[i] = rng.NormFloat64() + 0.15*float64(k)
		}
		all = append(all, d)
	}
	critical := WestfallYoungCritical(all, 0.05)
	p := WestfallYoung(all)
	beyond, farthest := 0, 0
	for k, d := range all {
		tOf := func(d []float64) float64 { return math.Abs(Average(d)) / (Deviation(d) / math.Sqrt(n)) }
		if tOf(d) > critical {
			if beyond++; p[k] > 0.05 {
				t.Errorf("list %d: t %.2f beyond %.2f and p %.3f", k, tOf(d), critical, p[k])
			}
		}
		if tOf(d) > tOf(all[farthest]) {
			farthest = k
		}
	}
	if beyond == 0 {
		t.Fatal("no list is beyond the critical t: nothing was checked")
	}
	// Of the list that is farthest from zero alone p is exactly the share of larger maxima.
	if one := WestfallYoungCritical(all[farthest:farthest+1], 0.05); one > critical {
		t.Errorf("one list has the critical t %.2f, all have %.2f", one, critical)
	}
	if v := WestfallYoungCritical([][]float64{{1, 2, 3}}, 0.05); !math.IsInf(v, 1) {
		t.Errorf("three pairs have the critical t %v, want none", v)
	}
	if v := WestfallYoungCritical([][]float64{{0, 0, 0}}, 0.05); !math.IsNaN(v) {
		t.Errorf("zeros have the critical t %v, want NaN", v)
	}
}

// With the critical t of the t-test the smallest effect is that of the t-test.
func TestSmallestEffectBeyond(t *testing.T) {
	if got, want := SmallestEffectBeyond(0.2, 10, StudentQuantile(9)), SmallestEffect(0.2, 10); math.Abs(got-want) > 1e-9 {
		t.Errorf("%v, want %v", got, want)
	}
	if SmallestEffectBeyond(0.2, 10, 5) <= SmallestEffect(0.2, 10) {
		t.Error("a higher critical t detects smaller effects")
	}
	if v := SmallestEffectBeyond(0.2, 10, math.Inf(1)); !math.IsInf(v, 1) {
		t.Errorf("a test that rejects nothing detects %v", v)
	}
}
