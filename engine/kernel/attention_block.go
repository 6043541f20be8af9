package kernel

import (
	"math"

	"driftlab/precision"
)

// attention is Attention with the keys and values of one sequence.
type attention struct {
	*Attention
	keys   []float32 // of KV, from the first key head of the call on
	values []float32
	next   KV
	s      *Scratch
}

// block is m query rows handled together: consecutive queries of one head,
// where causal is 1, or all heads of one query, where it is 0. Row r has
// n+r*causal keys; its part of out is stride elements (q: queryStride, lse: lseStride) after
// that of the row before. Rows are shared equally among keyHeads.
type block struct {
	stride, queryStride, lseStride int

	m, n, causal int
	keyHeads     int
}

func (b *block) keys(r int) int { return b.n + r*b.causal }

// rows attends a block and leaves out unrounded.
func (a *attention) rows(out, lse, q []float32, b *block) {
	room := max(b.m, panelWidth)
	state := grown(&a.s.rows, 2*room)
	sums, maxima := state[:b.m], state[room:][:b.m]
	last := b.keys(b.m - 1)
	ld := ceilDiv(last, panelWidth) * panelWidth
	scores := grown(&a.s.scores, 2*room*ld) // those of the second half are not rounded
	if !a.decode(out, scores, q, sums, maxima, b, ld) && !a.prefill(out, scores, q, sums, maxima, b) {
		a.inSteps(out, scores[:room*ld], q, sums, maxima, b, ld)
	}
	if lse == nil {
		return
	}
	logInto(sums)
	for r, log := range sums {
		lse[r*b.lseStride] = maxima[r] + log
	}
}

// unrounded is where in a block's scores, of that length, the exponentials begin that are not
// rounded: with the others, if none are.
func (a *attention) unrounded(length int) int {
	if exact(a.num.Probs) {
		return 0
	}
	return length / 2
}

// inSteps attends a block one operation after the other.
func (a *attention) inSteps(out, scores, q, sums, maxima []float32, b *block, ld int) {
	for r := range b.m {
		clear(out[r*b.stride:][:a.headDim])
	}
	last := b.keys(b.m - 1)
	a.score(scores, q, b, last, ld)
	scale := a.rounded(scores)
	switch {
	case a.num.Kernel == TwoPass || a.num.Kernel == Normalized:
		a.twoPass(out, scores, scale, sums, maxima, b, ld)
	case a.num.Kernel == SplitKV && b.causal == 0:
		size := ceilDiv(ceilDiv(b.n, a.num.Tile), a.num.Splits) * a.num.Tile
		a.inParts(out, scores, scale, sums, maxima, b, size, ld)
	case a.num.Kernel == ContextParallel && b.causal == 0:
		a.inParts(out, scores, scale, sums, maxima, b, a.num.Tile, ld)
	case a.num.Kernel == ContextParallel:
		// Each query has a rank of its own to begin with.
		for r := range b.m {
			one := block{stride: b.stride, m: 1, n: b.keys(r), keyHeads: b.keyHeads}
			a.inParts(out[r*b.stride:], scores[r*ld:], scale, sums[r:], maxima[r:], &one, a.num.Tile, ld)
		}
	default:
		a.online(out, scores, scale, sums, maxima, b, 0, last, ld)
	}
	if a.num.Kernel != Normalized {
		for r := range b.m {
			divideInto(out[r*b.stride:][:a.headDim], sums[r])
		}
	}
}

// score fills scores[m][ld] with q·k for keys 0..n-1, not yet scaled.
func (a *attention) score(scores, q []float32, b *block, n, ld int) {
	per := b.m / b.keyHeads
	p := product{c: scores, a: q, b: a.keys, ldc: ld, ais: b.queryStride, aks: 1, ldb: panelWidth, group: panelWidth * a.width,
		m: b.m, n: n, k: a.headDim, unfused: a.num.Reduction.Unfused}
	if per == 1 && b.m > 1 {
		p.band = panelWidth * a.headDim
		p.run(a.s)
		return
	}
	p.m = per
	for h := range b.keyHeads {
		p.c, p.a, p.b = scores[h*per*ld:], q[h*per*b.queryStride:], a.keys[h*panelWidth*a.headDim:]
		p.run(a.s)
	}
}

// mix adds Σ p·v to out for rows first.. of the block over keys from..to-1 of
// probs, whose rows are ld apart.
func (a *attention) mix(out, probs []float32, b *block, first, rows, from, to, ld int, red Reduction) {
	per := b.m / b.keyHeads
	p := product{c: out[first*b.stride:], a: probs[first*ld+from:], b: a.values[from*a.width:], ldc: b.stride, ais: ld, aks: 1, ldb: a.width, group: panelWidth,
		m: rows, n: a.headDim, k: to - from, add: red.Kind == Canonical}
	if b.keyHeads == 1 {
		p.reduce(red, precision.Format{}, blockScales{}, a.s)
		return
	}
	// All heads of one query: the rows are the block's.
	if per == 1 {
		p.band = a.headDim
		p.reduce(red, precision.Format{}, blockScales{}, a.s)
		return
	}
	p.m = per
	for h := range b.keyHeads {
		p.c, p.a, p.b = out[h*per*b.stride:], probs[h*per*ld+from:], a.values[h*a.headDim+from*a.width:]
		p.reduce(red, precision.Format{}, blockScales{}, a.s)
	}
}

