package kernel

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"driftlab/precision"
)

// The routines over rows against plain Go, bit for bit, between guard words.
func TestAttentionRowsPathsAgree(t *testing.T) {
	eachPath(t, func(t *testing.T) {
		for _, m := range []int{1, 4, 7, 8} {
			for n := 1; n <= 67; n += 1 + n/9 {
				for causal := range 2 {
					rng := newRand(uint64(100*n + m))
					ld := n + m + 3
					data := hostile(rng, m*ld)
					got, want := guardedFrom("scores", data), guardedFrom("scores", data)
					maxima, wantMax := newGuarded("maxima", m), newGuarded("maxima", m)
					softRows(got.x, maxima.x, ld, m, n, causal, 0.3)
					inGo(func() { softRows(want.x, wantMax.x, ld, m, n, causal, 0.3) })
					what := fmt.Sprintf("%d rows of %d+%d", m, n, causal)
					sameBits(t, what+": scores", got.x, want.x)
					sameBits(t, what+": maxima", maxima.x, wantMax.x)
					got.intact(t)
					maxima.intact(t)

					out := hostile(rng, m*ld)
					got, want = guardedFrom("out", out), guardedFrom("out", out)
					values := hostile(rng, m*ld)
					tailRows(got.x, data, values, ld, ld, ld, m, n)
					inGo(func() { tailRows(want.x, data, values, ld, ld, ld, m, n) })
					sameBits(t, what+": tail", got.x, want.x)
					got.intact(t)
				}
			}
		}
	})
}

// inCalls are numerics of which assembly attends a query's heads, or a head's queries, in one call or two.
var inCalls = []AttentionNumerics{{}, {Probs: precision.BF16}}

// Queries that come alone against plain Go, bit for bit: every number of keys.
func TestDecodePathsAgree(t *testing.T) {
	eachPath(t, func(t *testing.T) {
		for _, num := range inCalls {
			for _, shape := range [][2]int{{1, 1}, {4, 4}, {6, 6}, {4, 2}, {6, 1}} {
				heads, kvHeads := shape[0], shape[1]
				for _, headDim := range []int{8, 16, 24, 32} {
					for seed, seen := range []func(rng *rand.Rand, n int) []float32{normals, hostile} {
						rng := newRand(uint64(seed))
						c := newAttentionCase(11, 50, heads, kvHeads, headDim)
						c.q, c.k, c.v = seen(rng, len(c.q)), seen(rng, len(c.k)), seen(rng, len(c.v))
						var want, wantLSE []float32
						inGo(func() { want, wantLSE = c.decode(num) })
						got, lse := c.decode(num)
						what := fmt.Sprintf("%d heads of %d on %d, %v", heads, headDim, kvHeads, num.Probs)
						sameBits(t, what+": out", got, want)
						sameBits(t, what+": lse", lse, wantLSE)
					}
				}
			}
		}
	})
}

// Consecutive queries against plain Go, bit for bit: every number of them and of the keys
// before, hostile operands, and NaN where nothing was stored.
func TestPrefillPathsAgree(t *testing.T) {
	eachPath(t, func(t *testing.T) {
		for rows := 2; rows <= 34; rows++ {
			for _, before := range []int{0, 1, 15, 16, 40} {
				for i, headDim := range []int{8, 16, 24, 48} {
					const heads, kvHeads = 2, 1
					num := inCalls[(i+rows)%len(inCalls)]
					rng := newRand(uint64(100*rows + before))
					c := newAttentionCase(7, rows+before, heads, kvHeads, headDim)
					if before > 1 {
						c.q, c.k, c.v = hostile(rng, len(c.q)), hostile(rng, len(c.k)), hostile(rng, len(c.v))
					}
					c.store(c.t, 0)
					d := heads * headDim
					var want, wantLSE *guarded
					attend := func() (out, lse *guarded) {
						out, lse = newGuarded("out", rows*d), newGuarded("lse", rows*heads)
						c.attention(num).Attend(out.x, lse.x, c.q[before*d:], d, c.kv, rows, before+1, KV{}, nil)
						out.intact(t)
						lse.intact(t)
						return out, lse
					}
					got, lse := attend()
					inGo(func() { want, wantLSE = attend() })
					what := fmt.Sprintf("%d rows of %d after %d, %v", rows, headDim, before, num.Probs)
					sameBits(t, what+": out", got.x, want.x)
					sameBits(t, what+": lse", lse.x, wantLSE.x)
				}
			}
		}
	})
}

