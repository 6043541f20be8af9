package kernel

import (
	"fmt"
	"math"
	"slices"

	"driftlab/precision"
)

// AttentionKernel names the order in which one query meets its keys. Of each it
// is said whether a query gets the same bits in a batch of its sequence's queries
// (prefill, and every pass of a learner) and alone (decode).
type AttentionKernel uint8

const (
	// TwoPass finds the maximum of all scores first, then sums and mixes. Prefill
	// and decode agree.
	TwoPass AttentionKernel = iota
	// Online walks tiles of keys with a running maximum, rescaling what it has
	// whenever the maximum grows: flash attention (arXiv 2205.14135). Prefill and
	// decode agree, the tiles being at the same positions.
	Online
	// SplitKV is flash-decoding: a query that comes alone has its keys cut into
	// parts, each walked as Online does, and the parts' results are merged by
	// their log-sum-exp. Queries that come together are computed as Online does,
	// so prefill and decode differ as soon as the keys fill more than one tile.
	SplitKV
	// Normalized is TwoPass with the probabilities divided by their sum before they
	// are rounded and mixed: what engines do that store the softmax, such as
	// PyTorch's eager attention and ggml without flash attention. Prefill and decode
	// agree.
	Normalized
	// ContextParallel is ring attention (arXiv 2310.01889), which sequence parallelism
	// needs where a head's keys are spread over ranks: a rank holds the keys of Tile
	// consecutive positions. A query takes the keys of its own rank first, as Online does
	// one tile, and then those of the ranks before it, nearest first; each rank's result
	// is rounded to the output's format before they are merged by their log-sum-exp.
	// Prefill and decode agree. Sequence parallelism that moves whole heads to a rank
	// (Ulysses, arXiv 2309.14509) cuts no sum.
	ContextParallel
)

// PrefillIsDecode reports whether the kernel gives a query the same bits alone
// and with others of its sequence.
func (k AttentionKernel) PrefillIsDecode() bool { return k != SplitKV }

// Tiled reports whether the kernel walks tiles of keys.
func (k AttentionKernel) Tiled() bool { return k == Online || k == SplitKV || k == ContextParallel }

// AttentionNumerics declares the arithmetic of attention. The zero value is
// float32, two-pass, canonical.
type AttentionNumerics struct {
	// Kernel is the algorithm.
	Kernel AttentionKernel
	// Tile is the number of keys per tile of Online and SplitKV and per rank of
	// ContextParallel, at absolute positions 0, Tile, 2·Tile, ...; 1 or more. TwoPass ignores it.
	Tile int
	// Splits is the number of parts of SplitKV, 2 or more: each takes
	// ceil(tiles/Splits) consecutive tiles. The others ignore it.
	Splits int
	// Scores is the format of the scaled scores.
	Scores precision.Format
	// Eager rounds the scores to their format before they are scaled, too, and the factor.
	Eager bool
	// Probs is the format of exp(score-max) before it multiplies the values;
	// the sum takes it unrounded, as flash attention does in bf16.
	Probs precision.Format
	// Output is the format of the result.
	Output precision.Format
	// Reduction orders the sum over keys of TwoPass (split_k is flash-decoding's
	// split of the keys). Scores are one chain over the head dimension and
	// Online one chain per tile; both honour Unfused alone.
	Reduction Reduction
}

// attentionRows is how many query rows share one pass over the keys.
const attentionRows = 8

// Attention is causal attention of a shape in a declared arithmetic: query head h reads key
// head h/(heads/kvHeads), and scores are scaled by 1/√headDim. NewAttention makes one, for any
// number of goroutines.
type Attention struct {
	heads, kvHeads, headDim int
	width                   int // columns of keys, and of values: kvHeads·headDim
	scale                   float32
	num                     AttentionNumerics
	// of plain numerics, and heads of a width that assembly has: attended in one call or two
	inCalls bool
}

