package rollout_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"driftlab/engine/rollout"
)

// randomLaw draws a distribution over n tokens, some of them impossible.
func randomLaw(rng *rand.Rand, n int) []float64 {
	law, sum := make([]float64, n), 0.0
	for a := range law {
		if rng.IntN(5) > 0 || a == 0 {
			law[a] = math.Exp(2 * rng.NormFloat64())
			sum += law[a]
		}
	}
	for a := range law {
		law[a] /= sum
	}
	return law
}

// Exact verification emits the verifier's distribution, and so does lenient verification
// without leniency; the acceptance is 1 - TV. Of a lenient test both the
// acceptance and the distance from the verifier's distribution grow with tau, from
// exactly these; the greedy test too has another distribution. Every distribution sums to one.
func TestLaws(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	largest := 0.0
	for range 200 {
		p, q := randomLaw(rng, 6), randomLaw(rng, 6)
		law, tv := make([]float64, 6), rollout.Distance(p, q)
		accepted := func(s rollout.Speculative) (sum float64) {
			for a := range q {
				if q[a] > 0 {
					sum += q[a] * s.Accept(p, q, a)
				}
			}
			return sum
		}
		shift := func(s rollout.Speculative) float64 {
			s.Law(law, p, q)
			total := 0.0
			for _, x := range law {
				total += x
			}
			if math.Abs(total-1) > 1e-14 {
				t.Fatalf("%+v: a law sums to %g", s, total)
			}
			return rollout.Distance(law, p)
		}
		exact := rollout.Speculative{Verify: rollout.Exact}
		if d := shift(exact); d > 1e-15 {
			t.Fatalf("exact verification is %g from the law", d)
		}
		if a := accepted(exact); math.Abs(a-(1-tv)) > 1e-15 {
			t.Fatalf("acceptance %g, total variation %g", a, tv)
		}
		before, rate := 0.0, 1-tv
		for i, tau := range []float64{0, 0.1, 0.5, 2, 50} {
			s := rollout.Speculative{Verify: rollout.Lossy, Tau: tau}
			d, a := shift(s), accepted(s)
			if i == 0 && (d > 1e-15 || math.Abs(a-rate) > 1e-15) || d < before-1e-14 || a < rate-1e-14 {
				t.Fatalf("tau %g: shift %g after %g, acceptance %g after %g", tau, d, before, a, rate)
			}
			if d > tv+1e-14 {
				t.Fatalf("tau %g: %g from the verifier, and the drafter only %g", tau, d, tv)
			}
			before, rate, largest = d, a, max(largest, d)
		}
		greedy := rollout.Speculative{Verify: rollout.Greedy}
		best := 0
		for a := range p {
			if p[a] > p[best] {
				best = a
			}
		}
		shift(greedy)
		for a := range p {
			want := (1 - q[best]) * p[a]
			if a == best {
				want += q[best]
			}
			if math.Abs(law[a]-want) > 1e-15 {
				t.Fatalf("greedy: token %d has %g, want %g", a, law[a], want)
			}
		}
	}
	if largest < 0.1 {
		t.Errorf("leniency moves a law by %g at most", largest)
	}
}

// process is a tabular pair of models: next-token distributions by the tokens before.
type process struct {
	verifier, drafter func(prefix []int) []float64
	setting           rollout.Speculative
}

// sum adds the probability of every continuation of prefix by left tokens, over all paths:
// every draft, every outcome of each test, every replacement. Windows draft as
// many tokens as leave room for the one after them.
func (c *process) sum(law map[[4]int]float64, prefix []int, left int, weight float64) {
	if left == 0 {
		var key [4]int
		copy(key[:], prefix)
		law[key] += weight
		return
	}
	c.window(law, prefix, nil, min(c.setting.Draft, left-1), left, weight)
}

// window goes through the drafts of one window, then through their tests.
func (c *process) window(law map[[4]int]float64, prefix, drafted []int, draft, left int, weight float64) {
	if len(drafted) < draft {
		for a, q := range c.drafter(append(prefix[:len(prefix):len(prefix)], drafted...)) {
			if q > 0 {
				c.window(law, prefix, append(drafted[:len(drafted):len(drafted)], a), draft, left, weight*q)
			}
		}
		return
	}
	at := prefix
	for _, a := range drafted {
		p, q := c.verifier(at), c.drafter(at)
		accept := c.setting.Accept(p, q, a)
		residual := make([]float64, len(p))
		c.setting.Residual(residual, p, q)
		for b, r := range residual {
			if w := weight * (1 - accept) * r; w > 0 {
				c.sum(law, append(at[:len(at):len(at)], b), left-(len(at)-len(prefix))-1, w)
			}
		}
		if weight *= accept; weight == 0 {
			return
		}
		at = append(at[:len(at):len(at)], a)
	}
	for b, p := range c.verifier(at) {
		if p > 0 {
			c.sum(law, append(at[:len(at):len(at)], b), left-len(drafted)-1, weight*p)
		}
	}
}

// Summed over all paths of windows, drafts, rejections and replacements, every
// sequence has the verifier's probability, however long the windows are, if
// verification is exact; and not if it is not.
func TestEveryPath(t *testing.T) {
	table := func(seed uint64) func(prefix []int) []float64 {
		return func(prefix []int) []float64 {
			state := uint64(0)
			for _, a := range prefix {
				state = 4*state + uint64(a) + 1
			}
			return randomLaw(rand.New(rand.NewPCG(seed, state)), 3)
		}
	}
	p := table(1)
	for draft := range 4 {
		for _, s := range []rollout.Speculative{
			{Verify: rollout.Exact}, {Verify: rollout.Lossy}, {Verify: rollout.Lossy, Tau: 0.5}, {Verify: rollout.Greedy},
		} {
			s.Draft = draft
			c, law := process{p, table(2), s}, map[[4]int]float64{}
			c.sum(law, nil, 4, 1)
			off, total := 0.0, 0.0
			for key, have := range law {
				want := 1.0
				for i, a := range key {
					want *= p(key[:i])[a]
				}
				off, total = max(off, math.Abs(have-want)), total+have
			}
			exact := draft == 0 || s.Verify == rollout.Exact || s.Verify == rollout.Lossy && s.Tau == 0
			if math.Abs(total-1) > 1e-12 || exact != (off < 1e-13) {
				t.Errorf("%+v: probabilities sum to %g and are up to %g off", s, total, off)
			}
		}
	}
}

// The predicted speed is the value of the formula, its limit where everything is
// accepted, and 1 without drafting.
func TestSpeedup(t *testing.T) {
	for _, c := range []struct {
		acceptance, cost float64
		k                int
		want             float64
	}{{0.8, 0.1, 4, (1 - math.Pow(0.8, 5)) / 0.2 / 1.4}, {1, 0.1, 4, 5 / 1.4}, {0, 0.5, 2, 0.5}, {0.7, 0.3, 0, 1}} {
		if got := rollout.Speedup(c.acceptance, c.cost, c.k); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%+v: %g", c, got)
		}
	}
}