// The gradient of consecutive queries against plain Go, bit for bit.
func TestAttendGradientPathsAgree(t *testing.T) {
	eachPath(t, func(t *testing.T) {
		for rows := 1; rows <= 34; rows++ {
			for _, before := range []int{0, 1, 7, 16, 40} {
				for _, headDim := range []int{8, 16, 24, 48} {
					const heads, kvHeads = 2, 1
					rng := newRand(uint64(100*rows + before))
					c := newAttentionCase(8, rows+before, heads, kvHeads, headDim)
					_, lse := c.prefill(AttentionNumerics{}, c.t)
					dout, d := normals(rng, rows*heads*headDim), heads*headDim
					if before == 7 {
						dout, lse = hostile(rng, len(dout)), hostile(rng, len(lse))
						c.q, c.k, c.v = hostile(rng, len(c.q)), hostile(rng, len(c.k)), hostile(rng, len(c.v))
					}
					gradients := func() (all [3]*guarded) {
						all = [3]*guarded{newGuarded("dq", len(dout)), newGuarded("dk", len(c.k)), newGuarded("dv", len(c.v))}
						c.attention(AttentionNumerics{}).AttendGrad(all[0].x, all[1].x, all[2].x, dout, c.q[before*d:], c.k, c.v, lse[before*heads:], d, kvHeads*headDim, before, rows, Kept{}, nil)
						return all
					}
					var want [3]*guarded
					got := gradients()
					inGo(func() { want = gradients() })
					for i, g := range got {
						g.intact(t)
						sameBits(t, fmt.Sprintf("%d rows of %d after %d: gradient %d", rows, headDim, before, i), g.x, want[i].x)
					}
				}
			}
		}
	})
}

// Transposed is transposed, for every height and width, between guard words.
func TestTransposePathsAgree(t *testing.T) {
	eachPath(t, func(t *testing.T) {
		for rows := 1; rows <= 35; rows++ {
			for n := 1; n <= 35; n++ {
				stride, ld := n+2, rows+3
				src := hostile(newRand(uint64(40*rows+n)), rows*stride)
				got, want := newGuarded("transpose", n*ld), newGuarded("transpose", n*ld)
				transpose(got.x, src[:(rows-1)*stride+n], rows, n, stride, ld)
				inGo(func() { transpose(want.x, src, rows, n, stride, ld) })
				sameBits(t, fmt.Sprintf("%dx%d", rows, n), got.x, want.x)
				got.intact(t)
			}
		}
	})
}

// Queries, keys and values that stand side by side in a row have the bits of those that stand
// separately, and what is between the rows of gradients stays.
func TestAttentionOfFusedRows(t *testing.T) {
	eachPath(t, func(t *testing.T) {
		const rows, heads, kvHeads, headDim = 37, 4, 2, 16
		const d, kd, width = heads * headDim, kvHeads * headDim, heads*headDim + 2*kvHeads*headDim + 5
		apart := newAttentionCase(9, rows, heads, kvHeads, headDim)
		fused := make([]float32, rows*width)
		for r := range rows {
			row := fused[r*width:]
			copy(row, apart.q[r*d:][:d])
			copy(row[d:], apart.k[r*kd:][:kd])
			copy(row[d+kd:], apart.v[r*kd:][:kd])
		}
		want, lse := apart.prefill(AttentionNumerics{}, rows)
		kv := KV{make([]float32, len(apart.kv.Keys)), make([]float32, len(apart.kv.Values))}
		StoreKV(kv, fused[d:], fused[d+kd:], width, rows, 0, kd)
		got := make([]float32, rows*d)
		a := apart.attention(AttentionNumerics{})
		a.Attend(got, nil, fused, width, kv, rows, 1, KV{}, nil)
		sameBits(t, "out", got, want)

		dout := normals(newRand(10), rows*d)
		dq, dk, dv := make([]float32, rows*d), make([]float32, rows*kd), make([]float32, rows*kd)
		a.AttendGrad(dq, dk, dv, dout, apart.q, apart.k, apart.v, lse, d, kd, 0, rows, Kept{}, nil)
		const untouched = 12345
		gradient := make([]float32, rows*width)
		for i := range gradient {
			gradient[i] = untouched
		}
		a.AttendGrad(gradient, gradient[d:], gradient[d+kd:], dout, fused, fused[d:], fused[d+kd:], lse, width, width, 0, rows, Kept{}, nil)
		for r := range rows {
			row := gradient[r*width:][:width]
			sameBits(t, "dq", row[:d], dq[r*d:][:d])
			sameBits(t, "dk", row[d:d+kd], dk[r*kd:][:kd])
			sameBits(t, "dv", row[d+kd:d+2*kd], dv[r*kd:][:kd])
			for _, x := range row[d+2*kd:] {
				if x != untouched {
					t.Fatalf("row %d: something was written behind it", r)
				}
			}
		}
	})
}