// NewAttention returns the attention of that many heads of queries and of keys. Heads are not
// split across ranks, so a tensor-parallel reduction means canonical; a batch-variant one has
// to be resolved before, by Reduction.At.
func NewAttention(heads, kvHeads, headDim int, num AttentionNumerics) Attention {
	if kvHeads < 1 || heads%kvHeads != 0 || num.Kernel.Tiled() && num.Tile < 1 || num.Kernel == SplitKV && num.Splits < 2 || num.Reduction.BatchVariant {
		panic(fmt.Sprintf("kernel: NewAttention of %d heads on %d of %d, tile %d, %d splits, batch-variant %v",
			heads, kvHeads, headDim, num.Tile, num.Splits, num.Reduction.BatchVariant))
	}
	num.Reduction = num.Reduction.Local()
	scale := float32(1 / math.Sqrt(float64(headDim)))
	a := Attention{heads: heads, kvHeads: kvHeads, headDim: headDim, width: kvHeads * headDim, scale: scale, num: num}
	// The kernel is TwoPass in the canonical order, and rounds nothing but the probabilities, these to bf16.
	a.inCalls = headDim%8 == 0 && num.Kernel == TwoPass && exact(num.Scores) && (exact(num.Probs) || num.Probs == precision.BF16) &&
		num.Reduction == (Reduction{}) && keepsOrder(scale)
	return a
}

// Scale is the factor of the scores, 1/√headDim.
func (a *Attention) Scale() float32 { return a.scale }

// Attend computes the attention of rows consecutive queries of one
// sequence, all their keys already stored: row r attends keys 0..n+r-1, written
// n here:
//
//	s = round(float32(q·k·scale)), q·k a chain over the head dimension
//	p = exp(s-max s),  sum = Σ p in key order
//	out = round((Σ round(p)·v) / sum), lse = max + ln sum
//
// with the last sum a reduction over keys. Online instead keeps a running
// maximum m: before each tile, with m' its new value, sum and mix are both
// multiplied by exp(m-m'), and their chains then continue over the tile's keys.
// SplitKV does so in each part i, and then, in the order of the parts (ContextParallel:
// from the query's own rank backwards, with out_i rounded to the output's format),
//
//	out_i = mix_i/sum_i, lse_i = m_i + ln sum_i, M = max lse
//	out = round((Σ exp(lse_i-M)·out_i) / Σ exp(lse_i-M)), lse = M + ln Σ exp(lse_i-M)
//
// Normalized has out = round(Σ round(p/sum)·v). Eager has s = round(float32(round(q·k)·round(scale))).
//
// out is [rows, heads·headDim]; rows of q begin stride elements apart; lse is [rows, heads],
// kept for the backward pass, or nil where nothing reads it. Each row has the bits that a call
// for it alone gives it, unless the kernel is SplitKV.
// StoreKV filled the cache; the one of the next call, if that is known, is asked for in advance.
func (a *Attention) Attend(out, lse, q []float32, stride int, cache KV, rows, n int, next KV, s *Scratch) {
	d, last := a.heads*a.headDim, n+rows-1
	if len(out) < rows*d || lse != nil && len(lse) < rows*a.heads || stride < d || rows > 0 && len(q) < (rows-1)*stride+d || n < 1 ||
		!cache.holds(last, a.width) {
		panic(fmt.Sprintf("kernel: Attend out %d, lse %d, q %d, keys %d, values %d: %d rows, %d heads on %d of %d, %d keys",
			len(out), len(lse), len(q), len(cache.Keys), len(cache.Values), rows, a.heads, a.kvHeads, a.headDim, n))
	}
	s = s.orNew()
	m := &s.attention
	m.Attention, m.keys, m.values, m.next, m.s = a, cache.Keys, cache.Values, next, s
	if rows == 1 {
		m.rows(out, lse, q, &block{stride: a.headDim, queryStride: a.headDim, lseStride: 1, m: a.heads, n: n, keyHeads: a.kvHeads})
	} else {
		step, group := m.rowsPerBlock(), a.heads/a.kvHeads
		for h := range a.heads {
			at := h / group * a.headDim
			m.keys, m.values = cache.Keys[at*panelWidth:], cache.Values[at:]
			for r := 0; r < rows; r += step {
				m.rows(out[r*d+h*a.headDim:], from(lse, r*a.heads+h), q[r*stride+h*a.headDim:],
					&block{stride: d, queryStride: stride, lseStride: a.heads, m: min(step, rows-r), n: n + r, causal: 1, keyHeads: 1})
			}
		}
	}
	roundTo(a.num.Output, out[:rows*d])
}

// from is x[n:], nil for nil.
func from(x []float32, n int) []float32 {
	if x == nil {
		return nil
	}
	return x[n:]
}

// KV is the cache of one sequence. Scores run along the keys and the mix along the head
// dimension, so keys lie in panels of sixteen.
type KV struct {
	Keys   []float32 // [capacity/16][kvHeads·headDim][16]
	Values []float32 // [capacity][kvHeads·headDim]
}

