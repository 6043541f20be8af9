package main

// The elementwise routines. Each body spells the operations of its plain Go
// twin in the same order; the twin's file documents it.

const signMask, infinityBits = 0x80000000, 0x7f800000

func routines() []routine {
	return []routine{
		{name: "expAffine", slices: []string{"dst", "src"}, numbers: []string{"scale", "shift"}, several: 4, bodies: func(v *vec, vectors int) {
			xs := v.loads("src", vectors)
			for _, x := range xs {
				v.mul(x, v.numbers["scale"])
				v.sub(x, v.numbers["shift"])
			}
			v.stores(v.exps(xs...), "dst")
		}},
		{name: "affine", slices: []string{"dst", "src"}, numbers: []string{"scale", "shift"}, body: func(v *vec) {
			x := v.load("src")
			v.mul(x, v.numbers["scale"])
			v.store(v.sub(x, v.numbers["shift"]), "dst")
		}},
		byNumber("scale", multiplication), byNumber("divide", division),
		ofTwo("add", addition), ofTwo("multiply", multiplication),
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
			v.fma(x, y, v.numbers["by"])
			v.drop(y)
			v.store(x, "dst")
		}},
		maximum(),
		silu(false), silu(true), siluGrad(false), siluGrad(true),
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
		{name: "adamW", slices: []string{"theta", "m", "v", "grad"},
			numbers: []string{"scale", "beta1", "rest1", "beta2", "rest2", "root2", "eps", "keep", "step"}, body: adamW},
		{name: "softmaxInput", slices: []string{"dp", "p"}, numbers: []string{"sum", "scale"}, body: func(v *vec) {
			g, p := v.load("dp"), v.load("p")
			v.sub(g, v.numbers["sum"])
			v.mul(g, p)
			v.mul(g, v.numbers["scale"])
			v.drop(p)
			v.store(g, "dp")
		}},
	}
}

// byNumber is an operation of each element and one number, in place.
func byNumber(name string, o operation) routine {
	return routine{name: name, slices: []string{"dst"}, numbers: []string{"by"}, body: func(v *vec) {
		x := v.load("dst")
		v.store(v.into(o, x, x, v.numbers["by"]), "dst")
	}}
}

// ofTwo is an operation of two slices.
func ofTwo(name string, o operation) routine {
	return routine{name: name, slices: []string{"dst", "a", "b"}, body: func(v *vec) {
		x, y := v.load("a"), v.load("b")
		v.into(o, x, x, y)
		v.drop(y)
		v.store(x, "dst")
	}}
}

func rotatePair(v *vec) {
	a, b, c, s := v.load("x1"), v.load("x2"), v.load("cos"), v.load("sin")
	v.xor(s, v.numbers["flip"])
	ac, bc := v.into(multiplication, v.new(), a, c), v.into(multiplication, v.new(), b, c)
	v.mul(b, s)
	v.mul(a, s)
	v.sub(ac, b)
	v.add(bc, a)
	v.drop(a, b, c, s)
	v.store(ac, "x1")
	v.store(bc, "x2")
}

// onePlusExpsMinus returns 1+exp(-g) of each and keeps them.
func (v *vec) onePlusExpsMinus(gs []string) []string {
	xs := make([]string, len(gs))
	for i, g := range gs {
		xs[i] = v.into(xorBits, v.new(), g, v.bits(signMask))
	}
	es := v.exps(xs...)
	for _, e := range es {
		v.add(e, v.c(1))
	}
	return es
}

func silu(gated bool) routine {
	r := routine{name: "silu", slices: []string{"dst", "x"}, several: 4}
	if gated {
		r = routine{name: "siluGate", slices: []string{"dst", "x", "up"}, several: 4}
	}
	r.bodies = func(v *vec, vectors int) {
		xs := v.loads("x", vectors)
		es := v.onePlusExpsMinus(xs)
		for i, x := range xs {
			v.div(x, es[i])
		}
		v.drop(es...)
		if gated {
			us := v.loads("up", vectors)
			for i, x := range xs {
				v.mul(x, us[i])
			}
			v.drop(us...)
		}
		v.stores(xs, "dst")
	}
	return r
}

