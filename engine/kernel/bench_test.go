package kernel

import (
	"fmt"
	"strings"
	"testing"

	"driftlab/precision"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"
)

// BenchmarkLadder multiplies [m,k]·[n,k]ᵀ on each rung, from the naive loop to
// AVX-512.
func BenchmarkLadder(b *testing.B) {
	for _, s := range []struct{ m, k, n int }{{1024, 64, 256}, {64, 64, 64}} {
		rng := newRand(7)
		x, data := normals(rng, s.m*s.k), normals(rng, s.n*s.k)
		dst := make([]float32, s.m*s.n)
		var w Weight
		w.Pack(data, s.n, s.k, nil)
		var scratch Scratch
		report := func(b *testing.B) {
			flop := 2 * float64(s.m) * float64(s.n) * float64(s.k) * float64(b.N)
			b.ReportMetric(flop/1e9/b.Elapsed().Seconds(), "GFLOP/s")
		}
		shape := fmt.Sprintf("%dx%dx%d", s.m, s.k, s.n)
		b.Run(shape+"/naive", func(b *testing.B) {
			for b.Loop() {
				for i := range s.m {
					for j := range s.n {
						var acc float32
						for k := range s.k {
							acc += x[i*s.k+k] * data[j*s.k+k]
						}
						dst[i*s.n+j] = acc
					}
				}
			}
			report(b)
		})
		b.Run(shape+"/gonum", func(b *testing.B) {
			for b.Loop() {
				gonum.Implementation{}.Sgemm(blas.NoTrans, blas.Trans, s.m, s.n, s.k, 1, x, s.k, data, s.k, 0, dst, s.n)
			}
			report(b)
		})
		for _, p := range Paths() {
			b.Run(shape+"/"+p.String(), func(b *testing.B) {
				setPath(b, p)
				for b.Loop() {
					Linear(dst, x, nil, &w, s.m, Numerics{}, &scratch)
				}
				report(b)
			})
		}
	}
}

// BenchmarkOps times the other kernels per element (or per query and key) at
// the sizes of a model of width 64, on each path.
func BenchmarkOps(b *testing.B) {
	rng := newRand(8)
	const rows, d = 256, 64
	x, y, z := normals(rng, rows*d), normals(rng, rows*d), make([]float32, rows*d)
	dst, inv, gain := make([]float32, rows*d), make([]float32, rows), normals(rng, d)
	var w Weight
	w.Pack(normals(rng, d*d), d, d, nil)
	const t, heads, headDim = 64, 4, 16
	a := newAttentionCase(1, t, heads, heads, headDim)
	a.store(t, 0)
	plain := a.attention(AttentionNumerics{})
	out, lse := make([]float32, len(a.q)), make([]float32, t*heads)
	dq, dk, dv := make([]float32, len(a.q)), make([]float32, len(a.q)), make([]float32, len(a.q))
	table, pos := NewRotaryTable(1e4, headDim, rows), make([]int32, rows)
	var s Scratch
	attend := func(num AttentionNumerics) {
		a.attention(num).Attend(out, lse, a.q, heads*headDim, a.kv, t, 1, KV{}, &s)
	}
	bf16 := AttentionNumerics{Scores: precision.BF16, Probs: precision.BF16, Output: precision.BF16}
	for _, op := range []struct {
		name     string
		elements int
		run      func()
	}{
		{"linear decode 1 row", d * d, func() { Linear(dst, x, nil, &w, 1, Numerics{}, &s) }},
		{"linear decode 4 rows", 4 * d * d, func() { Linear(dst, x, nil, &w, 4, Numerics{}, &s) }},
		{"linear split_k:4", rows * d * d, func() { Linear(dst, x, nil, &w, rows, Numerics{Reduction: Reduction{Kind: SplitK, Parts: 4}}, &s) }},
		{"linear bf16 out", rows * d * d, func() { Linear(dst, x, nil, &w, rows, Numerics{Output: precision.BF16}, &s) }},
		{"input gradient", rows * d * d, func() { LinearInputGrad(dst, x, &w, rows, false, Numerics{}, &s) }},
		{"weight gradient", rows * d * d, func() { LinearWeightGrad(dst, x, y, d, d, rows, &s) }},
		{"exp", rows * d, func() { Exp(dst, x) }},
		{"round bf16", rows * d, func() { roundSlice(precision.BF16, dst, x) }},
		{"round fp16", rows * d, func() { roundSlice(precision.FP16, dst, x) }},
		{"round e4m3", rows * d, func() { roundSlice(precision.E4M3, dst, x) }},
		{"rmsnorm", rows * d, func() { RMSNorm(dst, inv, x, gain, rows, d, 1e-6, Numerics{}) }},
		{"rmsnorm 1 row", d, func() { RMSNorm(dst, inv, x, gain, 1, d, 1e-6, Numerics{}) }},
		{"rmsnorm gradient", rows * d, func() { RMSNormInputGrad(dst, y, x, inv, gain, rows, d, false) }},
		{"rotary", rows * d, func() { Rotary(z, d, pos, rows, heads, headDim, table, precision.FP32) }},
		{"silu gate", rows * d, func() { SiLUGate(dst, x, y, rows*d, precision.FP32) }},
		{"silu gate bf16", rows * d, func() { SiLUGate(dst, x, y, rows*d, precision.BF16) }},
		{"silu gradient", rows * d, func() { SiLUGateGrad(dst, z, y, x, y, rows*d) }},
		{"log-softmax 32", rows * d, func() { LogSoftmaxRows(dst, x, rows*d/32, 32, 1) }},
		{"attend 64 rows", t * (t + 1) / 2 * heads, func() { attend(AttentionNumerics{}) }},
		{"attend 64 rows bf16", t * (t + 1) / 2 * heads, func() { attend(bf16) }},
		{"attend 64 rows online", t * (t + 1) / 2 * heads, func() { attend(AttentionNumerics{Kernel: Online, Tile: 16}) }},
		{"attend decode 48 keys", 48 * heads, func() {
			plain.Attend(out, lse, a.q, heads*headDim, a.kv, 1, 48, KV{}, &s)
		}},
		{"attend gradient", t * (t + 1) / 2 * heads, func() {
			plain.AttendGrad(dq, dk, dv, out, a.q, a.k, a.v, lse, heads*headDim, heads*headDim, 0, t, Kept{}, &s)
		}},
	} {
		for _, p := range Paths() {
			b.Run(strings.ReplaceAll(op.name, " ", "-")+"/"+p.String(), func(b *testing.B) {
				setPath(b, p)
				clear(z)
				for b.Loop() {
					op.run()
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(op.elements), "ns/element")
			})
		}
	}
}
