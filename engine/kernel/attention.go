package kernel

import (
	"fmt"

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
	// Online one chain per tile; both honour Unfused alone. Heads are not split
	// across ranks, so tensor-parallel means canonical. A batch-variant
	// reduction is resolved for the rows of the call.
	Reduction Reduction
}

// attentionRows is how many query rows share one pass over the keys.
const attentionRows = 8

// AttendRows computes causal attention of rows consecutive queries of one
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
// kept for the backward pass, or nil where nobody reads it. Each row has the bits that a call
// for it alone gives it, unless the kernel is SplitKV.
// Query head h reads key head h/(heads/kvHeads). kT and v are caches that
// StoreKV filled, cap a multiple of 16 and n+rows-1 <= cap.
func AttendRows(out, lse, q []float32, stride int, kT, v []float32, rows, heads, kvHeads, headDim, cap, n int, scale float32, num *AttentionNumerics, s *Scratch) {
	d := heads * headDim
	if len(out) < rows*d || lse != nil && len(lse) < rows*heads || stride < d || rows > 0 && len(q) < (rows-1)*stride+d || heads%kvHeads != 0 || cap%panelWidth != 0 || rows > 0 && n+rows-1 > cap ||
		len(kT) < kvHeads*headDim*cap || len(v) < kvHeads*headDim*cap || n < 1 || num.Kernel.Tiled() && num.Tile < 1 || num.Kernel == SplitKV && num.Splits < 2 {
		panic(fmt.Sprintf("kernel: AttendRows out %d, lse %d, q %d, kT %d, v %d: %d rows, %d heads on %d of %d, %d of %d keys, tile %d, %d splits",
			len(out), len(lse), len(q), len(kT), len(v), rows, heads, kvHeads, headDim, n, cap, num.Tile, num.Splits))
	}
	s = s.orNew()
	if r := &num.Reduction; r.Kind != Canonical || r.BatchVariant {
		s.numerics = *num
		s.numerics.Reduction = r.At(rows).Local()
		num = &s.numerics
	}
	group := heads / kvHeads
	a := attention{kT: kT, v: v, width: kvHeads * headDim, headDim: headDim, scale: scale, num: num, s: s}
	a.inCalls = headDim%8 == 0 && a.isPlain()
	if rows == 1 {
		a.rows(out, lse, q, block{stride: headDim, queryStride: headDim, lseStride: 1, m: heads, n: n, keyHeads: kvHeads})
	} else {
		step := a.rowsPerBlock()
		for h := range heads {
			a.kT, a.v = kT[h/group*headDim*panelWidth:], v[h/group*headDim:]
			for r := 0; r < rows; r += step {
				a.rows(out[r*d+h*headDim:], from(lse, r*heads+h), q[r*stride+h*headDim:],
					block{stride: d, queryStride: stride, lseStride: heads, m: min(step, rows-r), n: n + r, causal: 1, keyHeads: 1})
			}
		}
	}
	roundTo(num.Output, out[:rows*d])
}

// from is x[n:], nil for nil.
func from(x []float32, n int) []float32 {
	if x == nil {
		return nil
	}
	return x[n:]
}

// StoreKV writes the keys and values of rows consecutive positions from first
// on into one sequence's cache: k and v have kvHeads·headDim elements in each row, and rows
// begin stride elements apart. Scores run along the keys and the mix along the head
// dimension, so kT is
// [cap/16][kvHeads·headDim][16], panels of sixteen keys, and vCache
// [cap][kvHeads·headDim]. cap is a multiple of 16.
func StoreKV(kT, vCache, k, v []float32, stride, rows, first, kvHeads, headDim, cap int) {
	if cap%panelWidth != 0 || first+rows > cap || len(kT) < kvHeads*headDim*cap || len(vCache) < kvHeads*headDim*cap {
		panic(fmt.Sprintf("kernel: StoreKV of positions %d..%d into caches of %d and %d, capacity %d",
			first, first+rows-1, len(kT), len(vCache), cap))
	}
	d := kvHeads * headDim
	for r := range rows {
		copy(vCache[(first+r)*d:][:d], v[r*stride:][:d])
	}
	for r := 0; r < rows; {
		// As many rows as the panel of the first of them takes.
		lane := (first + r) % panelWidth
		m := min(rows-r, panelWidth-lane)
		transpose(kT[(first+r-lane)*d+lane:], k[r*stride:], m, d, stride, panelWidth)
		r += m
	}
}
