package kernel

import "driftlab/precision"

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
