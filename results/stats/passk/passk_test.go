package passk

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"driftlab/trainer/method/stream"
)

// The figures of the post that the package follows.
func Example() {
	fmt.Printf("p = 0.05: pass@10 = %.3f\np = 0.15: pass@10 = %.3f\n", passAt(0.05, 10), passAt(0.15, 10))
	fmt.Printf("2 of 16 correct: pass@4 = %.3f, plug-in %.3f\n", Unbiased(16, 2, 4), PlugIn(16, 2, 4))
	fit := Fit([]Tally{{Correct: 0, Samples: 16}, {Correct: 1, Samples: 16}, {Correct: 2, Samples: 16}, {Correct: 9, Samples: 16}, {Correct: 16, Samples: 16}, {Correct: 0, Samples: 16}, {Correct: 4, Samples: 16}, {Correct: 14, Samples: 16}})
	fmt.Printf("Beta(%.2f, %.2f): pass@1 = %.2f, pass@256 = %.2f\n", fit.Alpha, fit.Beta, fit.PassAt(1), fit.PassAt(256))
	// Output:
	// p = 0.05: pass@10 = 0.401
	// p = 0.15: pass@10 = 0.803
	// 2 of 16 correct: pass@4 = 0.450, plug-in 0.414
	// Beta(0.30, 0.48): pass@1 = 0.38, pass@256 = 0.88
}

// The combinatorial estimator is right on average, summed over every outcome; the
// plug-in is too low.
func TestUnbiasedIsUnbiased(t *testing.T) {
	const n = 12
	for _, p := range []float64{0.01, 0.2, 0.5, 0.9} {
		for k := 1; k <= n; k++ {
			unbiased, plugIn := 0.0, 0.0
			for c := range n + 1 {
				chance := binomial(n, c) * math.Pow(p, float64(c)) * math.Pow(1-p, float64(n-c))
				unbiased += chance * Unbiased(n, c, k)
				plugIn += chance * PlugIn(n, c, k)
			}
			if want := passAt(p, k); math.Abs(unbiased-want) > 1e-12 || k > 1 && plugIn >= want {
				t.Errorf("p = %v, k = %d: unbiased %v, plug-in %v, want %v", p, k, unbiased, plugIn, want)
			}
		}
	}
}

func binomial(n, k int) float64 {
	v := 1.0
	for i := range k {
		v *= float64(n-i) / float64(i+1)
	}
	return v
}

// The analytic derivatives match the numerical derivatives of the value.
func TestDerivatives(t *testing.T) {
	l := newLikelihood([]Tally{{Correct: 0, Samples: 8}, {Correct: 3, Samples: 8}, {Correct: 8, Samples: 8}, {Correct: 1, Samples: 30}, {Correct: 0, Samples: 1}})
	const h = 1e-5
	for _, p := range [][2]float64{{0.3, 0.7}, {2, 5}, {40, 0.1}} {
		d := l.at(p[0], p[1])
		up, down := l.at(p[0]+h, p[1]), l.at(p[0]-h, p[1])
		right, left := l.at(p[0], p[1]+h), l.at(p[0], p[1]-h)
		for _, c := range []struct {
			name      string
			got, want float64
		}{
			{"a", d.a, (up.value - down.value) / (2 * h)}, {"b", d.b, (right.value - left.value) / (2 * h)},
			{"aa", d.aa, (up.a - down.a) / (2 * h)}, {"ab", d.ab, (right.a - left.a) / (2 * h)}, {"bb", d.bb, (right.b - left.b) / (2 * h)},
		} {
			if math.Abs(c.got-c.want) > 1e-6*(1+math.Abs(c.want)) {
				t.Errorf("at %v: d%s = %v, finite differences %v", p, c.name, c.got, c.want)
			}
		}
	}
}

