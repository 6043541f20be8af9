package main

// The elementwise routines. Each body spells the operations of its plain Go
// twin in the same order; the twin's file documents it.

const signMask, infinityBits = 0x80000000, 0x7f800000

func routines() []routine {
	return []routine{
		{name: "expAffine", slices: []string{"dst", "src"}, numbers: []string{"scale", "shift"}, body: func(v *vec) {
			x := v.load("src")
			v.mul(x, v.numbers["scale"])
			v.sub(x, v.numbers["shift"])
			v.store(v.exp(x), "dst")
		}},
		{name: "affine", slices: []string{"dst", "src"}, numbers: []string{"scale", "shift"}, body: func(v *vec) {
			x := v.load("src")
			v.mul(x, v.numbers["scale"])
			v.store(v.sub(x, v.numbers["shift"]), "dst")
		}},
		{name: "scale", slices: []string{"dst"}, numbers: []string{"by"}, body: func(v *vec) {
			v.store(v.mul(v.load("dst"), v.numbers["by"]), "dst")
		}},
		{name: "divide", slices: []string{"dst"}, numbers: []string{"by"}, body: func(v *vec) {
			v.store(v.div(v.load("dst"), v.numbers["by"]), "dst")
		}},
		{name: "add", slices: []string{"dst", "a", "b"}, body: func(v *vec) {
			x, y := v.load("a"), v.load("b")
			v.add(x, y)
			v.drop(y)
			v.store(x, "dst")
		}},
		{name: "multiply", slices: []string{"dst", "a", "b"}, body: func(v *vec) {
			x, y := v.load("a"), v.load("b")
			v.mul(x, y)
			v.drop(y)
			v.store(x, "dst")
		}},
		{name: "scaleBoth", slices: []string{"dst", "by"}, numbers: []string{"row"}, body: func(v *vec) {
			x, s := v.load("dst"), v.load("by")
			v.mul(s, v.numbers["row"])
			v.mul(x, s)
			v.drop(s)
			v.store(x, "dst")
		}},
		{name: "addScaled", slices: []string{"dst", "src"}, numbers: []string{"by"}, body: func(v *vec) {
			x, y := v.load("dst"), v.load("src")
			v.mul(y, v.numbers["by"])
			v.add(x, y)
			v.drop(y)
			v.store(x, "dst")
		}},
		{name: "addFused", slices: []string{"dst", "src"}, numbers: []string{"by"}, body: func(v *vec) {
			x, y := v.load("dst"), v.load("src")
			v.op("VFMADD231PS", y, v.numbers["by"], x)
			v.drop(y)
			v.store(x, "dst")
		}},
		maximum(),
		silu(false), silu(true), siluGrad(),
		{name: "scaleGain", slices: []string{"dst", "x", "gain"}, numbers: []string{"inv"}, body: func(v *vec) {
			x, g := v.load("x"), v.load("gain")
			v.mul(x, v.numbers["inv"])
			v.mul(x, g)
			v.drop(g)
			v.store(x, "dst")
		}},
		normInputGrad(false), normInputGrad(true),
		{name: "normGainGrad", slices: []string{"dgain", "dy", "x"}, numbers: []string{"inv"}, body: func(v *vec) {
			g, y, x := v.load("dgain"), v.load("dy"), v.load("x")
			v.mul(x, v.numbers["inv"])
			v.mul(x, y)
			v.add(g, x)
			v.drop(x, y)
			v.store(g, "dgain")
		}},
		{name: "softmaxInput", slices: []string{"dp", "p"}, numbers: []string{"sum", "scale"}, body: func(v *vec) {
			g, p := v.load("dp"), v.load("p")
			v.sub(g, v.numbers["sum"])
			v.mul(g, p)
			v.mul(g, v.numbers["scale"])
			v.drop(p)
			v.store(g, "dp")
		}},
		{name: "rotate", slices: []string{"x1", "x2", "cos", "sin"}, numbers: []string{"flip:bits"}, body: func(v *vec) {
			a, b, c, s := v.load("x1"), v.load("x2"), v.load("cos"), v.load("sin")
			v.xor(s, v.numbers["flip"])
			ac, bc := v.copy(a), v.copy(b)
			v.mul(ac, c)
			v.mul(bc, c)
			v.mul(b, s)
			v.mul(a, s)
			v.sub(ac, b)
			v.add(bc, a)
			v.drop(a, b, c, s)
			v.store(ac, "x1")
			v.store(bc, "x2")
		}},
	}
}

// exp is Exp32.
func (v *vec) exp(x string) string {
	v.clampNaN(x, v.c(-104), v.c(89))
	n := v.copy(x)
	v.mul(n, v.c(1.44269504088896341))
	v.add(n, v.c(1.5*(1<<23)))
	v.sub(n, v.c(1.5*(1<<23)))
	t := v.copy(n)
	v.mul(t, v.c(0.693359375))
	v.sub(x, t)
	v.op("VMULPS", v.c(-2.12194440e-4), n, t)
	v.sub(x, t)
	p := v.copy(x)
	v.mul(p, v.c(1.9875691500e-4))
	v.add(p, v.c(1.3981999507e-3))
	for _, c := range []float32{8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1} {
		v.mul(p, x)
		v.add(p, v.c(c))
	}
	v.mul(p, x)
	v.mul(p, x)
	v.add(p, x)
	v.add(p, v.c(1))
	v.op("VCVTPS2DQ", n, n)
	h := v.copy(n)
	v.shift("VPSRAD", 1, h)
	v.subI(n, h)
	for _, e := range []string{h, n} {
		v.addI(e, v.bits(127))
		v.shift("VPSLLD", 23, e)
		v.mul(p, e)
	}
	v.drop(x, n, t, h)
	return p
}

