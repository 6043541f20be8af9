package kernel

import (
	"math"
	"testing"

	"driftlab/precision"
	"driftlab/precision/must"
)

// The gradients against central differences of the same function in float64.

func wide(x []float32) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}

// dot64 is the scalar whose gradient is taken: Σ w·y.
func dot64(w []float32, y []float64) float64 {
	s := 0.0
	for i, v := range y {
		s += float64(w[i]) * v
	}
	return s
}

// checkGradient compares grad with central differences of f at x, relative to
// the largest entry of the tensor.
func checkGradient(t *testing.T, what string, grad []float32, x []float64, f func(x []float64) float64) {
	t.Helper()
	const h = 1e-5
	largest, worst := 0.0, 0.0
	for i := range x {
		at := x[i]
		x[i] = at + h
		up := f(x)
		x[i] = at - h
		down := f(x)
		x[i] = at
		want := (up - down) / (2 * h)
		largest = max(largest, math.Abs(want))
		worst = max(worst, math.Abs(want-float64(grad[i])))
	}
	if largest == 0 || worst > 2e-5*largest {
		t.Errorf("%s: gradient off by %.2g, largest entry %.3g", what, worst, largest)
	}
}

func rmsNorm64(x, gain []float64, d int, eps float64) []float64 {
	y := make([]float64, len(x))
	for r := 0; r < len(x); r += d {
		s := 0.0
		for _, v := range x[r : r+d] {
			s += v * v
		}
		inv := 1 / math.Sqrt(s/float64(d)+eps)
		for i := range d {
			y[r+i] = x[r+i] * inv * gain[i]
		}
	}
	return y
}

func TestRMSNormGradient(t *testing.T) {
	rng := newRand(21)
	const rows, d, eps = 5, 37, 1e-5
	x, gain, dy := normals(rng, rows*d), normals(rng, d), normals(rng, rows*d)
	y, inv := make([]float32, rows*d), make([]float32, rows)
	RMSNorm(y, inv, x, gain, rows, d, eps, Numerics{})
	for i, want := range rmsNorm64(wide(x), wide(gain), d, eps) {
		if math.Abs(float64(y[i])-want) > 1e-5 {
			t.Fatalf("y[%d] = %g, want %g", i, y[i], want)
		}
	}
	dx, dgain := make([]float32, rows*d), make([]float32, d)
	RMSNormInputGrad(dx, dy, x, inv, gain, rows, d, false)
	RMSNormGainGrad(dgain, dy, x, inv, rows, d)
	checkGradient(t, "dx", dx, wide(x), func(x []float64) float64 { return dot64(dy, rmsNorm64(x, wide(gain), d, eps)) })
	checkGradient(t, "dgain", dgain, wide(gain), func(g []float64) float64 { return dot64(dy, rmsNorm64(wide(x), g, d, eps)) })
	more := append([]float32(nil), dx...)
	RMSNormInputGrad(more, dy, x, inv, gain, rows, d, true)
	for i := range more {
		if more[i] != dx[i]+dx[i] {
			t.Fatalf("add: dx[%d] = %g, want %g", i, more[i], 2*dx[i])
		}
	}
	// A rank of rows at a time gives the same gain gradient.
	parts := make([]float32, d)
	RMSNormGainGrad(parts, dy, x, inv, 2, d)
	RMSNormGainGrad(parts, dy[2*d:], x[2*d:], inv[2:], rows-2, d)
	sameBits(t, "dgain in two calls", parts, dgain)
}

// The mean square follows the declared order, as far as ranks and promotions do
// not come into it.
func TestRMSNormReduction(t *testing.T) {
	rng := newRand(22)
	const d, eps = 61, 1e-6
	gain := make([]float32, d)
	for i := range gain {
		gain[i] = 1
	}
	for _, red := range everyReduction() {
		for _, acc := range []precision.Format{{}, precision.BF16} {
			x := normals(rng, 3*d)
			got, inv := make([]float32, 3*d), make([]float32, 3)
			RMSNorm(got, inv, x, gain, 3, d, eps, Numerics{Accumulator: acc, Output: precision.BF16, Reduction: red})
			order := red.Local()
			order.Promote = 0
			for r := range 3 {
				row := x[r*d:][:d]
				mean := dumbDot(row, row, 0, 1, order, acc, 0, nil) / d
				want := 1 / float32(math.Sqrt(float64(mean+eps)))
				if inv[r] != want {
					t.Fatalf("%v acc %v: inv = %x, want %x", red, acc.Name, inv[r], want)
				}
				for i, v := range row {
					if y := precision.BF16.Round(v * want); got[r*d+i] != y {
						t.Fatalf("%v: y = %g, want %g", red, got[r*d+i], y)
					}
				}
			}
		}
	}
}

