package kernel

import (
	"math"
	"testing"

	"driftlab/precision"
)

// The eager operations are their formulas, an element at a time.
func TestEagerOperations(t *testing.T) {
	rng, f := newRand(11), precision.BF16
	const rows, heads, headDim, d = 3, 2, 6, 12
	x, gain, pos := normals(rng, rows*d), normals(rng, d), []int32{0, 5, 9}
	f.RoundSlice(x, x)

	norm, inv := make([]float32, rows*d), make([]float32, rows)
	RMSNorm(norm, inv, x, gain, rows, d, 1e-5, Numerics{Output: f, Eager: true})
	for i, got := range norm {
		if want := f.Round(f.Round(x[i]*inv[i/d]) * gain[i%d]); got != want {
			t.Fatalf("norm %d is %g, want %g", i, got, want)
		}
	}

	table := NewRotaryTable(100, headDim, 10)
	turned := append([]float32(nil), x...)
	RotaryEager(turned, heads*headDim, pos, rows, heads, headDim, table, f)
	const half = headDim / 2
	for i := range x {
		row, at := i/d, i%headDim
		angle := float64(pos[row]) * math.Pow(100, -float64(2*(at%half))/headDim)
		c, s := f.Round(float32(math.Cos(angle))), f.Round(float32(math.Sin(angle)))
		want := float32(0)
		if at < half {
			want = f.Round(f.Round(x[i]*c) - f.Round(x[i+half]*s))
		} else {
			want = f.Round(f.Round(x[i]*c) + f.Round(x[i-half]*s))
		}
		if turned[i] != want {
			t.Fatalf("rotated %d is %g, want %g", i, turned[i], want)
		}
	}

	gated := make([]float32, d)
	SiLUGateEager(gated, x[:d], gain, d, f)
	for i, got := range gated {
		e := f.Round(float32(math.Exp(-float64(x[i]))))
		if want := f.Round(f.Round(x[i]/f.Round(1+e)) * gain[i]); got != want {
			t.Fatalf("gated %d is %g, want %g", i, got, want)
		}
	}

	sum := append([]float32(nil), x[:d]...)
	AddScaledEager(sum, gain, 0.3, f)
	for i, got := range sum {
		if want := f.Round(x[i] + f.Round(gain[i]*float32(0.3))); got != want {
			t.Fatalf("sum %d is %g, want %g", i, got, want)
		}
	}
}