// onePlusExpMinus returns 1+exp(-g) and keeps g.
func (v *vec) onePlusExpMinus(g string) string {
	x := v.copy(g)
	v.xor(x, v.bits(signMask))
	return v.add(v.exp(x), v.c(1))
}

func silu(gated bool) routine {
	r := routine{name: "silu", slices: []string{"dst", "x"}}
	if gated {
		r = routine{name: "siluGate", slices: []string{"dst", "x", "up"}}
	}
	r.body = func(v *vec) {
		x := v.load("x")
		e := v.onePlusExpMinus(x)
		v.div(x, e)
		v.drop(e)
		if gated {
			u := v.load("up")
			v.mul(x, u)
			v.drop(u)
		}
		v.store(x, "dst")
	}
	return r
}

func siluGrad() routine {
	return routine{name: "siluGrad", slices: []string{"dgate", "dup", "dy", "gate", "up"}, body: func(v *vec) {
		g := v.load("gate")
		e := v.onePlusExpMinus(g)
		s := v.copy(v.c(1))
		v.div(s, e)
		d, u := v.load("dy"), v.load("up")
		v.mul(u, d)
		v.mul(u, s) // dy·up·s
		v.mul(d, g)
		v.mul(d, s) // dy·gate·s
		one := v.copy(v.c(1))
		v.op("VSUBPS", s, one, e) // 1-s
		v.mul(e, g)
		v.add(e, one)
		v.mul(u, e)
		v.drop(g, e, s, one)
		v.store(d, "dup")
		v.store(u, "dgate")
	}}
}

func normInputGrad(add bool) routine {
	name := "normInputGrad"
	if add {
		name = "normInputGradAdd"
	}
	return routine{name: name, slices: []string{"dx", "dy", "x", "gain"}, numbers: []string{"s", "m"}, body: func(v *vec) {
		h, g := v.load("dy"), v.load("gain")
		v.mul(h, g)
		v.mul(h, v.numbers["s"])
		x := v.load("x")
		v.mul(x, v.numbers["m"])
		v.sub(h, x)
		v.drop(g, x)
		if add {
			d := v.load("dx")
			v.add(h, d)
			v.drop(d)
		}
		v.store(h, "dx")
	}}
}

// maximum is the largest element of a slice.
func maximum() routine {
	var m, nan string
	return routine{name: "maximum", slices: []string{"x"}, result: "m", start: func(v *vec) {
		m, nan = v.maxStart()
	}, body: func(v *vec) {
		v.maxStep("x", m, nan)
	}, finish: func(v *vec) {
		v.maxEnd(m, nan)
		v.op("VMOVSS", half(m), "m+16(FP)")
	}}
}

// maxStart, maxStep and maxEnd keep the running maximum and, beside it, a NaN
// if there was one: the sum of x·0 is NaN for a NaN, but also for an infinity,
// so NaNs are found by comparing x with itself.
func (v *vec) maxStart() (m, nan string) { return v.copy(v.bits(infinityBits | signMask)), v.zero() }

func (v *vec) maxStep(slice, m, nan string) {
	var x string
	switch {
	case !v.masked:
		x = v.load(slice)
	case v.v == avx512: // lanes past the end are -Inf
		x = v.copy(v.bits(infinityBits | signMask))
		v.op("VMOVUPS", "("+v.address[slice]+")", v.mask, x)
	default:
		x = v.load(slice)
		inf := v.copy(v.bits(infinityBits | signMask))
		v.op("VBLENDVPS", v.mask, x, inf, x)
		v.drop(inf)
	}
	if v.v == avx512 {
		v.op("VCMPPS", "$3", x, x, "K2") // unordered
		v.op("VMOVUPS", x, "K2", nan)
	} else {
		t := v.new()
		v.op("VCMPPS", "$3", x, x, t)
		v.or(nan, t)
		v.drop(t)
	}
	v.op("VMAXPS", x, m, m)
	v.drop(x)
}

// half is the lowest quarter or half of a register.
func half(r string) string { return "X" + r[1:] }

// maxEnd folds halves and leaves the maximum in the first lane of m; a NaN is an
// all-ones or NaN pattern in nan, else zero.
func (v *vec) maxEnd(m, nan string) {
	t := v.new()
	if v.v == avx512 {
		v.op("VEXTRACTF64X4", "$1", m, lower(t))
		v.op("VMAXPS", lower(t), lower(m), lower(m))
		v.op("VEXTRACTF64X4", "$1", nan, lower(t))
		v.op("VPOR", lower(t), lower(nan), lower(nan))
	}
	v.op("VEXTRACTF128", "$1", lower(m), half(t))
	v.op("VMAXPS", half(t), half(m), half(m))
	v.op("VEXTRACTF128", "$1", lower(nan), half(t))
	v.op("VPOR", half(t), half(nan), half(nan))
	for _, order := range []string{"$0x4e", "$0xb1"} {
		v.op("VPSHUFD", order, half(m), half(t))
		v.op("VMAXPS", half(t), half(m), half(m))
		v.op("VPSHUFD", order, half(nan), half(t))
		v.op("VPOR", half(t), half(nan), half(nan))
	}
	// Or-ing makes the result NaN where nan is one; adding +0 turns -0 into +0.
	v.op("VPXOR", half(t), half(t), half(t))
	v.op("VADDSS", half(t), half(m), half(m))
	v.op("VPOR", half(nan), half(m), half(m))
	v.drop(t)
}

// lower is the name of the lower 256 bits.
func lower(r string) string { return "Y" + r[1:] }
