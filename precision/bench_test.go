package precision

import (
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
	const n = 4096
	for _, f := range []Format{FP32, TF32, BF16, FP16, E4M3, E5M2, E2M1, INT8} {
		for _, in := range benchInputs {
			b.Run(f.Name+"/"+in.name, func(b *testing.B) {
				src, dst := benchSlice(n, in.scale), make([]float32, n)
				for b.Loop() {
					f.RoundSlice(dst, src)
				}
				perElement(b, n)
			})
		}
	}
}

func BenchmarkRound(b *testing.B) {
	for _, f := range []Format{BF16, FP16, E4M3} {
		b.Run(f.Name, func(b *testing.B) {
			src := benchSlice(1024, 1)
			var sum float32
			for b.Loop() {
				for _, x := range src {
					sum += f.Round(x)
				}
			}
			if sum != sum {
				b.Fatal("NaN")
			}
			perElement(b, len(src))
		})
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

func BenchmarkRoundTrip(b *testing.B) {
	const rows, cols = 256, 64
	for _, text := range []string{"fp8_e4m3/tensor", "fp8_e4m3/channel", "fp8_e4m3/1x128", "fp8_e4m3/128x128", "int8/channel", "fp4_e2m1/mx", "fp4_e2m1/nv"} {
		b.Run(text, func(b *testing.B) {
			q, err := ParseQuantizer(text)
			if err != nil {
				b.Fatal(err)
			}
			src, dst := benchSlice(rows*cols, 1), make([]float32, rows*cols)
			for b.Loop() {
				q.RoundTrip(dst, src, rows, cols)
			}
			perElement(b, rows*cols)
		})
	}
}
