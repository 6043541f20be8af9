package kernel

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"driftlab/precision"
)

// attentionCase is one sequence with its cache filled.
type attentionCase struct {
	t, heads, kvHeads, headDim, cap int
	q, k, v                         []float32
	kv                              KV
	scale                           float32
}

func newAttentionCase(seed uint64, t, heads, kvHeads, headDim int) attentionCase {
	rng := newRand(seed)
	c := attentionCase{t: t, heads: heads, kvHeads: kvHeads, headDim: headDim, cap: (t + 15) / 16 * 16,
		q: normals(rng, t*heads*headDim), k: normals(rng, t*kvHeads*headDim), v: normals(rng, t*kvHeads*headDim),
		scale: float32(1 / math.Sqrt(float64(headDim)))}
	c.kv = KV{normals(rng, kvHeads*headDim*c.cap), normals(rng, kvHeads*headDim*c.cap)}
	for i := range c.kv.Keys {
		c.kv.Keys[i], c.kv.Values[i] = float32(math.NaN()), float32(math.NaN()) // what is not stored must not matter
	}
	return c
}

func (c *attentionCase) attention(num AttentionNumerics) *Attention {
	a := NewAttention(c.heads, c.kvHeads, c.headDim, num)
	return &a
}

func (c *attentionCase) store(rows, first int) {
	kd := c.kvHeads * c.headDim
	StoreKV(c.kv, c.k[first*kd:], c.v[first*kd:], kd, rows, first, kd)
}

// decode attends one row at a time, as each is stored.
func (c *attentionCase) decode(num AttentionNumerics) (out, lse []float32) {
	d := c.heads * c.headDim
	out, lse = make([]float32, c.t*d), make([]float32, c.t*c.heads)
	var s Scratch
	a := c.attention(num)
	for i := range c.t {
		c.store(1, i)
		a.Attend(out[i*d:][:d], lse[i*c.heads:][:c.heads], c.q[i*d:][:d], d, c.kv, 1, i+1, KV{}, &s)
	}
	return out, lse
}

// prefill attends in the given chunks of rows.
func (c *attentionCase) prefill(num AttentionNumerics, chunks ...int) (out, lse []float32) {
	d := c.heads * c.headDim
	out, lse = make([]float32, c.t*d), make([]float32, c.t*c.heads)
	a, first := c.attention(num), 0
	for _, n := range chunks {
		c.store(n, first)
		a.Attend(out[first*d:][:n*d], lse[first*c.heads:][:n*c.heads], c.q[first*d:], d, c.kv, n, first+1, KV{}, nil)
		first += n
	}
	return out, lse
}

// dumbAttend is the definition, a scalar at a time, of queries that come alone
// or together.
func (c *attentionCase) dumbAttend(num AttentionNumerics, alone bool) (out, lse []float32) {
	chain := Reduction{Unfused: num.Reduction.Unfused}
	for t := range c.t {
		for h := range c.heads {
			g := h / (c.heads / c.kvHeads)
			at := func(x []float32, j int) []float32 { return x[(j*c.kvHeads+g)*c.headDim:][:c.headDim] }
			s := make([]float32, t+1)
			for j := range s {
				dot := dumbDot(c.q[(t*c.heads+h)*c.headDim:][:c.headDim], at(c.k, j), 0, 1, chain, precision.Format{}, 0, nil)
				if num.Eager {
					dot = dumbRound(num.Scores, dot) * dumbRound(num.Scores, c.scale)
				} else {
					dot *= c.scale
				}
				s[j] = dumbRound(num.Scores, dot)
			}
			column := func(d, from, to int) []float32 {
				x := make([]float32, 0, to-from)
				for j := from; j < to; j++ {
					x = append(x, at(c.v, j)[d])
				}
				return x
			}
			tile := t + 1
			if num.Kernel.Tiled() {
				tile = num.Tile
			}
			// walk is the normalised mix over the keys lo..hi-1, and its lse.
			walk := func(lo, hi int) (mix []float32, lse float32) {
				mix = make([]float32, c.headDim)
				m, sum := float32(math.Inf(-1)), float32(0)
				for from := lo; from < hi; from += tile {
					to := min(from+tile, hi)
					grow := m
					for _, x := range s[from:to] {
						grow = max(grow, x)
					}
					p := make([]float32, to-from)
					a := Exp32(m - grow)
					m, sum = grow, sum*a
					for j := range p {
						e := Exp32(s[from+j] - m)
						sum += e
						p[j] = dumbRound(num.Probs, e)
					}
					for j := range p {
						if num.Kernel == Normalized { // one tile has all keys
							p[j] = dumbRound(num.Probs, Exp32(s[from+j]-m)/sum)
						}
					}
					for d := range mix {
						if num.Kernel.Tiled() {
							mix[d] *= a
							for j, x := range column(d, from, to) {
								mix[d] = step(p[j], x, mix[d], num.Reduction.Unfused)
							}
						} else {
							mix[d] = dumbDot(p, column(d, from, to), 0, 1, num.Reduction, precision.Format{}, 0, nil)
						}
					}
				}
				for d := range mix {
					if num.Kernel != Normalized {
						mix[d] /= sum
					}
				}
				return mix, m + Log32(sum)
			}
			size := t + 1
			if num.Kernel == SplitKV && alone {
				size = ceilDiv(ceilDiv(t+1, tile), num.Splits) * tile
			}
			if num.Kernel == ContextParallel {
				size = tile
			}
			mix, total := walk(0, min(size, t+1))
			if size <= t {
				mix, total = c.dumbMerge(num, walk, t+1, size)
			}
			for _, x := range mix {
				out = append(out, dumbRound(num.Output, x))
			}
			lse = append(lse, total)
		}
	}
	return out, lse
}

