package rollout

import (
	"fmt"
	"math"

	"driftlab/precision/elementary"
)

// Verify says what becomes of a drafted token.
type Verify string

const (
	// Exact accepts a token a with probability min(1, p(a)/q(a)) and draws from
	// (p-q)+, normalised, where it rejects: the result has the verifier's law p
	// whatever the drafter's law q (arXiv:2211.17192, arXiv:2302.01318).
	Exact Verify = "exact"
	// Lossy accepts with probability min(1, (1+tau)·p(a)/q(a)), and so more often;
	// the law leans towards q. A tau of 0 is Exact.
	Lossy Verify = "lossy"
	// Greedy accepts a token that is the verifier's most likely one, of equals the
	// first, and draws from p in place of any other; the law leans towards that token.
	Greedy Verify = "greedy"
)

// Accept is the probability of accepting token a, drafted from q, in a state in
// which the verifier's law is p.
func (s Speculative) Accept(p, q []float64, a int) float64 {
	switch s.Verify {
	case Greedy:
		if a == likeliest(p) {
			return 1
		}
		return 0
	case Lossy:
		return min(1, (1+s.Tau)*p[a]/q[a])
	}
	return min(1, p[a]/q[a])
}

// Residual sets dst to the law of the token that takes the place of a rejected one.
func (s Speculative) Residual(dst, p, q []float64) {
	total := 0.0
	if s.Verify != Greedy {
		for a := range p {
			dst[a] = max(p[a]-q[a], 0)
			total += dst[a]
		}
	}
	if total == 0 { // equal laws, of which nothing is rejected but by rounding
		copy(dst, p)
		return
	}
	for a := range dst[:len(p)] {
		dst[a] /= total
	}
}

// Law sets dst to the law of the token that is emitted where one drafted from q
// was put to the test:
//
//	law(a) = q(a)·accept(a) + Σ q·(1 - accept)·residual(a)
//
// For Exact that is p up to rounding.
func (s Speculative) Law(dst, p, q []float64) {
	rejected := 0.0
	for a := range p {
		if q[a] > 0 {
			rejected += float64(q[a] * (1 - s.Accept(p, q, a)))
		}
	}
	s.Residual(dst, p, q)
	for a := range p {
		dst[a] *= rejected
		if q[a] > 0 {
			dst[a] += float64(q[a] * s.Accept(p, q, a))
		}
	}
}

// Distance is the total variation ½·Σ|p - q| of two laws.
func Distance(p, q []float64) float64 {
	sum := 0.0
	for a := range p {
		sum += math.Abs(p[a] - q[a])
	}
	return sum / 2
}

// Speedup is the predicted speed of drafting k tokens per pass, relative to no
// drafting, where a drafted token is accepted with the given rate and drafting
// one costs the given share of a pass of the verifier (arXiv:2211.17192,
// theorem 3.8):
//
//	(1 - acceptance^(k+1)) / ((1 - acceptance)·(cost·k + 1))
func Speedup(acceptance, cost float64, k int) float64 {
	expected := float64(k + 1)
	if acceptance < 1 {
		expected = (1 - elementary.Pow(acceptance, float64(k+1))) / (1 - acceptance)
	}
	return expected / (float64(cost*float64(k)) + 1)
}

// likeliest is the index of the largest entry, of equals the first.
func likeliest(p []float64) int {
	best := 0
	for a, x := range p {
		if x > p[best] {
			best = a
		}
	}
	return best
}

// drawFrom returns the index at which the running sum of a law exceeds u; what
// rounding leaves belongs to the last possible one.
func drawFrom(law []float64, u float64) int32 {
	sum, last := 0.0, int32(0)
	for a, x := range law {
		if x > 0 {
			last = int32(a)
		}
		if sum += x; u < sum {
			return int32(a)
		}
	}
	return last
}

// unbiased reports that the law of what is emitted is the verifier's own, by
// theorem: nothing is then computed of it, nor rounded.
func (s Speculative) unbiased() bool {
	return s.Verify == Exact || s.Verify == Lossy && s.Tau == 0
}

// check panics on values a recipe's validation does not let through.
func (s Speculative) check() {
	known := s.Verify == Exact || s.Verify == Lossy || s.Verify == Greedy
	read := s.LogProbs == FromVerifier || s.LogProbs == FromDrafter || s.LogProbs == FromLaw
	if !known || !read || s.Draft < 0 || s.Tau < 0 || s.Tau > 0 && s.Verify != Lossy {
		panic(fmt.Sprintf("rollout: impossible speculation %+v", s))
	}
}
