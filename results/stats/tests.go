package stats

import "driftlab/precision/elementary"

// Fisher is the two-sided p-value of Fisher's exact test on the table of
// a successes and b failures in one arm, c and d in the other: the probability,
// with the margins given, of all tables no likelier than this one.
func Fisher(a, b, c, d int) float64 {
	first, successes, all := a+b, a+c, a+b+c+d
	probability := func(k int) float64 {
		return elementary.Exp(logBinomial(first, k) +
			logBinomial(all-first, successes-k) -
			logBinomial(all, successes))
	}
	// Tables that are exactly as likely differ by rounding.
	bound := probability(a) * (1 + 1e-9)
	p := 0.0
	for k := max(0, successes-(all-first)); k <= min(first, successes); k++ {
		if q := probability(k); q <= bound {
			p += q
		}
	}
	return min(p, 1)
}

// logBinomial is the logarithm of n over k.
func logBinomial(n, k int) float64 {
	sum := 0.0
	for i := range k {
		sum += elementary.Log(float64(n-i) / float64(i+1))
	}
	return sum
}