func TestLogSoftmax(t *testing.T) {
	rng := newRand(23)
	const n, invT = 33, float32(1.25)
	logits, logp := normals(rng, n), make([]float32, n)
	lse := LogSoftmax(logp, logits, n, invT)
	sum := 0.0
	for _, v := range logits {
		sum += math.Exp(float64(v) * float64(invT))
	}
	for i, v := range logits {
		if want := float64(v)*float64(invT) - math.Log(sum); math.Abs(float64(logp[i])-want) > 1e-6 {
			t.Fatalf("logp[%d] = %g, want %g", i, logp[i], want)
		}
	}
	if want := math.Log(sum); math.Abs(float64(lse)-want) > 1e-6 {
		t.Errorf("lse %g, want %g", lse, want)
	}
	LogSoftmax(logits, logits, n, invT)
	sameBits(t, "log-softmax in place", logits, logp)
}

func TestSiLUGateGradient(t *testing.T) {
	rng := newRand(24)
	const n = 67
	gate, up, dy := normals(rng, n), normals(rng, n), normals(rng, n)
	f := func(g, u []float64) []float64 {
		y := make([]float64, n)
		for i := range y {
			y[i] = g[i] / (1 + math.Exp(-g[i])) * u[i]
		}
		return y
	}
	y, dgate, dup := make([]float32, n), make([]float32, n), make([]float32, n)
	SiLUGate(y, gate, up, n, precision.FP32)
	for i, want := range f(wide(gate), wide(up)) {
		if math.Abs(float64(y[i])-want) > 1e-6*math.Max(1, math.Abs(want)) {
			t.Fatalf("y[%d] = %g, want %g", i, y[i], want)
		}
	}
	SiLUGateGrad(dgate, dup, dy, gate, up, n)
	checkGradient(t, "dgate", dgate, wide(gate), func(g []float64) float64 { return dot64(dy, f(g, wide(up))) })
	checkGradient(t, "dup", dup, wide(up), func(u []float64) float64 { return dot64(dy, f(wide(gate), u)) })
	// Both roundings, one after the other.
	SiLUGate(y, gate, up, n, precision.BF16)
	for i, g := range gate {
		a := precision.BF16.Round(g / (1 + Exp32(-g)))
		if want := precision.BF16.Round(a * up[i]); y[i] != want {
			t.Fatalf("bf16: y[%d] = %g, want %g", i, y[i], want)
		}
	}
}

func TestRotary(t *testing.T) {
	rng := newRand(25)
	const rows, heads, headDim, positions = 7, 3, 10, 40
	const theta = 10000.0
	table := NewRotaryTable(theta, headDim, positions)
	x := normals(rng, rows*heads*headDim)
	pos := []int32{0, 1, 2, 39, 5, 5, 17}
	rotate := func(x []float64) []float64 {
		y := make([]float64, len(x))
		for r := range rows {
			for h := range heads {
				for i := range headDim / 2 {
					angle := float64(pos[r]) * math.Pow(theta, -2*float64(i)/headDim)
					a, b := (r*heads+h)*headDim+i, (r*heads+h)*headDim+i+headDim/2
					y[a] = x[a]*math.Cos(angle) - x[b]*math.Sin(angle)
					y[b] = x[b]*math.Cos(angle) + x[a]*math.Sin(angle)
				}
			}
		}
		return y
	}
	y := append([]float32(nil), x...)
	Rotary(y, heads*headDim, pos, rows, heads, headDim, table, precision.FP32)
	for i, want := range rotate(wide(x)) {
		if math.Abs(float64(y[i])-want) > 1e-6 {
			t.Fatalf("y[%d] = %g, want %g", i, y[i], want)
		}
	}
	dy := normals(rng, len(x))
	dx := append([]float32(nil), dy...)
	RotaryGrad(dx, heads*headDim, pos, rows, heads, headDim, table)
	checkGradient(t, "rotary", dx, wide(x), func(x []float64) float64 { return dot64(dy, rotate(x)) })
	rounded := append([]float32(nil), x...)
	Rotary(rounded, heads*headDim, pos, rows, heads, headDim, table, precision.BF16)
	for i := range y {
		if rounded[i] != precision.BF16.Round(y[i]) {
			t.Fatalf("bf16: y[%d] = %g, want %g", i, rounded[i], precision.BF16.Round(y[i]))
		}
	}
}

func TestEmbed(t *testing.T) {
	const d = 3
	table := []float32{0, 1, 2, 10, 11, 12, 20, 21, 22}
	ids := []int32{2, 0, 2}
	y := make([]float32, len(ids)*d)
	Embed(y, table, ids, d)
	sameBits(t, "embed", y, []float32{20, 21, 22, 0, 1, 2, 20, 21, 22})
	dy := []float32{1, 2, 3, 4, 5, 6, 0x1p24, 1, 1}
	got := make([]float32, len(table))
	EmbedGrad(got, dy, ids, d)
	sameBits(t, "embed gradient", got, []float32{4, 5, 6, 0, 0, 0, 0x1p24, 3, 4}) // 1 + 2^24 loses the 1: rows in order
	must.Panic(t, "a token outside the table", func() { Embed(y, table, []int32{3}, d) })
}