// holds reports whether the capacity is at least n positions of a width.
func (c *KV) holds(n, width int) bool {
	return len(c.Keys) >= ceilDiv(n, panelWidth)*panelWidth*width && len(c.Values) >= n*width
}

// StoreKV writes the keys and values of rows consecutive positions from first
// on into a sequence's cache: k and v have width elements in each row, those of a head
// after those of the one before, and rows begin stride elements apart.
func StoreKV(cache KV, k, v []float32, stride, rows, first, width int) {
	if !cache.holds(first+rows, width) {
		panic(fmt.Sprintf("kernel: StoreKV of positions %d..%d of width %d into caches of %d and %d", first, first+rows-1, width, len(cache.Keys), len(cache.Values)))
	}
	for r := range rows {
		copy(cache.Values[(first+r)*width:][:width], v[r*stride:])
	}
	for r := 0; r < rows; {
		// As many rows as the panel of the first of them takes.
		lane := (first + r) % panelWidth
		m := min(rows-r, panelWidth-lane)
		transpose(cache.Keys[(first+r-lane)*width+lane:], k[r*stride:], m, width, stride, panelWidth)
		r += m
	}
}

var attentionNames = [...]string{TwoPass: "two_pass", Online: "online", SplitKV: "split_kv", Normalized: "normalized", ContextParallel: "context_parallel"}

// String returns "two_pass", "online", "split_kv", "normalized" or "context_parallel".
func (k AttentionKernel) String() string {
	if int(k) < len(attentionNames) {
		return attentionNames[k]
	}
	return fmt.Sprintf("attention_kernel(%d)", uint8(k))
}

// MarshalText writes the name; an unknown kernel is an error.
func (k AttentionKernel) MarshalText() ([]byte, error) {
	if int(k) >= len(attentionNames) {
		return nil, fmt.Errorf("kernel: unknown attention kernel %d", uint8(k))
	}
	return []byte(attentionNames[k]), nil
}

// UnmarshalText reads "two_pass", "online", "split_kv", "normalized" or "context_parallel".
func (k *AttentionKernel) UnmarshalText(text []byte) error {
	i := slices.Index(attentionNames[:], string(text))
	if i < 0 {
		return fmt.Errorf("unknown attention kernel %q; did you mean %q?", text, precision.NearestName(string(text), attentionNames[:]))
	}
	*k = AttentionKernel(i)
	return nil
}

// softRows replaces the scores of m rows by exp(score·scale - max), row r having
// n+r·causal of them and a maximum of its own, max = float32(largest·scale).
func softRows(scores, maxima []float32, ld, m, n, causal int, scale float32) {
	if softRowsVector(scores, maxima, ld, m, n, causal, scale) {
		return
	}
	for r := range m {
		row := scores[r*ld:][:n+r*causal]
		maxima[r] = float32(maxOf(row) * scale)
		expAffine(row, row, scale, maxima[r])
	}
}

// tailRows ends the mix of m causal rows, whose keys so far were the same for
// all: the chains of row r go on over r keys more,
//
//	out[r] = fma(probs[r][j], values[j], out[r])  for j = 0 .. r-1
//
// n columns. Rows are ldo, ldp and ldv elements apart.
func tailRows(out, probs, values []float32, ldo, ldp, ldv, m, n int) {
	if tailRowsVector(out, probs, values, ldo, ldp, ldv, m, n) {
		return
	}
	for r := 1; r < m; r++ {
		for j := range r {
			addFused(out[r*ldo:][:n], values[j*ldv:][:n], probs[r*ldp+j])
		}
	}
}

func transpose(dst, src []float32, rows, n, stride, ld int) {
	if rows == 1 && ld == panelWidth {
		spreadRow(dst, src[:n])
		return
	}
	done := transposeVector(dst, src, rows, n, stride, ld)
	for r := range rows {
		row := src[r*stride:][:n]
		for i := done; i < n; i++ {
			dst[i*ld+r] = row[i]
		}
	}
}

func spreadRow(lane, row []float32) {
	for ; len(row) >= 4; lane, row = lane[min(4*panelWidth, len(lane)):], row[4:] {
		to := (*[3*panelWidth + 1]float32)(lane)
		to[0], to[panelWidth], to[2*panelWidth], to[3*panelWidth] = row[0], row[1], row[2], row[3]
	}
	for i, x := range row {
		lane[i*panelWidth] = x
	}
}
