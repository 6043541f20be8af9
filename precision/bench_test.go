package precision

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// benchInputs are what rounding meets: activations, and weights so small that
// the narrow formats see subnormals, which must not be slower.
var benchInputs = []struct {
	name  string
	scale float64
}{{"activations", 1}, {"small", 0x1p-12}}

func benchSlice(n int, scale float64) []float32 {
	rng := rand.New(rand.NewPCG(1, 2))
	xs := make([]float32, n)
	for i := range xs {
		xs[i] = float32(rng.NormFloat64() * scale)
	}
	return xs
}

// perElement reports the time in the unit that kernels are compared in.
func perElement(b *testing.B, n int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/element")
	b.ReportMetric(math.Round(float64(n)*float64(b.N)/b.Elapsed().Seconds()/1e4)/100, "Melement/s")
}

func BenchmarkRoundSlice(b *testing.B) {
	for _, f := range []Format{FP32, TF32, BF16, FP16, E4M3, E5M2, E2M1, INT8} {
		for _, in := range benchInputs {
			eachPath(b, f.Name+"/"+in.name, func(b *testing.B) {
				const n = 4096
				src, dst := benchSlice(n, in.scale), make([]float32, n)
				for b.Loop() {
					f.RoundSlice(dst, src)
				}
				perElement(b, n)
			})
		}
	}
}

// The rows that an engine rounds: a head, a token of a small model, one with a
// tail.
func BenchmarkRoundSliceShort(b *testing.B) {
	for _, f := range []Format{BF16, FP16, E4M3} {
		for _, n := range []int{8, 32, 61, 64} {
			eachPath(b, fmt.Sprintf("%s/%d", f, n), func(b *testing.B) {
				src, dst := benchSlice(n, 1), make([]float32, n)
				for b.Loop() {
					f.RoundSlice(dst, src)
				}
				perElement(b, n)
			})
		}
	}
}

// A chain of rounded sums, each of which waits for the last.
func BenchmarkRound(b *testing.B) {
	for _, f := range []Format{BF16, FP16, E4M3} {
		src := benchSlice(1024, 0x1p-4)
		for _, way := range []struct {
			name string
			sum  func() float32
		}{
			{"format", func() (sum float32) {
				for _, x := range src {
					sum = f.Round(sum + x)
				}
				return sum
			}},
			{"rounder", func() (sum float32) {
				r := f.Rounder()
				for _, x := range src {
					sum = r.Round(sum + x)
				}
				return sum
			}},
		} {
			b.Run(f.Name+"/"+way.name, func(b *testing.B) {
				for b.Loop() {
					if way.sum() != way.sum() {
						b.Fatal("the sum depends on the time of day")
					}
				}
				perElement(b, 2*len(src))
			})
		}
	}
}

func BenchmarkRoundSliceStochastic(b *testing.B) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, f := range []Format{BF16, E4M3} {
		b.Run(f.Name, func(b *testing.B) {
			src, dst := benchSlice(4096, 1), make([]float32, 4096)
			for b.Loop() {
				f.RoundSliceStochastic(dst, src, rng)
			}
			perElement(b, len(src))
		})
	}
}

var benchQuantizers = []string{"fp8_e4m3/tensor", "fp8_e4m3/channel", "fp8_e4m3/1x128", "fp8_e4m3/128x128", "int8/channel", "fp4_e2m1/mx", "fp4_e2m1/nv"}

func BenchmarkRoundTrip(b *testing.B) {
	for _, text := range benchQuantizers {
		eachPath(b, text, func(b *testing.B) {
			const rows, cols = 256, 64
			q := mustQuantizer(b, text)
			src, dst := benchSlice(rows*cols, 1), make([]float32, rows*cols)
			for b.Loop() {
				q.RoundTrip(dst, src, rows, cols)
			}
			perElement(b, rows*cols)
		})
	}
}

// One activation row at a time, as engines quantise: values and scales for the
// matmul, and the numbers that they stand for.
func BenchmarkQuantizeRow(b *testing.B) {
	for _, text := range benchQuantizers {
		for _, cols := range []int{32, 64, 256} {
			eachPath(b, fmt.Sprintf("%s/%d", text, cols), func(b *testing.B) {
				q := mustQuantizer(b, text)
				src, dst, values := benchSlice(cols, 1), make([]float32, cols), make([]float32, cols)
				scales := make([]float32, q.ScaleCount(1, cols))
				for b.Loop() {
					q.Quantize(values, scales, src, 1, cols)
					q.Dequantize(dst, values, scales, 1, cols)
				}
				perElement(b, cols)
			})
		}
	}
}
