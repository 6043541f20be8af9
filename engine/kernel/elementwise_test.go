package kernel

import (
	"fmt"
	"math"
	"testing"

	"driftlab/precision"
)

// elementwiseCases call every kernel that has assembly: each may write x[0..],
// whose slices have n elements, and reads the rest.
var elementwiseCases = map[string]func(x [5][]float32, c, d float32){
	"exp affine":     func(x [5][]float32, c, d float32) { expAffine(x[0], x[1], c, d) },
	"exp in place":   func(x [5][]float32, c, d float32) { Exp(x[0], x[0]) },
	"affine":         func(x [5][]float32, c, d float32) { affine(x[0], x[1], c, d) },
	"scale":          func(x [5][]float32, c, d float32) { scaleInto(x[0], c) },
	"divide":         func(x [5][]float32, c, d float32) { divideInto(x[0], c) },
	"scale both":     func(x [5][]float32, c, d float32) { scaleBoth(x[0], x[1], c) },
	"add":            func(x [5][]float32, c, d float32) { Add(x[0], x[1], x[2]) },
	"add into":       func(x [5][]float32, c, d float32) { addInto(x[0], x[1]) },
	"multiply":       func(x [5][]float32, c, d float32) { mulInto(x[0], x[1], x[2]) },
	"add scaled":     func(x [5][]float32, c, d float32) { AddScaled(x[0], x[1], c) },
	"add fused":      func(x [5][]float32, c, d float32) { addFused(x[0], x[1], c) },
	"silu":           func(x [5][]float32, c, d float32) { silu(x[0], x[1]) },
	"silu gate":      func(x [5][]float32, c, d float32) { SiLUGate(x[0], x[1], x[2], len(x[0]), precision.FP32) },
	"silu gate bf16": func(x [5][]float32, c, d float32) { SiLUGate(x[0], x[0], x[2], len(x[0]), precision.BF16) },
	"silu gradient":  func(x [5][]float32, c, d float32) { SiLUGateGrad(x[0], x[1], x[2], x[3], x[4], len(x[0])) },
	"silu gradient again": func(x [5][]float32, c, d float32) {
		dy := append([]float32(nil), x[3]...)
		SiLUGateGradAgain(x[0], x[1], x[2], dy, x[3], x[4], len(x[0]), precision.FP32)
	},
	"silu gradient again bf16": func(x [5][]float32, c, d float32) {
		dy := append([]float32(nil), x[3]...)
		SiLUGateGradAgain(x[0], x[1], x[2], dy, x[3], x[4], len(x[0]), precision.BF16)
	},
	"silu gradient in place": func(x [5][]float32, c, d float32) {
		SiLUGateGrad(x[0], x[1], x[1], x[0], x[2], len(x[0]))
	},
	"scale gain":     func(x [5][]float32, c, d float32) { scaleGain(x[0], x[1], x[2], c) },
	"norm input":     func(x [5][]float32, c, d float32) { normInputGrad(x[0], x[1], x[2], x[3], c, d, false) },
	"norm input add": func(x [5][]float32, c, d float32) { normInputGrad(x[0], x[1], x[2], x[3], c, d, true) },
	"norm gain":      func(x [5][]float32, c, d float32) { normGainGrad(x[0], x[1], x[2], c) },
	"softmax input":  func(x [5][]float32, c, d float32) { softmaxInput(x[0], x[1], c, d) },
	"rotate":         func(x [5][]float32, c, d float32) { rotateWhole(x, false) },
	"rotate back":    func(x [5][]float32, c, d float32) { rotateWhole(x, true) },
	"adamw": func(x [5][]float32, c, d float32) {
		AdamWStep{Scale: c, Beta1: 0.9, Beta2: 0.99, Root2: 1.5, Eps: 1e-8, Keep: 0.75, Step: d}.Update(x[0], x[1], x[2], x[3])
	},
	"maximum": func(x [5][]float32, c, d float32) {
		if m := maxOf(x[1]); len(x[0]) > 0 {
			x[0][0] = m
		}
	},
}

// rotateWhole turns two heads of x[0] by the angles of x[1] and x[2].
func rotateWhole(x [5][]float32, inverse bool) {
	half := len(x[0]) / 4
	t := RotaryTable{headDim: 2 * half, positions: 1, cos: x[1][:half], sin: x[2][:half]}
	t.rotate(x[0], 4*half, []int32{0}, 1, 2, 2*half, inverse)
}

func TestElementwisePathsAgree(t *testing.T) {
	eachPath(t, func(t *testing.T) {
		rng := newRand(61)
		for name, f := range elementwiseCases {
			for n := range 68 {
				var from [5][]float32
				for i := range from {
					from[i] = hostile(rng, n)
					if n%2 == 0 {
						from[i] = normals(rng, n)
					}
				}
				scalars := hostile(rng, 2)
				if n%3 != 0 {
					scalars = normals(rng, 2)
				}
				run := func() (x [5][]float32) {
					var g [5]*guarded
					for i := range g {
						g[i] = guardedFrom(fmt.Sprintf("%s argument %d", name, i), from[i])
						x[i] = g[i].x
					}
					f(x, scalars[0], scalars[1])
					for i := range g {
						g[i].intact(t)
					}
					return x
				}
				got := run()
				var want [5][]float32
				inGo(func() { want = run() })
				for i := range got {
					sameBits(t, fmt.Sprintf("%s n %d scalars %g argument %d", name, n, scalars, i), got[i], want[i])
				}
			}
		}
	})
}

