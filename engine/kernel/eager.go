package kernel

import "driftlab/precision"

// What frameworks without kernel fusion do: each elementwise operation stores its
// result in the tensors' format, where a fused
// kernel keeps float32 until its end. The backward pass goes straight through these roundings.

// scaleScores brings the scores q·k to their format, and the factor first if Eager.
func scaleScores(scores []float32, scale float32, num *AttentionNumerics) {
	if num.Eager {
		roundTo(num.Scores, scores)
		if !exact(num.Scores) {
			scale = num.Scores.Round(scale)
		}
	}
	scaleInto(scores, scale)
	roundTo(num.Scores, scores)
}

// eagerScaleGain rounds the normed row x·inv before the gain multiplies it and after:
// dst = round(round(x·inv)·gain), rows of d = len(gain) (MixtralRMSNorm in Hugging Face's
// modeling_mixtral.py).
func eagerScaleGain(dst, x, gain []float32, inv float32, out precision.Format) {
	dst, gain = dst[:len(x)], gain[:len(x)]
	for i, v := range x {
		dst[i] = v * inv
	}
	roundSlice(out, dst, dst)
	mulInto(dst, dst, gain)
}

// RotaryEager is Rotary with cosines, sines, both products and the sum rounded to out
// (apply_rotary_pos_emb in modeling_mixtral.py):
//
//	x1' = round(round(x1·cos) - round(x2·sin))
//	x2' = round(round(x2·cos) + round(x1·sin))
func RotaryEager(x []float32, stride int, pos []int32, rows, heads, headDim int, t *RotaryTable, out precision.Format) {
	t.check(x, stride, pos, rows, heads, headDim)
	half, r := headDim/2, out.Rounder()
	for row := range rows {
		p := int(pos[row])
		cos, sin := t.cos[p*half:][:half], t.sin[p*half:][:half]
		for h := range heads {
			head := x[row*stride+h*headDim:][:headDim]
			for i := range half {
				a, b, c, s := head[i], head[half+i], r.Round(cos[i]), r.Round(sin[i])
				head[i] = r.Round(r.Round(float32(a*c)) - r.Round(float32(b*s)))
				head[half+i] = r.Round(r.Round(float32(b*c)) + r.Round(float32(a*s)))
			}
		}
	}
}

// SiLUGateEager is SiLUGate with every step rounded to out (silu_kernel for bfloat16 in
// PyTorch 1.13's aten/src/ATen/native/cpu/Activation.cpp, whose vectors round each result):
//
//	silu(g) = round(g / round(1 + round(exp(-g)))),  dst = round(silu(gate)·up)
func SiLUGateEager(dst, gate, up []float32, n int, out precision.Format) {
	r := out.Rounder()
	for i, g := range gate[:n] {
		dst[i] = r.Round(float32(r.Round(g/r.Round(1+r.Round(Exp32(-g)))) * up[i]))
	}
}

// AddScaledEager adds a·x to dst, the product and the sum rounded to out.
func AddScaledEager(dst, x []float32, a float32, out precision.Format) {
	r := out.Rounder()
	for i, v := range x[:len(dst)] {
		dst[i] = r.Round(dst[i] + r.Round(float32(v*a)))
	}
}
