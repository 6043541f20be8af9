package stats

// studentTail is the probability that Student's t with n degrees of freedom is
// at least t: half of I_x(n/2, 1/2) at x = n/(n+t²) for t >= 0 (Abramowitz and
// Stegun, 26.7.1).
func studentTail(t, n float64) float64 {
	square := t * t / n
	outside, within := incompleteBeta(n/2, 0.5, 1/(1+square), 1/(1+1/square))
	if t < 0 {
		return 0.5 + float64(within/2)
	}
	return outside / 2
}

// studentQuantile is t(0.975, n): within ±t lie 95 % of Student's distribution
// with n degrees of freedom.
func studentQuantile(n float64) float64 {
	return root(0, 16, func(t float64) bool { return studentTail(t, n) < (1-level)/2 }) // the largest is 12.7, of one
}

// StudentQuantile is t(0.975, n) for whoever has an error of their own, of n degrees
// of freedom: an interval is the estimate and that many errors to either side.
func StudentQuantile(n float64) float64 { return studentQuantile(n) }
