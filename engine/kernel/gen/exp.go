package main

// exp is Exp32.
func (v *vec) exp(x string) string { return v.exps(x)[0] }

// exps is Exp32 of several registers side by side, which hides the latency of its chain of
// operations.
func (v *vec) exps(xs ...string) []string {
	for _, x := range xs {
		v.clampNaN(x, v.c(-104), v.c(89))
	}
	return v.expsWithin(xs...)
}

// expsWithin is exps of numbers between -104 and 89, or NaN.
func (v *vec) expsWithin(xs ...string) []string {
	each := func(f func(i int)) {
		for i := range xs {
			f(i)
		}
	}
	n, t, p := make([]string, len(xs)), make([]string, len(xs)), make([]string, len(xs))
	each(func(i int) { n[i] = v.into(multiplication, v.new(), xs[i], v.c(1.44269504088896341)) })
	if v.v == avx512 { // to the nearest whole number, halves to the even one, as those sums round
		each(func(i int) { v.op("VRNDSCALEPS", "$0", n[i], n[i]) })
	} else {
		each(func(i int) { v.add(n[i], v.c(1.5*(1<<23))) })
		each(func(i int) { v.sub(n[i], v.c(1.5*(1<<23))) })
	}
	each(func(i int) { t[i] = v.into(multiplication, v.new(), n[i], v.c(0.693359375)) })
	each(func(i int) { v.sub(xs[i], t[i]) })
	each(func(i int) { v.into(multiplication, t[i], n[i], v.c(-2.12194440e-4)) })
	each(func(i int) { v.sub(xs[i], t[i]) })
	each(func(i int) { v.drop(t[i]) })
	each(func(i int) { p[i] = v.into(multiplication, v.new(), xs[i], v.c(1.9875691500e-4)) })
	each(func(i int) { v.add(p[i], v.c(1.3981999507e-3)) })
	for _, c := range []float32{8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1} {
		each(func(i int) { v.mul(p[i], xs[i]) })
		each(func(i int) { v.add(p[i], v.c(c)) })
	}
	each(func(i int) { v.mul(p[i], xs[i]) })
	each(func(i int) { v.mul(p[i], xs[i]) })
	each(func(i int) { v.add(p[i], xs[i]) })
	each(func(i int) { v.add(p[i], v.c(1)) })
	each(func(i int) { v.drop(xs[i]) })
	if v.v == avx512 { // p·2^n with one rounding, which the two products below have as well
		each(func(i int) { v.op("VSCALEFPS", n[i], p[i], p[i]) })
		v.drop(n...)
		return p
	}
	each(func(i int) {
		v.toIntegers(n[i])
		h := v.halved(n[i])
		v.subI(n[i], h)
		for _, e := range []string{h, n[i]} {
			v.addI(e, v.bits(127))
			v.shiftLeft(23, e)
			v.mul(p[i], e)
		}
		v.drop(n[i], h)
	})
	return p
}

// softExps returns the exponentials of float32(score·scale)-maximum for as many vectors in
// memory, each with the maximum of its lanes or one for all: none is above zero, or NaN.
func (v *vec) softExps(scale string, scores, maxima []string) []string {
	xs := make([]string, len(scores))
	for i, score := range scores {
		xs[i] = v.new()
		v.move(score, xs[i], true)
		v.mul(xs[i], scale)
		v.sub(xs[i], maxima[i%len(maxima)])
	}
	for _, x := range xs {
		v.atLeast(x, v.c(-104))
	}
	return v.expsWithin(xs...)
}
