package elementary

import "math"

// The rational approximation of atan on [0, 0.66] of the Cephes library (S. L. Moshier), the highest power first:
// atan(x) ≈ x + x³·P(x²)/Q(x²).
var (
	atanP = [...]float64{-8.750608600031904122785e-01, -1.615753718733365076637e+01, -7.500855792314704667340e+01, -1.228866684490136173410e+02, -6.485021904942025371773e+01}
	atanQ = [...]float64{1, 2.485846490142306297962e+01, 1.650270098316988542046e+02, 4.328810604912902668951e+02, 4.853903996359136964868e+02, 1.945506571482613964425e+02}
)

// Atan is the arctangent of x, within two units of the last place.
func Atan(x float64) float64 {
	if x < 0 {
		return -Atan(-x)
	}
	const lost = 6.123233995736765886130e-17 // of π/2, beyond its float64
	switch {
	case x > 2.41421356237309504880: // tan(3π/8)
		return math.Pi/2 - (atanSmall(1/x) - lost)
	case x > 0.66:
		return math.Pi/4 + (atanSmall((x-1)/(x+1)) + lost/2)
	}
	return atanSmall(x)
}

// atanSmall is Atan from -0.42 to 0.66.
func atanSmall(x float64) float64 {
	z := float64(x * x)
	p, q := 0.0, 0.0
	for _, c := range atanP {
		p = float64(p*z) + c
	}
	for _, c := range atanQ {
		q = float64(q*z) + c
	}
	return x + float64(x*float64(z*p/q))
}
