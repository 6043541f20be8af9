package kernel

import (
	"cmp"
	"fmt"
	"slices"

	"driftlab/precision"
)

// linearRows is how many rows are multiplied before their epilogue runs, so
// that it finds them in cache; for fewer the weights would be read again and again.
const linearRows = 256

// Linear sets dst[rows,Out] = x[rows,In]·Wᵀ: each element's reduction over In,
// times its scale, rounded once to num.Output. xScale is nil, or one factor per
// row (len rows), or for a block-scaled weight one per row and block of inputs,
// [rows][ceil(In/Block)]. Scales multiply as float32(sum*float32(xs*ws)); block
// scales multiply each block's partial sum before it is added, in block order.
// A row's result does not depend on rows unless the reduction is batch-variant;
// a caller that splits one batch among workers resolves it for the whole batch
// first, with Reduction.At.
func Linear(dst, x, xScale []float32, w *Weight, rows int, num Numerics, s *Scratch) {
	if len(dst) < rows*w.Out || len(x) < rows*w.In {
		panic(fmt.Sprintf("kernel: Linear dst %d, x %d, W [%d,%d], rows %d", len(dst), len(x), w.Out, w.In, rows))
	}
	red := num.Reduction.At(rows)
	s = s.orNew()
	blocks := 1
	if w.Block > 0 {
		blocks = ceilDiv(w.In, w.Block)
	}
	if xScale != nil && len(xScale) < rows*blocks {
		panic(fmt.Sprintf("kernel: Linear with %d input scales for %d rows of %d blocks", len(xScale), rows, blocks))
	}
	for i := 0; i < rows; i += linearRows {
		m := min(linearRows, rows-i)
		out := dst[i*w.Out:][:m*w.Out]
		var xs []float32
		if xScale != nil {
			xs = xScale[i*blocks:][:m*blocks]
		}
		p := product{c: out, a: x[i*w.In:], b: w.panels, ldc: w.Out, ais: w.In, aks: 1,
			ldb: panelWidth, group: panelWidth * w.In, m: m, n: w.Out, k: w.In}
		if w.Block > 0 {
			p.reduce(red, num.Accumulator, blockScales{size: w.Block, x: xs, w: w.BlockScale, rows: w.BlockRows}, s)
		} else {
			p.reduce(red, num.Accumulator, blockScales{}, s)
			scaleRows(out, xs, w.Scale, m, w.Out)
		}
		roundTo(num.Output, out)
	}
}

// scaleRows multiplies y[rows,n] by xs[row]*ws[column]; nil stands for ones.
func scaleRows(y, xs, ws []float32, rows, n int) {
	if xs == nil && ws == nil {
		return
	}
	for r := range rows {
		row := y[r*n:][:n]
		switch {
		case ws == nil:
			scaleInto(row, xs[r])
		case xs == nil:
			mulInto(row, row, ws)
		default:
			scaleBoth(row, ws, xs[r])
		}
	}
}

// LinearInputGrad sets dx[rows,In] = dy[rows,Out]·W with W's dequantised
// values, or adds to it: with add each chain over Out continues from dx.
// num.Accumulator and num.Reduction apply; a reduction other than the canonical
// cannot continue from dx. The result is rounded to num.Output.
func LinearInputGrad(dx, dy []float32, w *Weight, rows int, add bool, num Numerics, s *Scratch) {
	if len(dx) < rows*w.In || len(dy) < rows*w.Out || w.ForwardOnly {
		panic(fmt.Sprintf("kernel: LinearInputGrad dx %d, dy %d, W [%d,%d], forward only %v, rows %d", len(dx), len(dy), w.Out, w.In, w.ForwardOnly, rows))
	}
	s = s.orNew()
	red := num.Reduction.At(rows)
	for i := 0; i < rows; i += linearRows {
		m := min(linearRows, rows-i)
		out := dx[i*w.In:][:m*w.In]
		p := product{c: out, a: dy[i*w.Out:], b: w.gradient, ldc: w.In, ais: w.Out, aks: 1,
			ldb: panelWidth, group: panelWidth * w.Out, m: m, n: w.In, k: w.Out, add: add}
		p.reduce(red, num.Accumulator, blockScales{}, s)
		roundTo(num.Output, out)
	}
}

// LinearWeightGrad adds dyᵀ[out,rows]·x[rows,in] to dw[out,in]: each chain over
// rows continues from dw, so that rows split into consecutive calls give the
// same bits.
func LinearWeightGrad(dw, dy, x []float32, out, in, rows int, s *Scratch) {
	if len(dw) < out*in || len(dy) < rows*out || len(x) < rows*in {
		panic(fmt.Sprintf("kernel: LinearWeightGrad dw %d, dy %d, x %d as [%d,%d], rows %d", len(dw), len(dy), len(x), out, in, rows))
	}
	if rows == 0 {
		return
	}
	p := product{c: dw, a: dy, b: x, ldc: in, ais: 1, aks: out, ldb: in, group: panelWidth, m: out, n: in, k: rows, add: true}
	p.run(s)
}

// IndexScores computes the scores that the index of sparse attention (arXiv:2512.02556) gives
// the first n keys for one row:
//
//	dst_s = Σ_j weights_j·ReLU(q_j·k_s)
//
// one chain over the heads of one chain over the head dimension each, products rounded to
// float32 before they are added. q is [heads, headDim], weights [heads]; kT has one head of
// keys as StoreKV lays it out. A score depends on its row and key alone.
func IndexScores(dst, q, weights, kT []float32, n, headDim int) {
	heads := len(weights)
	if len(dst) < n || len(q) < heads*headDim || len(kT) < ceilDiv(n, panelWidth)*panelWidth*headDim {
		panic(fmt.Sprintf("kernel: IndexScores dst %d, q %d, keys %d: %d keys, %d heads of %d", len(dst), len(q), len(kT), n, heads, headDim))
	}
	for s := range n {
		key := kT[s/panelWidth*panelWidth*headDim+s%panelWidth:]
		var sum float32
		for j, w := range weights {
			var x float32
			for i, a := range q[j*headDim:][:headDim] {
				x += float32(a * key[i*panelWidth])
			}
			sum += float32(w * max(x, 0))
		}
		dst[s] = sum
	}
}

// LargestScores sets in bits, of which it clears the first words that hold n, the last of n
// positions and the k-1 others of the largest scores; of equal scores the later position. All
// of them where n is at most k. A NaN is less than any score.
func LargestScores(bits []uint64, scores []float32, n, k int, s *Scratch) {
	clear(bits[:ceilDiv(n, 64)])
	order := grown(&s.order, n)
	for i := range order {
		order[i] = int32(n - 1 - i)
	}
	if n > k {
		slices.SortStableFunc(order[1:], func(a, b int32) int { return cmp.Compare(scores[b], scores[a]) })
		order = order[:k]
	}
	for _, position := range order {
		bits[position/64] |= 1 << (position % 64)
	}
}

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
