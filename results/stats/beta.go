package stats

import (
	"math"

	"driftlab/precision/elementary"
)

// incompleteBeta is the regularised incomplete beta function I_x(a, b) and what
// it leaves of one, each with its own relative precision; y is 1-x, which the
// caller knows better than a subtraction does.
func incompleteBeta(a, b, x, y float64) (lower, upper float64) {
	front := betaFront(a, b, x, y)
	if x > (a+1)/(a+b+2) {
		upper = front * betaFraction(b, a, y) / b
		return 1 - upper, upper
	}
	lower = front * betaFraction(a, b, x) / a
	return lower, 1 - lower
}

// betaFraction is the continued fraction of the incomplete beta function, 1/(1 + d₁/(1 + d₂/(1 + ...)))
// of DLMF 8.17.22, by the modified method of Lentz. It converges fast for
// x < (a+1)/(a+b+2).
func betaFraction(a, b, x float64) float64 {
	const most = 100_000 // it takes about √max(a, b) steps
	c, d, fraction := math.Inf(1), 1.0, 1.0
	for k := 1; k < most; k++ {
		m := float64(k / 2)
		at := a + float64(2*m)
		term := m * (b - m) * x / ((at - 1) * at)
		if k%2 == 1 {
			term = -(a + m) * (a + b + m) * x / (at * (at + 1))
		}
		c, d = 1+term/c, 1/(1+float64(term*d))
		fraction *= c * d
		if math.Abs(float64(c*d)-1) < 3e-16 {
			break
		}
	}
	return fraction
}

// betaFront is x^a y^b/B(a, b). Written with the remainders of Stirling's
// series, as Loader does for the binomial, it loses nothing at large a and b:
// √(ab/2πs) (sx/a)^a (sy/b)^b exp(Δ(s)-Δ(a)-Δ(b)) with s = a+b.
func betaFront(a, b, x, y float64) float64 {
	s := a + b
	power := float64(a*elementary.Log(s*x/a)) + float64(b*elementary.Log(s*y/b))
	return math.Sqrt(a/s*b/(2*math.Pi)) * elementary.Exp(power+stirlingRest(s)-stirlingRest(a)-stirlingRest(b))
}

// stirlingRest is Δ(x) = ln Γ(x) - (x-½) ln x + x - ½ ln 2π for x > 0: from 10 on
// by its asymptotic series (Abramowitz and Stegun, 6.1.41), below by
// Δ(x) = Δ(x+1) + (x+½) ln(1+1/x) - 1.
func stirlingRest(x float64) float64 {
	sum := 0.0
	for ; x < 10; x++ {
		sum += float64((x+0.5)*elementary.Log1p(1/x)) - 1
	}
	r := 1 / (x * x)
	series := 0.0
	for _, c := range [...]float64{1.0 / 156, -691.0 / 360360, 1.0 / 1188, -1.0 / 1680, 1.0 / 1260, -1.0 / 360, 1.0 / 12} {
		series = float64(series*r) + c
	}
	return sum + series/x
}

// betaQuantile is the x at which I_x(a, b) is p.
func betaQuantile(p, a, b float64) float64 {
	return root(0, 1, func(x float64) bool {
		lower, _ := incompleteBeta(a, b, x, 1-x)
		return lower > p
	})
}

// root halves the range between low, where a rising function is not yet beyond
// what is sought, and high, where it is, down to the last bit.
func root(low, high float64, beyond func(float64) bool) float64 {
	for {
		middle := low + float64((high-low)/2)
		if middle <= low || middle >= high {
			return middle
		}
		if beyond(middle) {
			high = middle
		} else {
			low = middle
		}
	}
}
