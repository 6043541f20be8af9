package kernel

import (
	"fmt"
	"math"

	"driftlab/precision"
)

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

func scaleInto(x []float32, c float32) {
	if scaleVector(x, c) {
		return
	}
	for i := range x {
		x[i] *= c
	}
}

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
	dotChain.add(dgates, dy, out, dy, d, len(dgates), d)
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

// SiLUGate sets dst[n] = round(round(silu(gate))·up), the middle of a SwiGLU
// feed-forward (arXiv 2002.05202), with silu(g) = g/(1+exp(-g)) and both
// roundings to out. dst may be gate, not up.
func SiLUGate(dst, gate, up []float32, n int, out precision.Format) {
	dst, gate, up = dst[:n], gate[:n], up[:n]
	if exact(out) {
		siluGate(dst, gate, up)
		return
	}
	silu(dst, gate)
	roundTo(out, dst)
	mulInto(dst, dst, up)
	roundTo(out, dst)
}

// silu sets dst = x/(1+exp(-x)).
func silu(dst, x []float32) {
	if siluVector(dst, x) {
		return
	}
	for i, g := range x {
		dst[i] = g / (1 + Exp32(-g))
	}
}

// siluGate sets dst = silu(gate)·up.
func siluGate(dst, gate, up []float32) {
	if siluGateVector(dst, gate, up) {
		return
	}
	for i, g := range gate {
		dst[i] = float32(g/(1+Exp32(-g))) * up[i]
	}
}

// SiLUGateGradAgain is SiLUGate, to value, and SiLUGateGrad, which share an exponential.
// value may be none of the others.
func SiLUGateGradAgain(dgate, dup, value, dy, gate, up []float32, n int, out precision.Format) {
	dgate, dup, value, dy, gate, up = dgate[:n], dup[:n], value[:n], dy[:n], gate[:n], up[:n]
	if exact(out) && siluGradAgainVector(dgate, dup, dy, gate, up, value) {
		return
	}
	SiLUGate(value, gate, up, n, out)
	SiLUGateGrad(dgate, dup, dy, gate, up, n)
}

// SiLUGateGrad sets dgate and dup[n] from dy, the derivative with respect to
// SiLUGate's result, straight through its roundings: with s = 1/(1+exp(-gate)),
//
//	dup   = dy·gate·s
//	dgate = dy·up·s·(1 + gate·(1-s))
//
// Every product is rounded to float32, from the left. dgate may be gate and
// dup may be up or dy.
func SiLUGateGrad(dgate, dup, dy, gate, up []float32, n int) {
	dgate, dup, dy, gate, up = dgate[:n], dup[:n], dy[:n], gate[:n], up[:n]
	if siluGradVector(dgate, dup, dy, gate, up) {
		return
	}
	for i, g := range gate {
		s := 1 / (1 + Exp32(-g))
		d, u := dy[i], up[i]
		dup[i] = float32(d*g) * s
		dgate[i] = float32(float32(d*u)*s) * (1 + float32(g*(1-s)))
	}
}

// roundSlice rounds src into dst, which may be the same slice, as f.RoundSlice
// does, except that the zero Format copies.
func roundSlice(f precision.Format, dst, src []float32) {
	src = src[:len(dst)]
	if exact(f) {
		copy(dst, src)
		return
	}
	f.RoundSlice(dst, src)
}

// exact reports whether rounding float32 values to f changes nothing. The zero
// Format stands for FP32.
func exact(f precision.Format) bool { return f.Identity() || f.MantissaBits == 0 }

func roundTo(f precision.Format, dst []float32) {
	if !exact(f) {
		f.RoundSlice(dst, dst)
	}
}

// Embed copies row ids[r] of table[vocab,d] to row r of dst[len(ids),d].
func Embed(dst, table []float32, ids []int32, d int) {
	for r, id := range ids {
		if id < 0 || int(id+1)*d > len(table) {
			panic(fmt.Sprintf("kernel: token %d outside an embedding of %d rows", id, len(table)/d))
		}
		copy(dst[r*d:][:d], table[int(id)*d:][:d])
	}
}

// EmbedGrad adds each row of dy[len(ids),d] to row ids[r] of dtable, rows in
// order.
func EmbedGrad(dtable, dy []float32, ids []int32, d int) {
	for r, id := range ids {
		addInto(dtable[int(id)*d:][:d], dy[r*d:])
	}
}