// twoPass leaves the mix in out, divided by the sums if they are Normalized.
func (a *attention) twoPass(out, scores []float32, scale float32, sums, maxima []float32, b *block, ld int) {
	last := b.keys(b.m - 1)
	softRows(scores, maxima, ld, b.m, b.n, b.causal, scale)
	clear(sums)
	a.addUp(sums, scores, b, 0, 0, last, ld)
	if a.num.Kernel == Normalized {
		for r := range b.m {
			divideInto(scores[r*ld:][:b.keys(r)], sums[r])
		}
	}
	roundTo(a.num.Probs, scores)
	if a.num.Reduction.Kind != Canonical && b.causal > 0 {
		// The order depends on the number of keys, which differs by row.
		for r := range b.m {
			a.mix(out, scores, b, r, 1, 0, b.keys(r), ld, a.num.Reduction)
		}
		return
	}
	a.mixCausal(out, scores, b, 0, 0, last, ld, a.num.Reduction)
}

// rounded scales and rounds the scores, and returns the factor that is still
// to be applied: without a rounding the exponential can take it along.
func (a *attention) rounded(scores []float32) (scale float32) {
	if exact(a.num.Scores) && keepsOrder(a.scale) {
		return a.scale
	}
	scaleScores(scores, a.scale, &a.num)
	return 1
}

// addUp continues the sums of rows first.. over their probabilities of keys
// from..to-1: the keys that all these rows see side by side, then each row's own.
func (a *attention) addUp(sums, probs []float32, b *block, first, from, to, ld int) {
	common := min(to, b.keys(first))
	seen := probs[first*ld+from:]
	sumChain.add(sums[first:b.m], seen, seen, seen, ld, b.m-first, common-from)
	for r := first + 1; r < b.m && b.causal > 0; r++ {
		sum := sums[r]
		for _, p := range probs[r*ld+common : r*ld+min(to, b.keys(r))] {
			sum += p
		}
		sums[r] = sum
	}
}

// mixCausal is mix over keys from..to-1 for rows first.., each up to its own
// last key: the chains of the later rows go on where the common keys end.
func (a *attention) mixCausal(out, probs []float32, b *block, first, from, to, ld int, red Reduction) {
	common := min(to, b.keys(first))
	a.mix(out, probs, b, first, b.m-first, from, common, ld, red)
	if b.causal > 0 && b.m > 1 && first == 0 && common == b.n && to == b.keys(b.m-1) && red == (Reduction{}) {
		tailRows(out, probs[common:], a.values[common*a.width:], b.stride, ld, a.width, b.m, a.headDim)
		return
	}
	for r := first + 1; r < b.m && b.causal > 0; r++ {
		if end := min(to, b.keys(r)); end > common {
			a.mix(out, probs, b, r, 1, common, end, ld, red)
		}
	}
}

// online leaves the unnormalised mix over keys lo..last-1 in out, tile by tile;
// lo begins a tile.
func (a *attention) online(out, scores []float32, scale float32, sums, maxima []float32, b *block, lo, last, ld int) {
	for r := range b.m {
		sums[r], maxima[r] = 0, float32(math.Inf(-1))
	}
	order := Reduction{Unfused: a.num.Reduction.Unfused}
	first := 0
	for from := lo; from < last; from += a.num.Tile {
		to := min(from+a.num.Tile, last)
		for b.keys(first) <= from {
			first++ // this row has seen all its keys
		}
		for r := first; r < b.m; r++ {
			row := scores[r*ld+from : r*ld+min(to, b.keys(r))]
			grown := max(maxima[r], float32(maxOf(row)*scale))
			shift := grown
			if math.IsInf(float64(grown), -1) {
				shift = 0 // nothing but -Inf so far: avoid Inf-Inf
			}
			rescale := Exp32(maxima[r] - shift)
			maxima[r] = grown
			scaleInto(out[r*b.stride:][:a.headDim], rescale)
			expAffine(row, row, scale, shift)
			sums[r] = float32(sums[r] * rescale)
		}
		a.addUp(sums, scores, b, first, from, to, ld)
		for r := first; r < b.m; r++ {
			roundTo(a.num.Probs, scores[r*ld+from:r*ld+min(to, b.keys(r))])
		}
		a.mixCausal(out, scores, b, first, from, to, ld, order)
	}
}

// inParts leaves the unnormalised mix in out for the queries of one position:
// each part of size keys by itself, then the parts merged.
func (a *attention) inParts(out, scores []float32, scale float32, sums, maxima []float32, b *block, size, ld int) {
	parts, width := ceilDiv(b.n, size), b.m*b.stride
	mixes := grown(&a.s.split, parts*(width+b.m))
	lse := mixes[parts*width:]
	clear(mixes[:parts*width])
	ring := a.num.Kernel == ContextParallel
	for i := range parts {
		part := i // in the order in which they are merged
		if ring {
			part = parts - 1 - i
		}
		mix := mixes[i*width:][:width]
		a.online(mix, scores, scale, sums, maxima, b, part*size, min((part+1)*size, b.n), ld)
		for r := range b.m {
			divideInto(mix[r*b.stride:][:a.headDim], sums[r])
			lse[i*b.m+r] = maxima[r] + Log32(sums[r])
		}
		if ring {
			roundTo(a.num.Output, mix)
		}
	}
	for r := range b.m {
		largest := float32(math.Inf(-1))
		for i := range parts {
			largest = max(largest, lse[i*b.m+r])
		}
		sum, row := float32(0), out[r*b.stride:][:a.headDim]
		for i := range parts {
			weight := Exp32(lse[i*b.m+r] - largest)
			AddScaled(row, mixes[i*width+r*b.stride:][:a.headDim], weight)
			sum += weight
		}
		sums[r], maxima[r] = sum, largest
	}
}