// dumbRound rounds to a format; the zero format keeps all.
func dumbRound(f precision.Format, x float32) float32 {
	if f == (precision.Format{}) {
		return x
	}
	return f.Round(x)
}

// dumbMerge puts the parts of n keys together by their log-sum-exp, those of ranks last first.
func (c *attentionCase) dumbMerge(num AttentionNumerics, walk func(lo, hi int) ([]float32, float32), n, size int) (mix []float32, lse float32) {
	var mixes [][]float32
	var each []float32
	largest := float32(math.Inf(-1))
	for lo := 0; lo < n; lo += size {
		m, l := walk(lo, min(lo+size, n))
		mixes, each, largest = append(mixes, m), append(each, l), max(largest, l)
	}
	if num.Kernel == ContextParallel {
		slices.Reverse(mixes)
		slices.Reverse(each)
		for _, m := range mixes {
			for d := range m {
				m[d] = dumbRound(num.Output, m[d])
			}
		}
	}
	mix = make([]float32, c.headDim)
	sum := float32(0)
	for i, m := range mixes {
		weight := Exp32(each[i] - largest)
		sum += weight
		for d := range mix {
			mix[d] += float32(m[d] * weight)
		}
	}
	for d := range mix {
		mix[d] /= sum
	}
	return mix, largest + Log32(sum)
}

func attentionNumerics() map[string]AttentionNumerics {
	all := map[string]AttentionNumerics{
		"two_pass":         {},
		"two_pass unfused": {Reduction: Reduction{Unfused: true}},
		"two_pass bf16":    {Scores: precision.BF16, Probs: precision.BF16, Output: precision.BF16},
		"two_pass split":   {Reduction: Reduction{Kind: SplitK, Parts: 3}},
		"two_pass tree":    {Reduction: Reduction{Kind: Tree, Leaf: 4}, Probs: precision.FP16},
		"two_pass pair":    {Reduction: Reduction{Kind: Pairwise, Leaf: 5}},
		"online fp16":      {Kernel: Online, Tile: 7, Scores: precision.FP16, Probs: precision.FP16, Output: precision.FP16},
		"online unfused":   {Kernel: Online, Tile: 16, Reduction: Reduction{Unfused: true}},
	}
	for _, tile := range []int{1, 3, 8, 64} {
		all[fmt.Sprintf("online:%d", tile)] = AttentionNumerics{Kernel: Online, Tile: tile}
	}
	return all
}

// everyAttention is attentionNumerics, whose bits are on file, and those that
// came later.
func everyAttention() map[string]AttentionNumerics {
	all := attentionNumerics()
	all["split_kv:2"] = AttentionNumerics{Kernel: SplitKV, Tile: 4, Splits: 2}
	all["split_kv:5"] = AttentionNumerics{Kernel: SplitKV, Tile: 3, Splits: 5, Probs: precision.BF16, Reduction: Reduction{Unfused: true}}
	all["context_parallel:4"] = AttentionNumerics{Kernel: ContextParallel, Tile: 4}
	all["context_parallel:7"] = AttentionNumerics{Kernel: ContextParallel, Tile: 7, Scores: precision.FP16, Probs: precision.BF16, Output: precision.BF16}
	all["normalized"] = AttentionNumerics{Kernel: Normalized}
	all["normalized fp16"] = AttentionNumerics{Kernel: Normalized, Probs: precision.FP16, Reduction: Reduction{Kind: SplitK, Parts: 3}}
	all["normalized eager"] = AttentionNumerics{Kernel: Normalized, Scores: precision.BF16, Eager: true, Probs: precision.BF16, Output: precision.BF16}
	return all
}

// Prefill in any chunks, decode and the definition give the same bits; the
// definition of split_kv is another one alone than together.
func TestAttendPrefillEqualsDecode(t *testing.T) {
	for name, num := range everyAttention() {
		for i, d := range [][4]int{{1, 1, 1, 4}, {19, 4, 2, 8}, {21, 2, 2, 20}, {19, 3, 1, 17}, {32, 4, 2, 8}} {
			c := newAttentionCase(uint64(30+i), d[0], d[1], d[2], d[3])
			out, lse := c.dumbAttend(num, true)
			what := fmt.Sprintf("%s %v", name, d)
			gotOut, gotLSE := c.decode(num)
			sameBits(t, what+" decode", gotOut, out)
			sameBits(t, what+" decode lse", gotLSE, lse)
			together, togetherLSE := c.dumbAttend(num, false)
			if agree := slices.Equal(out, together); agree != (num.Kernel.PrefillIsDecode() || d[0] == 1) {
				t.Errorf("%s: prefill and decode agree: %v", what, agree)
			}
			out, lse = together, togetherLSE
			for _, chunks := range [][]int{{d[0]}, {d[0] / 2, d[0] - d[0]/2}, {min(3, d[0]), d[0] - min(3, d[0])}, {min(15, d[0]), d[0] - min(15, d[0])}} {
				c := newAttentionCase(uint64(30+i), d[0], d[1], d[2], d[3])
				gotOut, gotLSE = c.prefill(num, chunks...)
				sameBits(t, fmt.Sprint(what, " prefill ", chunks), gotOut, out)
				sameBits(t, fmt.Sprint(what, " prefill lse ", chunks), gotLSE, lse)
			}
		}
	}
}