// draws are tallies of prompts whose pass rates are Beta(a, b), for whole a and b: order
// statistics of uniform draws are.
func draws(rng *rand.Rand, prompts, a, b int, samples func(p float64) Tally) []Tally {
	var out []Tally
	for range prompts {
		x, y := 0.0, 0.0
		for range a {
			x += stream.Exponential(rng)
		}
		for range b {
			y += stream.Exponential(rng)
		}
		out = append(out, samples(x/(x+y)))
	}
	return out
}

// The interval at k far beyond the samples covers the truth as often as it says,
// with tallies of one size and with those that go on until two are correct.
func TestIntervalCovers(t *testing.T) {
	const prompts, a, b, k = 60, 1, 4, 256
	truth := Beta{Alpha: a, Beta: b}.PassAt(k)
	fixed := func(rng *rand.Rand) func(float64) Tally {
		return func(p float64) (t Tally) {
			for range 16 {
				t.Samples++
				if rng.Float64() < p {
					t.Correct++
				}
			}
			return t
		}
	}
	dynamic := func(rng *rand.Rand) func(float64) Tally {
		return func(p float64) (t Tally) {
			for t.Correct < 2 && t.Samples < 200 {
				t.Samples++
				if rng.Float64() < p {
					t.Correct++
				}
			}
			return t
		}
	}
	for name, sampling := range map[string]func(*rand.Rand) func(float64) Tally{"fixed": fixed, "dynamic": dynamic} {
		const times = 400
		held, mean := 0, 0.0
		for i := range times {
			rng := rand.New(rand.NewPCG(7, uint64(i)))
			fit := Fit(draws(rng, prompts, a, b, sampling(rng)))
			low, high := fit.Interval(k)
			if low <= truth && truth <= high {
				held++
			}
			mean += fit.PassAt(k) / times
		}
		if share := float64(held) / times; share < 0.9 || math.Abs(mean-truth) > 0.02 {
			t.Errorf("%s: %.3f of the intervals hold %v, mean estimate %v", name, share, truth, mean)
		}
	}
}

// Where hard prompts go on until two are correct, the estimates stay unbiased, and
// c/n is too high.
func TestDynamicIsUnbiased(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	const p, first, most, times = 0.1, 4, 60, 60_000
	naive, one, three := 0.0, 0.0, 0.0
	for range times {
		var y Tally
		for y.Samples < first || y.Correct < 2 && y.Samples < most {
			y.Samples++
			if rng.Float64() < p {
				y.Correct++
				y.Stopped = y.Samples > first && y.Correct == 2
			}
		}
		naive += float64(y.Correct) / float64(y.Samples) / times
		one += y.PassAt(1) / times
		three += y.PassAt(3) / times
	}
	if math.Abs(one-p) > 0.002 || math.Abs(three-passAt(p, 3)) > 0.005 || naive < p+0.02 {
		t.Errorf("pass@1 %v, naive %v, want %v; pass@3 %v, want %v", one, naive, p, three, passAt(p, 3))
	}
}

// Counts that fix nothing give an estimate and no interval.
func TestEdges(t *testing.T) {
	for name, tallies := range map[string][]Tally{
		"all wrong": {{Correct: 0, Samples: 8}, {Correct: 0, Samples: 8}}, "all correct": {{Correct: 8, Samples: 8}, {Correct: 8, Samples: 8}}, "one sample": {{Correct: 1, Samples: 1}}, "alike": {{Correct: 4, Samples: 8}, {Correct: 4, Samples: 8}, {Correct: 4, Samples: 8}},
	} {
		fit := Fit(tallies)
		want := Mean(tallies, 1)
		if low, high := fit.Interval(4); !math.IsNaN(low) || !math.IsNaN(high) || math.Abs(fit.Alpha/(fit.Alpha+fit.Beta)-want) > 0.01 || math.IsNaN(fit.PassAt(1000)) {
			t.Errorf("%s: Beta(%v, %v), mean %v, interval %v to %v", name, fit.Alpha, fit.Beta, fit.Alpha/(fit.Alpha+fit.Beta), low, high)
		}
	}
}
