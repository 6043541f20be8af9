package kernel

import (
	"fmt"
	"math"

	"driftlab/precision"
)

// AttentionKernel names the order in which one query meets its keys.
type AttentionKernel uint8

const (
	// TwoPass finds the maximum of all scores first, then sums and mixes.
	TwoPass AttentionKernel = iota
	// Online walks tiles of keys with a running maximum, rescaling what it has
	// whenever the maximum grows: flash attention (arXiv 2205.14135).
	Online
)

// AttentionNumerics declares the arithmetic of attention. The zero value is
// float32, two-pass, canonical.
type AttentionNumerics struct {
	// Kernel is the algorithm.
	Kernel AttentionKernel
	// Tile is the number of keys per tile of Online, at absolute positions
	// 0, Tile, 2·Tile, ...; 1 or more. TwoPass ignores it.
	Tile int
	// Scores is the format of the scaled scores.
	Scores precision.Format
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

// Attend computes attention of one query row over keys 0..n-1:
//
//	s = round(float32(q·k·scale)), q·k a chain over the head dimension
//	p = exp(s-max s),  sum = Σ p in key order
//	out = round((Σ round(p)·v) / sum), lse = max + ln sum
//
// with the last sum a reduction over keys. Online instead keeps a running
// maximum m: before each tile, with m' its new value, sum and mix are both
// multiplied by exp(m-m'), and their chains then continue over the tile's keys.
//
// q and out are [heads·headDim]; lse is [heads], kept for the backward pass.
// Query head h reads key head h/(heads/kvHeads). kT is [kvHeads][headDim][cap]
// and v [kvHeads][cap][headDim], with n <= cap; see StoreKV.
func Attend(out, lse, q, kT, v []float32, heads, kvHeads, headDim, cap, n int, scale float32, num AttentionNumerics, s *Scratch) {
	AttendRows(out, lse, q, kT, v, 1, heads, kvHeads, headDim, cap, n, scale, num, s)
}

// AttendRows is Attend for rows consecutive queries of one sequence, causal:
// row r attends keys 0..n+r-1, all already stored. q and out are
// [rows, heads·headDim], lse [rows, heads]. Each row has the bits that Attend
// gives it.
func AttendRows(out, lse, q, kT, v []float32, rows, heads, kvHeads, headDim, cap, n int, scale float32, num AttentionNumerics, s *Scratch) {
	d := heads * headDim
	if len(out) < rows*d || len(lse) < rows*heads || len(q) < rows*d || heads%kvHeads != 0 || rows > 0 && n+rows-1 > cap ||
		len(kT) < kvHeads*headDim*cap || len(v) < kvHeads*headDim*cap || n < 1 || num.Kernel == Online && num.Tile < 1 {
		panic(fmt.Sprintf("kernel: Attend out %d, lse %d, q %d, kT %d, v %d: %d rows, %d heads on %d of %d, %d of %d keys, tile %d",
			len(out), len(lse), len(q), len(kT), len(v), rows, heads, kvHeads, headDim, n, cap, num.Tile))
	}
	num.Reduction = num.Reduction.At(rows).local()
	s = s.orNew()
	plane := headDim * cap
	group := heads / kvHeads
	for h := 0; h < heads; h++ {
		g := h / group
		a := attention{kT: kT[g*plane:][:plane], v: v[g*plane:][:plane], ldk: cap, ldv: headDim, headDim: headDim, scale: scale, num: num, s: s}
		if rows == 1 {
			// The heads of a group share their keys: they are the rows.
			a.rows(out[h*headDim:], lse[h:], q[h*headDim:], headDim, 1, group, n, 0)
			h += group - 1
			continue
		}
		for r := 0; r < rows; r += attentionRows {
			a.rows(out[r*d+h*headDim:], lse[r*heads+h:], q[r*d+h*headDim:], d, heads, min(attentionRows, rows-r), n+r, 1)
		}
	}
	roundTo(num.Output, out[:rows*d])
}

// attention is one key head and how to read it.
type attention struct {
	kT, v    []float32 // [headDim][ldk], [keys][ldv]
	ldk, ldv int
	headDim  int
	scale    float32
	num      AttentionNumerics
	s        *Scratch
}

// rows computes m query rows; row r has n+r*causal keys, and its data stride
// elements (lse: lseStride) after the row before. It leaves out unrounded.
func (a *attention) rows(out, lse, q []float32, stride, lseStride, m, n, causal int) {
	for r := range m {
		clear(out[r*stride:][:a.headDim])
	}
	sums := grown(&a.s.rows, 2*m)
	sums, maxima := sums[:m], sums[m:]
	if a.num.Kernel == Online {
		a.online(out, q, sums, maxima, stride, m, n, causal)
	} else {
		a.twoPass(out, q, sums, maxima, stride, m, n, causal)
	}
	for r := range m {
		o := out[r*stride:][:a.headDim]
		for i := range o {
			o[i] /= sums[r]
		}
		lse[r*lseStride] = maxima[r] + Log32(sums[r])
	}
}

// score fills scores[m][ld] with the rounded scaled scores of keys from..to-1.
func (a *attention) score(scores, q []float32, stride, m, from, to, ld int) {
	p := product{c: scores, a: q, b: a.kT[from:], ldc: ld, ais: stride, aks: 1, ldb: a.ldk, group: panelWidth,
		m: m, n: to - from, k: a.headDim, unfused: a.num.Reduction.Unfused}
	p.run()
}

// twoPass leaves the unnormalised mix in out.
func (a *attention) twoPass(out, q, sums, maxima []float32, stride, m, n, causal int) {
	last := n + (m-1)*causal
	ld := ceilDiv(last, panelWidth) * panelWidth
	scores := grown(&a.s.scores, m*ld)
	a.score(scores, q, stride, m, 0, last, ld)
	for r := range m {
		row := scores[r*ld:][:n+r*causal]
		scaleInto(row, a.scale)
		roundTo(a.num.Scores, row)
		maxima[r] = maxOf(row)
		expMinus(row, maxima[r])
		sums[r] = sumChain(0, row)
		roundTo(a.num.Probs, row)
	}
	a.mix(out, scores, stride, ld, m, n, causal)
}

// mix adds Σ p·v to out: row r over its own n+r*causal keys.
func (a *attention) mix(out, probs []float32, stride, ld, m, n, causal int) {
	red := a.num.Reduction
	if red.Kind != Canonical {
		for r := range m {
			p := a.mixProduct(out[r*stride:], probs[r*ld:], stride, ld, 1, 0, n+r*causal)
			p.add = false
			p.reduce(red, precision.Format{}, blockScales{}, a.s)
		}
		return
	}
	// The keys that all rows see, then each row's own: its chain goes on.
	p := a.mixProduct(out, probs, stride, ld, m, 0, n)
	p.run()
	for r := 1; r < m && causal > 0; r++ {
		p := a.mixProduct(out[r*stride:], probs[r*ld:], stride, ld, 1, n, n+r*causal)
		p.run()
	}
}

// mixProduct is out[m] += probs·v over keys from..to-1.
func (a *attention) mixProduct(out, probs []float32, stride, ld, m, from, to int) product {
	return product{c: out, a: probs[from:], b: a.v[from*a.ldv:], ldc: stride, ais: ld, aks: 1, ldb: a.ldv, group: panelWidth,
		m: m, n: a.headDim, k: to - from, add: true, unfused: a.num.Reduction.Unfused}
}

// online leaves the unnormalised mix in out, tile by tile.
func (a *attention) online(out, q, sums, maxima []float32, stride, m, n, causal int) {
	tile := a.num.Tile
	ld := ceilDiv(tile, panelWidth) * panelWidth
	scores := grown(&a.s.scores, m*ld)
	for r := range m {
		sums[r], maxima[r] = 0, float32(math.Inf(-1))
	}
	last := n + (m-1)*causal
	for from := 0; from < last; from += tile {
		to := min(from+tile, last)
		a.score(scores, q, stride, m, from, to, ld)
		first := m // rows before it see none of this tile
		for r := m - 1; r >= 0; r-- {
			keys := min(to, n+r*causal) - from
			if keys <= 0 {
				break
			}
			first = r
			row := scores[r*ld:][:keys]
			scaleInto(row, a.scale)
			roundTo(a.num.Scores, row)
			grow := max(maxima[r], maxOf(row))
			shift := grow
			if math.IsInf(float64(grow), -1) {
				shift = 0 // nothing but -Inf so far: avoid Inf-Inf
			}
			rescale := Exp32(maxima[r] - shift)
			maxima[r] = grow
			scaleInto(out[r*stride:][:a.headDim], rescale)
			expMinus(row, shift)
			sums[r] = sumChain(float32(sums[r]*rescale), row)
			roundTo(a.num.Probs, row)
		}
		// Row first has the fewest keys here.
		keys := min(to, n+first*causal) - from
		p := a.mixProduct(out[first*stride:], scores[first*ld:], stride, ld, m-first, 0, keys)
		p.b = a.v[from*a.ldv:]
		p.run()
		for r := first + 1; r < m; r++ {
			if more := min(to, n+r*causal) - from; more > keys {
				p := a.mixProduct(out[r*stride:], scores[r*ld:], stride, ld, 1, keys, more)
				p.b = a.v[(from+keys)*a.ldv:]
				p.run()
			}
		}
	}
}

// scaleInto multiplies x by c.
func scaleInto(x []float32, c float32) {
	for i := range x {
		x[i] *= c
	}
}

// maxOf returns the largest of x, NaN if one is NaN.
func maxOf(x []float32) float32 {
	m := float32(math.Inf(-1))
	for _, v := range x {
		m = max(m, v)
	}
	return m
}

// expMinus sets x = exp(x-m).
func expMinus(x []float32, m float32) {
	for i, v := range x {
		x[i] = Exp32(v - m)
	}
}

// sumChain continues the chain acc over x in order.
func sumChain(acc float32, x []float32) float32 {
	for _, v := range x {
		acc += v
	}
	return acc
}

// StoreKV writes the keys and values of rows consecutive positions from first
// on into one sequence's cache: k and v are [rows, kvHeads·headDim]; kT is
// [kvHeads][headDim][cap], so that scores run along the keys, and vCache
// [kvHeads][cap][headDim].
func StoreKV(kT, vCache, k, v []float32, rows, first, kvHeads, headDim, cap int) {
	if first+rows > cap || len(kT) < kvHeads*headDim*cap || len(vCache) < kvHeads*headDim*cap {
		panic(fmt.Sprintf("kernel: StoreKV of positions %d..%d into caches of %d and %d, capacity %d",
			first, first+rows-1, len(kT), len(vCache), cap))
	}
	for r := range rows {
		for h := range kvHeads {
			src := (r*kvHeads + h) * headDim
			for i, x := range k[src:][:headDim] {
				kT[(h*headDim+i)*cap+first+r] = x
			}
			copy(vCache[(h*cap+first+r)*headDim:][:headDim], v[src:][:headDim])
		}
	}
}
