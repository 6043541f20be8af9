package passk

import "driftlab/precision/elementary"

// Tally counts the responses to one prompt.
type Tally struct {
	// Correct of Samples responses were accepted.
	Correct, Samples int
	// Stopped is true if sampling went on beyond what every prompt gets until a
	// given number were correct, and ended with the last of these.
	Stopped bool
}

// passAt is the unbiased estimate of the prompt's pass@k, for k up to the number of
// samples that every prompt gets. Of a prompt that Stopped the last response was
// bound to be correct and tells nothing: what came before it does (so k = 1 is
// the (c−1)/(n−1) of inverse sampling).
func (t Tally) PassAt(k int) float64 {
	if t.Stopped {
		return Unbiased(t.Samples-1, t.Correct-1, k)
	}
	return Unbiased(t.Samples, t.Correct, k)
}

// Unbiased is ρ(n, c, k) = 1 − C(n−c, k)/C(n, k), the chance that k of n
// responses drawn without replacement hold at least one of the c correct ones
// (2107.03374). Its mean over samples is pass@k; k is at most n.
func Unbiased(n, c, k int) float64 {
	miss := 1.0
	for j := range k {
		miss *= max(0, float64(n-c-j)) / float64(n-j)
	}
	return 1 - miss
}

// PlugIn is 1 − (1 − c/n)^k, for any k: the Bernoulli extrapolation.
func PlugIn(n, c, k int) float64 { return passAt(float64(c)/float64(n), k) }

// passAt is pass@k of a prompt whose responses are correct with probability p.
func passAt(p float64, k int) float64 {
	return -elementary.Expm1(float64(k) * elementary.Log1p(-p))
}

// Mean averages the unbiased estimates of pass@k over prompts.
func Mean(tallies []Tally, k int) float64 {
	sum := 0.0
	for _, t := range tallies {
		sum += t.PassAt(k)
	}
	return sum / float64(len(tallies))
}
