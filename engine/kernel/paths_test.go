package kernel

import (
	"fmt"
	"testing"

	"driftlab/precision"
)

// Whole operations on every path against plain Go, bit for bit.

// operationCases returns everything an operation computes, by name.
func operationCases() map[string]func() []float32 {
	rng := newRand(71)
	const rows, d = 21, 37
	x, dy, gain := normals(rng, rows*d), normals(rng, rows*d), normals(rng, d)
	return map[string]func() []float32{
		"rmsnorm": func() []float32 {
			var out []float32
			for _, red := range reductions() {
				y, inv := make([]float32, rows*d), make([]float32, rows)
				RMSNorm(y, inv, x, gain, rows, d, 1e-6, Numerics{Output: precision.FP16, Reduction: red})
				out = append(append(out, y...), inv...)
			}
			return out
		},
		"rmsnorm gradients": func() []float32 {
			y, inv, dx, dgain := make([]float32, rows*d), make([]float32, rows), append([]float32(nil), x...), make([]float32, d)
			RMSNorm(y, inv, x, gain, rows, d, 1e-6, Numerics{})
			RMSNormInputGrad(dx, dy, x, inv, gain, rows, d, true)
			RMSNormGainGrad(dgain, dy, x, inv, rows, d)
			return append(dx, dgain...)
		},
		"log-softmax": func() []float32 {
			var out []float32
			for _, n := range []int{1, 5, 32, 33, 130} {
				for _, invT := range []float32{1, 0.7, -1, 0} {
					y := make([]float32, n)
					lse := LogSoftmax(y, x, n, invT)
					out = append(append(out, y...), lse)
				}
			}
			return out
		},
		"rotary": func() []float32 {
			y := append([]float32(nil), x...)
			pos := make([]int32, rows)
			for i := range pos {
				pos[i] = int32(i * 3)
			}
			table := NewRotaryTable(10000, 12, 64)
			Rotary(y, 36, pos, rows, 3, 12, table, precision.BF16)
			RotaryGrad(y, 36, pos, rows, 3, 12, table)
			return y
		},
		"linear": func() []float32 {
			var out []float32
			for _, red := range reductions() {
				for _, acc := range []precision.Format{{}, precision.BF16} {
					var w Weight
					w.Pack(dy[:19*d], 19, d, gain[:19])
					y := make([]float32, 9*19)
					Linear(y, x, gain, &w, 9, Numerics{Accumulator: acc, Output: precision.E4M3, Reduction: red}, nil)
					out = append(out, y...)
				}
			}
			return out
		},
	}
}

func TestOperationPathsAgree(t *testing.T) {
	operations := operationCases()
	eachPath(t, func(t *testing.T) {
		for name, f := range operations {
			got := f()
			var want []float32
			inGo(func() { want = f() })
			sameBits(t, name, got, want)
		}
	})
}

// attentionOperation computes everything of one sequence of shape t, heads,
// key heads, head dimension.
func attentionOperation(num AttentionNumerics, d [4]int) []float32 {
	c := newAttentionCase(80, d[0], d[1], d[2], d[3])
	out, lse := c.decode(num)
	again, _ := c.prefill(num, c.t)
	dq, dk, dv := make([]float32, len(c.q)), make([]float32, len(c.k)), make([]float32, len(c.v))
	c.attention(num).AttendGrad(dq, dk, dv, out, c.q, c.k, c.v, lse, c.heads*c.headDim, c.kvHeads*c.headDim, 0, c.t, Kept{}, nil)
	for _, x := range [][]float32{lse, again, dq, dk, dv} {
		out = append(out, x...)
	}
	return out
}

func TestAttentionPathsAgree(t *testing.T) {
	eachPath(t, func(t *testing.T) {
		for name, num := range everyAttention() {
			for _, d := range [][4]int{{21, 4, 4, 8}, {40, 6, 3, 16}, {18, 7, 7, 20}, {17, 2, 1, 5}} {
				got := attentionOperation(num, d)
				var want []float32
				inGo(func() { want = attentionOperation(num, d) })
				sameBits(t, fmt.Sprint(name, d), got, want)
			}
		}
	})
}

// The calls of a steady state allocate nothing.
func TestKernelsDoNotAllocate(t *testing.T) {
	rng := newRand(91)
	c := newAttentionCase(92, 33, 4, 2, 16)
	c.store(33, 0)
	out, lse := make([]float32, len(c.q)), make([]float32, c.t*c.heads)
	dq, dk, dv := make([]float32, len(c.q)), make([]float32, len(c.k)), make([]float32, len(c.v))
	var w, blocks Weight
	w.Pack(normals(rng, 48*64), 48, 64, normals(rng, 48))
	blocks.PackBlocks(normals(rng, 48*64), 48, 64, 16, 16, normals(rng, 12))
	x, y, inv, gain := normals(rng, 64*64), make([]float32, 64*64), make([]float32, 64), normals(rng, 64)
	table := NewRotaryTable(10000, 16, 64)
	plain := c.attention(AttentionNumerics{})
	pos := make([]int32, 64)
	var s Scratch
	steps := map[string]func(){
		"linear gradients": func() {
			LinearInputGrad(y, x, &w, 20, true, Numerics{Output: precision.BF16}, &s)
			LinearWeightGrad(y, x, x, 48, 64, 20, &s)
		},
		"rmsnorm": func() {
			RMSNorm(y, inv, x, gain, 64, 64, 1e-6, Numerics{Output: precision.FP16})
			RMSNormInputGrad(y, x, x, inv, gain, 64, 64, true)
		},
		"softmax": func() { LogSoftmaxRows(y, x, 64, 64, 1) },
		"rotary":  func() { Rotary(y, 64, pos, 64, 4, 16, table, precision.BF16) },
		"silu":    func() { SiLUGate(y, x, x, 4096, precision.BF16); SiLUGateGrad(y, y, x, x, x, 4096) },
		"attend gradient": func() {
			plain.AttendGrad(dq, dk, dv, out, c.q, c.k, c.v, lse, c.heads*c.headDim, c.kvHeads*c.headDim, 0, c.t, Kept{}, &s)
		},
	}
	for _, red := range everyReduction() {
		steps["linear "+red.String()] = func() {
			Linear(y, x, nil, &w, 33, Numerics{Output: precision.BF16, Reduction: red}, &s)
			Linear(y, x, nil, &blocks, 3, Numerics{Reduction: red}, &s)
			RMSNorm(y, inv, x, gain, 64, 64, 1e-6, Numerics{Reduction: red})
		}
	}
	for name, num := range everyAttention() {
		a := c.attention(num)
		steps["attend "+name] = func() {
			a.Attend(out, lse, c.q, c.heads*c.headDim, c.kv, c.t, 1, KV{}, &s)
			a.Attend(out, lse, c.q, c.heads*c.headDim, c.kv, 1, 30, KV{}, &s)
		}
	}
	for _, p := range Paths() {
		setPath(t, p)
		for name, step := range steps {
			if n := testing.AllocsPerRun(3, step); n != 0 {
				t.Errorf("%s on path %s allocates %g times", name, p, n)
			}
		}
	}
}
