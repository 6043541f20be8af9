package results

import (
	"math"

	"driftlab/precision/elementary"
)

// studentQuantile is t(0.975, n): within ±t lie 95 % of Student's distribution
// with n degrees of freedom. With t = √n·tan(πu) that share is a finite sum in
// sine and cosine (Abramowitz and Stegun, 26.7.3 and 26.7.4), which grows with u.
func studentQuantile(n int) float64 {
	low, high := 0.0, 0.5
	for {
		u := low + float64((high-low)/2)
		if u == low || u == high {
			return math.Sqrt(float64(n)) * elementary.CosPi(0.5-u) / elementary.CosPi(u)
		}
		if studentWithin(n, u) < 0.95 {
			low = u
		} else {
			high = u
		}
	}
}

// studentWithin is the share within ±√n·tan(πu).
func studentWithin(n int, u float64) float64 {
	sin, cos := elementary.CosPi(0.5-u), elementary.CosPi(u)
	square := float64(cos * cos)
	term, sum := 1.0, 0.0
	if n%2 == 0 {
		for k := 2; k <= n; k += 2 {
			sum += term
			term *= square * float64(k-1) / float64(k)
		}
		return sin * sum
	}
	term = cos
	for k := 3; k <= n; k += 2 {
		sum += term
		term *= square * float64(k-1) / float64(k)
	}
	return 2*u + float64(2/math.Pi*sin*sum)
}