// Exp over a dense sweep: every path has the bits of Exp32.
func TestExpPathsAgreeEverywhere(t *testing.T) {
	eachPath(t, func(t *testing.T) {
		const chunk = 1 << 12
		x, got, want := make([]float32, chunk), make([]float32, chunk), make([]float32, chunk)
		for b := uint64(0); b < 1<<32; b += 1021 * chunk {
			for i := range x {
				x[i] = math.Float32frombits(uint32(b + uint64(i)*1021))
				want[i] = Exp32(x[i])
			}
			Exp(got, x)
			sameBits(t, "exp", got, want)
		}
	})
}

func TestChainsPathsAgree(t *testing.T) {
	eachPath(t, func(t *testing.T) {
		rng := newRand(63)
		for rows := range 20 {
			for _, n := range []int{0, 1, 2, 7, 33, 64} {
				stride := n + rng.IntN(3)
				values := normals
				if n%2 == 0 {
					values = hostile
				}
				a, b, c := values(rng, rows*stride+n), values(rng, rows*stride+n), values(rng, n)
				start := normals(rng, rows)
				for name, f := range map[string]func(sums []float32){
					"sum":      func(s []float32) { sumChain.add(s, a, a, a, stride, rows, n) },
					"square":   func(s []float32) { squareChain.add(s, a, a, a, stride, rows, n) },
					"dot":      func(s []float32) { dotChain.add(s, a, b, a, stride, rows, n) },
					"weighted": func(s []float32) { weightedChain.add(s, a, b, c, stride, rows, n) },
				} {
					got, want := guardedFrom("sums", start), append([]float32(nil), start...)
					f(got.x)
					got.intact(t)
					inGo(func() { f(want) })
					sameBits(t, fmt.Sprintf("%s rows %d n %d", name, rows, n), got.x, want)
				}
			}
		}
	})
}

// Rows whose sums go side by side have the bits of one by one, at any number and length.
func TestLogSoftmaxRowsPathsAgree(t *testing.T) {
	eachPath(t, func(t *testing.T) {
		rng := newRand(65)
		for rows := range 36 {
			for _, n := range []int{1, 15, 16, 17, 32, 33, 48, 64, 65, 80} {
				logits := normals(rng, rows*n)
				scale := []float32{1, 0.75, 1e30, 0x1p-149, -1, 0, float32(math.Inf(1)), float32(math.NaN())}[rng.IntN(8)]
				if rng.IntN(2) == 0 {
					logits, scale = hostile(rng, rows*n), 1.25
				}
				for r := range rows { // infinities, zeros and NaNs alone, and with others
					kind := [5]float32{float32(math.Inf(-1)), float32(math.Inf(1)), 0, float32(math.Copysign(0, -1)), float32(math.NaN())}[rng.IntN(5)]
					for i, odds := 0, 1+rng.IntN(40); i < n && odds < 20; i++ {
						if rng.IntN(odds) == 0 {
							logits[r*n+i] = kind
						}
					}
				}
				got, from := newGuarded("log-probs", rows*n), guardedFrom("logits", logits)
				LogSoftmaxRows(got.x, from.x, rows, n, scale)
				got.intact(t)
				from.intact(t)
				sameBits(t, "logits", from.x, logits)
				want := make([]float32, rows*n)
				inGo(func() {
					for r := range rows {
						LogSoftmax(want[r*n:], logits[r*n:], n, scale)
					}
				})
				sameBits(t, fmt.Sprintf("%d rows of %d times %g", rows, n, scale), got.x, want)
				LogSoftmaxRows(from.x, from.x, rows, n, scale)
				sameBits(t, "in place", from.x, want)
			}
		}
	})
}

// Entropies leave out what has no probability, whatever its logarithm.
func TestEntropies(t *testing.T) {
	each := func(t *testing.T) {
		rng := newRand(66)
		for rows := range 36 {
			for _, n := range []int{1, 5, 16, 32, 33} {
				logp, probs := normals(rng, rows*n), make([]float32, rows*n)
				LogSoftmaxRows(logp, logp, rows, n, 8)
				if rows%3 == 0 {
					logp = hostile(rng, rows*n)
				}
				if rows%4 == 0 {
					for i := range logp {
						logp[i] = []float32{float32(math.Inf(-1)), 0, -200, logp[i]}[rng.IntN(4)]
					}
				}
				Exp(probs, logp)
				want := make([]float32, rows)
				for i, p := range probs {
					if p > 0 {
						want[i/n] -= float32(p * logp[i])
					}
				}
				got := newGuarded("entropies", rows)
				Entropies(got.x, probs, logp, n)
				got.intact(t)
				sameBits(t, fmt.Sprintf("%d rows of %d", rows, n), got.x, want)
			}
		}
	}
	t.Run("go", func(t *testing.T) { inGo(func() { each(t) }) })
	eachPath(t, each)
}

func TestRoundSliceZeroFormatCopies(t *testing.T) {
	x, got := hostile(newRand(64), 40), make([]float32, 40)
	roundSlice(precision.Format{}, got, x)
	sameBits(t, "zero format", got, x)
	roundSlice(precision.FP16, got, x)
	want := make([]float32, len(x))
	precision.FP16.RoundSlice(want, x)
	sameBits(t, "fp16", got, want)
}
