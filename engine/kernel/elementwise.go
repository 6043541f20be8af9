package kernel

import "math"

// Elementwise loops. Each is its own definition; the assembly that replaces it
// does the same operations in the same order in every lane.

// expAffine sets dst = Exp32(float32(src·scale) - shift).
func expAffine(dst, src []float32, scale, shift float32) {
	src = src[:len(dst)]
	if expAffineVector(dst, src, scale, shift) {
		return
	}
	for i, x := range src {
		dst[i] = Exp32(float32(x*scale) - shift)
	}
}

// affine sets dst = float32(src·scale) - shift.
func affine(dst, src []float32, scale, shift float32) {
	src = src[:len(dst)]
	if affineVector(dst, src, scale, shift) {
		return
	}
	for i, x := range src {
		dst[i] = float32(x*scale) - shift
	}
}

// scaleInto multiplies x by c.
func scaleInto(x []float32, c float32) {
	if scaleVector(x, c) {
		return
	}
	for i := range x {
		x[i] *= c
	}
}

// divideInto divides x by c.
func divideInto(x []float32, c float32) {
	if divideVector(x, c) {
		return
	}
	for i := range x {
		x[i] /= c
	}
}

// scaleBoth multiplies x by float32(row·by), element by element.
func scaleBoth(x, by []float32, row float32) {
	by = by[:len(x)]
	if scaleBothVector(x, by, row) {
		return
	}
	for i, c := range by {
		x[i] *= float32(row * c)
	}
}

// addInto adds src to dst.
func addInto(dst, src []float32) { Add(dst, dst, src) }

// Add sets dst = a + b. dst may be a or b.
func Add(dst, a, b []float32) {
	a, b = a[:len(dst)], b[:len(dst)]
	if addVector(dst, a, b) {
		return
	}
	for i, x := range a {
		dst[i] = x + b[i]
	}
}

// mulInto sets dst = a·b.
func mulInto(dst, a, b []float32) {
	a, b = a[:len(dst)], b[:len(dst)]
	if multiplyVector(dst, a, b) {
		return
	}
	for i, x := range a {
		dst[i] = x * b[i]
	}
}

// AddScaled adds by·src to dst, the product rounded before the addition.
func AddScaled(dst, src []float32, by float32) {
	src = src[:len(dst)]
	if addScaledVector(dst, src, by) {
		return
	}
	for i, x := range src {
		dst[i] += float32(by * x)
	}
}

// GatedGrad is the backward pass of rows out, d wide, that were multiplied by a gate each.
// It sets dgates to Σ dy·out, unfused chains, and then multiplies the rows of dy by their
// gates.
func GatedGrad(dgates, dy, out, gates []float32, d int) {
	clear(dgates)
	dotChains(dgates, dy, out, d, len(dgates), d)
	for r, gate := range gates[:len(dgates)] {
		scaleInto(dy[r*d:][:d], gate)
	}
}

// AdamWStep are the numbers of an AdamW update (arXiv 1711.05101): the gradient is
// multiplied by Scale, the root of the second moment by Root2, what is left of a
// parameter by Keep; Step is the rate, with the correction of the first moment.
type AdamWStep struct{ Scale, Beta1, Beta2, Root2, Eps, Keep, Step float32 }

// Update moves parameters and their moments, which are as long as theta:
//
//	g = grad·Scale,  m = Beta1·m + (1-Beta1)·g,  v = Beta2·v + (1-Beta2)·g·g
//	theta = Keep·theta - Step·m/(sqrt(v)·Root2 + Eps)
//
// Every product, from the left, and every sum is rounded to float32.
func (a AdamWStep) Update(theta, m, v, grad []float32) {
	n := len(theta)
	m, v, grad = m[:n], v[:n], grad[:n]
	if adamWVector(theta, m, v, grad, a.Scale, a.Beta1, 1-a.Beta1, a.Beta2, 1-a.Beta2, a.Root2, a.Eps, a.Keep, a.Step) {
		return
	}
	for i, g := range grad {
		g *= a.Scale
		m[i] = float32(a.Beta1*m[i]) + float32((1-a.Beta1)*g)
		v[i] = float32(a.Beta2*v[i]) + float32(float32((1-a.Beta2)*g)*g)
		denominator := float32(float32(math.Sqrt(float64(v[i])))*a.Root2) + a.Eps
		theta[i] = float32(a.Keep*theta[i]) - float32(a.Step*m[i])/denominator
	}
}

// addFused sets dst = fma(by, src, dst).
func addFused(dst, src []float32, by float32) {
	src = src[:len(dst)]
	if addFusedVector(dst, src, by) {
		return
	}
	for i, x := range src {
		dst[i] = fma32(by, x, dst[i])
	}
}

// maxOf returns the largest of x, NaN if one is NaN, -Inf if there is none. A
// zero is +0.
func maxOf(x []float32) float32 {
	if m, ok := maximumVector(x); ok {
		return m
	}
	m := float32(math.Inf(-1))
	for _, v := range x {
		m = max(m, v)
	}
	return m + 0
}
