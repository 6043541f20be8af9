package rollout

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

// logits whose probabilities at temperature 1 are exactly these, up to rounding.
func logitsOf(probs ...float64) []float32 {
	var x []float32
	for _, p := range probs {
		x = append(x, float32(math.Log(p)))
	}
	return x
}

// law is the distribution that the sampling settings define, in float64.
func law(logits []float32, s Sampling) []float64 {
	p := make([]float64, len(logits))
	var sum float64
	for i, z := range logits {
		p[i] = math.Exp(float64(z) / s.Temperature)
		sum += p[i]
	}
	order := make([]int, len(p))
	for i := range p {
		p[i] /= sum
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		if p[a] > p[b] {
			return -1
		}
		if p[a] < p[b] {
			return 1
		}
		return 0
	})
	if s.TopK > 0 && s.TopK < len(order) {
		order = order[:s.TopK]
	}
	var kept float64
	for _, i := range order {
		kept += p[i]
	}
	n, mass := 0, 0.0
	for n < len(order) && (n == 0 || mass < s.TopP*kept) {
		mass += p[order[n]]
		n++
	}
	truncated := make([]float64, len(p))
	for _, i := range order[:n] {
		truncated[i] = p[i] / mass
	}
	return truncated
}

// chiSquare draws n tokens and returns Pearson's statistic against probs and
// the degrees of freedom; a token of probability zero makes it infinite.
func chiSquare(logits []float32, s Sampling, probs []float64, n int) (statistic float64, freedom int) {
	var m sampler
	var rng rand.PCG
	rng.Seed(11, 12)
	counts := make([]float64, len(logits))
	for range n {
		counts[m.draw(logits, s, &rng).token]++
	}
	for i, p := range probs {
		if p == 0 {
			if counts[i] > 0 {
				return math.Inf(1), 0
			}
			continue
		}
		freedom++
		d := counts[i] - p*float64(n)
		statistic += d * d / (p * float64(n))
	}
	return statistic, freedom - 1
}

// Tokens are drawn from the distribution the settings define: Pearson's test at a fixed
// seed, accepted below the quantile that one true distribution in ten thousand exceeds.
// The same draws must refuse the distributions of neighbouring settings.
func TestSamplingLaw(t *testing.T) {
	const n = 100_000
	logits := []float32{0.3, -1.2, 2.1, 0.7, -0.4, 1.1, -3, 0.1}
	settings := []Sampling{
		{Temperature: 1, TopP: 1}, {Temperature: 0.6, TopP: 1}, {Temperature: 1.7, TopP: 1},
		{Temperature: 1, TopP: 1, TopK: 3}, {Temperature: 1, TopP: 0.8}, {Temperature: 1.3, TopP: 0.9, TopK: 6},
	}
	for i, s := range settings {
		for j, other := range settings {
			draws := n
			if i != j {
				draws = n / 10 // another distribution is far away
			}
			statistic, freedom := chiSquare(logits, s, law(logits, other), draws)
			critical := math.Inf(1)
			if freedom > 0 {
				critical = distuv.ChiSquared{K: float64(freedom)}.Quantile(1 - 1e-4)
			}
			if i == j && statistic > critical {
				t.Errorf("%+v: statistic %.1f for %d degrees of freedom, critical is %.1f", s, statistic, freedom, critical)
			}
			if i != j && freedom > 0 && statistic < critical {
				t.Errorf("%+v passes for %+v: the test says nothing", s, other)
			}
		}
	}
}