// attend64 is causal attention in float64, row-major.
func (c *attentionCase) attend64(q, k, v []float64) []float64 {
	out := make([]float64, len(q))
	for t := range c.t {
		for h := range c.heads {
			g := h / (c.heads / c.kvHeads)
			w, sum := make([]float64, t+1), 0.0
			for j := range w {
				s := 0.0
				for d := range c.headDim {
					s += q[(t*c.heads+h)*c.headDim+d] * k[(j*c.kvHeads+g)*c.headDim+d]
				}
				w[j] = math.Exp(s * float64(c.scale))
				sum += w[j]
			}
			for j := range w {
				for d := range c.headDim {
					out[(t*c.heads+h)*c.headDim+d] += w[j] / sum * v[(j*c.kvHeads+g)*c.headDim+d]
				}
			}
		}
	}
	return out
}

func TestAttendGradient(t *testing.T) {
	for _, num := range []AttentionNumerics{{}, {Kernel: Online, Tile: 8}, {Kernel: SplitKV, Tile: 8, Splits: 2}, {Kernel: ContextParallel, Tile: 8}, {Kernel: Normalized}} {
		for i, d := range [][4]int{{1, 2, 1, 4}, {11, 4, 2, 5}, {18, 2, 2, 8}} {
			c := newAttentionCase(uint64(40+i), d[0], d[1], d[2], d[3])
			out, lse := c.prefill(num, c.t)
			for i, want := range c.attend64(wide(c.q), wide(c.k), wide(c.v)) {
				if math.Abs(float64(out[i])-want) > 1e-5 {
					t.Fatalf("%v: out[%d] = %g, want %g", d, i, out[i], want)
				}
			}
			dout := normals(newRand(50), len(c.q))
			dq, dk, dv := newGuarded("dq", len(c.q)), newGuarded("dk", len(c.k)), newGuarded("dv", len(c.v))
			c.attention(num).AttendGrad(dq.x, dk.x, dv.x, dout, c.q, c.k, c.v, lse, c.heads*c.headDim, c.kvHeads*c.headDim, 0, c.t, Kept{}, nil)
			for _, g := range []*guarded{dq, dk, dv} {
				g.intact(t)
			}
			if c.t > 1 { // with one key the scores do not matter
				checkGradient(t, fmt.Sprint("dq ", d), dq.x, wide(c.q), func(q []float64) float64 { return dot64(dout, c.attend64(q, wide(c.k), wide(c.v))) })
				checkGradient(t, fmt.Sprint("dk ", d), dk.x, wide(c.k), func(k []float64) float64 { return dot64(dout, c.attend64(wide(c.q), k, wide(c.v))) })
			}
			checkGradient(t, fmt.Sprint("dv ", d), dv.x, wide(c.v), func(v []float64) float64 { return dot64(dout, c.attend64(wide(c.q), wide(c.k), v)) })
		}
	}
}

// Queries with keys before them get the bits that they get after queries of
// those keys through which no gradient comes.
func TestAttendGradientBehindAPrefix(t *testing.T) {
	for i, before := range []int{1, 15, 16, 33} {
		c := newAttentionCase(uint64(60+i), before+21, 4, 2, 8)
		_, lse := c.prefill(AttentionNumerics{}, c.t)
		d, kd := c.heads*c.headDim, c.kvHeads*c.headDim
		dout := normals(newRand(uint64(70+i)), len(c.q))
		clear(dout[:before*d])
		want, got := [3][]float32{}, [3][]float32{}
		for _, g := range []*[3][]float32{&want, &got} {
			*g = [3][]float32{make([]float32, len(c.q)), make([]float32, c.t*kd), make([]float32, c.t*kd)}
		}
		a := c.attention(AttentionNumerics{})
		a.AttendGrad(want[0], want[1], want[2], dout, c.q, c.k, c.v, lse, d, kd, 0, c.t, Kept{}, nil)
		a.AttendGrad(got[0][before*d:], got[1], got[2], dout[before*d:], c.q[before*d:], c.k, c.v, lse[before*c.heads:],
			d, kd, before, c.t-before, Kept{}, nil)
		for n, name := range []string{"dq", "dk", "dv"} {
			if !slices.Equal(got[n], want[n]) {
				t.Errorf("%d keys before: another %s", before, name)
			}
		}
	}
}
