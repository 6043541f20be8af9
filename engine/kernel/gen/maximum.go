package main

// maximum is the largest element of a slice.
func maximum() routine {
	var m, nan string
	return routine{name: "maximum", slices: []string{"x"}, result: "m", start: func(v *vec) {
		m, nan = v.maxRegisters()
		v.maxStart(m, nan)
	}, body: func(v *vec) {
		v.maxStep("x", m, nan)
	}, finish: func(v *vec) {
		v.maxEnd(m, nan)
		v.storeFirst(m, "m+16(FP)")
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

// scaleFirst multiplies the first lane of m by that of by.
func (v *vec) scaleFirst(m, by string) {
	if v.v == neon {
		v.op("FMULS", f(by), f(m), f(m))
	} else {
		v.op("VMULSS", half(by), half(m), half(m))
	}
}

// storeFirst writes the first lane.
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