// siluGrad takes the gradient of siluGate, and may compute its value again. It waits for
// memory more than for itself.
func siluGrad(again bool) routine {
	r := routine{name: "siluGrad", slices: []string{"dgate", "dup", "dy", "gate", "up"}}
	if again {
		r.name, r.slices = "siluGradAgain", append(r.slices, "value")
	}
	r.body = func(v *vec) {
		v.prefetch("gate")
		v.prefetch("up")
		g := v.load("gate")
		e := v.onePlusExpsMinus([]string{g})[0]
		d, u := v.load("dy"), v.load("up")
		if again {
			y := v.into(division, v.new(), g, e)
			v.mul(y, u)
			v.store(y, "value")
		}
		s := v.copy(v.c(1))
		v.div(s, e)
		v.mul(u, d)
		v.mul(u, s) // dy·up·s
		v.mul(d, g)
		v.mul(d, s) // dy·gate·s
		one := v.copy(v.c(1))
		v.into(subtraction, e, one, s) // 1-s
		v.mul(e, g)
		v.add(e, one)
		v.mul(u, e)
		v.drop(g, e, s, one)
		v.store(d, "dup")
		v.store(u, "dgate")
	}
	return r
}

func adamW(v *vec) {
	by := v.numbers
	g := v.mul(v.load("grad"), by["scale"])
	m := v.mul(v.load("m"), by["beta1"])
	t := v.into(multiplication, v.new(), g, by["rest1"])
	v.add(m, t)
	v.move(m, "("+v.address["m"]+")", false)
	v.into(multiplication, t, g, by["rest2"])
	v.mul(t, g)
	v.drop(g)
	d := v.mul(v.load("v"), by["beta2"])
	v.add(d, t)
	v.drop(t)
	v.move(d, "("+v.address["v"]+")", false)
	v.unary("VSQRTPS", "FSQRT", d)
	v.mul(d, by["root2"])
	v.add(d, by["eps"])
	v.mul(m, by["step"])
	v.div(m, d)
	v.drop(d)
	x := v.mul(v.load("theta"), by["keep"])
	v.sub(x, m)
	v.drop(m)
	v.store(x, "theta")
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

func maximum() routine {
	var m, nan string
	return routine{name: "maximum", slices: []string{"x"}, result: "m", start: func(v *vec) {
		m, nan = v.maxRegisters()
		v.maxStart(m, nan)
	}, body: func(v *vec) {
		v.maxStep("x", m, nan)
	}, finish: func(v *vec) {
		v.maxEnd(m, nan)
		v.storeFirst(m, "m+24(FP)")
	}}
}

// maxStart, maxStep and maxEnd keep the running maximum. On arm64 it is NaN once
// there was one. On amd64 that is kept next to it: the sum of x·0 is NaN for a NaN,
// but also for an infinity, so NaNs are found by comparing x with itself.
func (v *vec) maxRegisters() (m, nan string) {
	m = v.new()
	if v.v != neon {
		nan = v.new()
	}
	return m, nan
}

func (v *vec) maxStart(m, nan string) {
	v.set(m, v.bits(infinityBits|signMask))
	if v.v != neon {
		v.into(xorBits, nan, nan, nan)
	}
}

func (v *vec) maxStep(slice, m, nan string) {
	if v.v == neon {
		x := v.load(slice) // of the rest, the one element in every lane
		v.word("FMAX", m, m, x)
		v.drop(x)
		return
	}
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

// maxEnd leaves the maximum in the first lane of m, a zero as +0. Without a register for NaN
// it is any number if there was one.
func (v *vec) maxEnd(m, nan string) {
	t := v.new()
	defer v.drop(t)
	if v.v == neon {
		v.word("FMAXV", m, m)
		v.op("VMOVI", "$0", t+".B16")
		v.op("FADDS", f(t), f(m), f(m))
		return
	}
	// Folding halves; a NaN is an all-ones or NaN pattern in nan, else zero.
	fold := func(op, selector string, source, target func(string) string) {
		v.op(op, selector, source(m), target(t))
		v.op("VMAXPS", target(t), target(m), target(m))
		if nan != "" {
			v.op(op, selector, source(nan), target(t))
			v.op("VPOR", target(t), target(nan), target(nan))
		}
	}
	if v.v == avx512 {
		fold("VEXTRACTF64X4", "$1", func(r string) string { return r }, lower)
	}
	fold("VEXTRACTF128", "$1", lower, half)
	fold("VPSHUFD", "$0x4e", half, half)
	fold("VPSHUFD", "$0xb1", half, half)
	// Or-ing makes the result NaN where nan is one; adding +0 turns -0 into +0.
	v.op("VPXOR", half(t), half(t), half(t))
	v.op("VADDSS", half(t), half(m), half(m))
	if nan != "" {
		v.op("VPOR", half(nan), half(m), half(m))
	}
}

func (v *vec) storeFirst(m, to string) {
	if v.v == neon {
		v.op("FMOVS", f(m), to)
	} else {
		v.op("VMOVSS", half(m), to)
	}
}

// half is the lowest quarter or half of a register, lower its lower 256 bits.
func half(r string) string  { return "X" + r[1:] }
func lower(r string) string { return "Y" + r[1:] }
