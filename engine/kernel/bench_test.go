package kernel

import (
	"fmt"
	"testing"

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
		for p := PathGo; p <= bestPath(); p++ {
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