// Hand-worked supports. Probabilities 0.4, 0.3, 0.15, 0.1, 0.05 in a shuffled
// order; top-p acts on what top-k left, relative to its mass.
func TestTruncation(t *testing.T) {
	//                 0     1    2    3     4
	logits := logitsOf(0.15, 0.4, 0.1, 0.05, 0.3)
	for _, test := range []struct {
		name    string
		topK    int
		topP    float64
		support []int32
		kept    float64
	}{
		{"nothing", 0, 1, nil, 1},
		{"top-k of all", 5, 1, nil, 1},
		{"top-k above all", 9, 1, nil, 1},
		{"top-k", 2, 1, []int32{1, 4}, 0.7},
		{"top-k of one", 1, 1, []int32{1}, 0.4},
		{"top-p below the first", 0, 0.1, []int32{1}, 0.4},
		{"top-p within the second", 0, 0.5, []int32{1, 4}, 0.7},
		{"top-p within the third", 0, 0.8, []int32{0, 1, 4}, 0.85},
		{"top-p within the last", 0, 0.97, []int32{0, 1, 2, 3, 4}, 1},
		// 0.8 of the three's 0.85 is 0.68: two of them, where 0.8 of everything
		// takes the third.
		{"top-p of top-k", 3, 0.8, []int32{1, 4}, 0.7},
		{"top-p of top-k, all of it", 3, 0.9, []int32{0, 1, 4}, 0.85},
	} {
		t.Run(test.name, func(t *testing.T) {
			var m sampler
			var rng rand.PCG
			d := m.draw(logits, Sampling{Temperature: 1, TopK: test.topK, TopP: test.topP}, &rng)
			if !slices.Equal(d.support, test.support) || (d.support == nil) != (test.support == nil) {
				t.Errorf("support %v, want %v", d.support, test.support)
			}
			if math.Abs(d.kept-test.kept) > 1e-6 {
				t.Errorf("kept mass %g, want %g", d.kept, test.kept)
			}
		})
	}
	// Equal probabilities go to the lower ids.
	var m sampler
	var rng rand.PCG
	if d := m.draw(logitsOf(0.25, 0.25, 0.25, 0.25), Sampling{Temperature: 1, TopK: 2, TopP: 1}, &rng); !slices.Equal(d.support, []int32{0, 1}) {
		t.Errorf("top 2 of four equal tokens are %v", d.support)
	}
}

// At temperature 0 the first of the likeliest is taken, no random number is
// used, and the log-prob is taken at temperature 1.
func TestGreedyDraw(t *testing.T) {
	var m sampler
	var rng, fresh rand.PCG
	d := m.draw(logitsOf(0.2, 0.35, 0.1, 0.35), Sampling{TopP: 1}, &rng)
	if d.token != 1 || d.kept != 1 || d.support != nil || math.Abs(d.logp-math.Log(0.35)) > 1e-6 {
		t.Errorf("drew %+v", d)
	}
	if rng != fresh {
		t.Error("a greedy draw used a random number")
	}
}

// A row of NaN gives a token all the same, and a log-prob that shows it.
func TestDrawFromNaN(t *testing.T) {
	nan := float32(math.NaN())
	for _, s := range []Sampling{{Temperature: 1, TopP: 1}, {Temperature: 1, TopP: 0.5}, {TopP: 1}} {
		var m sampler
		var rng rand.PCG
		if d := m.draw([]float32{nan, nan, nan}, s, &rng); d.token != 0 || !math.IsNaN(d.logp) {
			t.Errorf("%+v: drew %+v", s, d)
		}
	}
}

// A draw beyond the rounded total takes the last token that is possible.
func TestDrawAtTheEnd(t *testing.T) {
	m := sampler{probs: []float32{0.5, 0.4, 0}}
	if token := m.pick(nil, 1, topOfRange()); token != 1 {
		t.Errorf("token %d", token)
	}
	if token := m.pick([]int32{0, 2}, 0.6, topOfRange()); token != 0 {
		t.Errorf("token %d of the support", token)
	}
}

// topOfRange is a generator whose next number is close to its largest.
func topOfRange() *rand.PCG {
	for seed := uint64(0); ; seed++ {
		rng := rand.NewPCG(seed, 0)
		if copied := *rng; copied.Uint64() > math.MaxUint64/100*99 {
			return rng
		}
	}
}

// Rows that are prepared a few at a time give what each gives by itself.
func TestPreparedRowsAreSingleRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	var several, single sampler
	for _, n := range []int{5, 32, 80} {
		for rows := range 2*blockRows + 3 {
			logits := make([]float32, rows*n)
			for i := range logits {
				logits[i] = float32(rng.NormFloat64())
			}
			for _, s := range []Sampling{{Temperature: 1, TopP: 1}, {Temperature: 0.7, TopP: 0.9, TopK: 4, OnSupport: true}, {TopP: 1}, {Temperature: 1.5, TopP: 1, LogProbs: Raw}} {
				var a, b rand.PCG
				a.Seed(1, uint64(rows))
				b.Seed(1, uint64(rows))
				for left := logits; len(left) > 0; left = left[n:] {
					several.prepare(left, n, s.Temperature)
					got := several.drawPrepared(left[:n], s, &a)
					want := single.draw(left[:n], s, &b)
					if got.token != want.token || got.logp != want.logp || got.kept != want.kept || !slices.Equal(got.support, want.support) || !slices.Equal(several.logp, single.logp) {
						t.Fatalf("%d rows of %d, %+v: %+v, by itself %+v", rows, n, s, got, want)
					}
				}
			}
		}
	}
}
