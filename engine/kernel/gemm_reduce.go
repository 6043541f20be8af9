package kernel

import "driftlab/precision"

// Tiles of a segmented reduction: their partial sums stay in the first-level
// cache for a dozen segments.
const (
	segmentRows = 8
	segmentCols = 64
)

// blockScales are the scales of a block-scaled product: element (i, b) of x
// times element (j/rows, b) of w, b counting blocks of size k.
type blockScales struct {
	size int       // k per block; 0 means no block scaling
	x    []float32 // [m][blocks], nil for 1
	w    []float32 // [ceil(n/rows)][blocks]
	rows int       // columns of C that share one scale
}

// reduce computes the product under any reduction and accumulator format.
// p.add must be false unless the reduction is canonical with a float32
// accumulator. Neither the blocking here nor m changes a bit.
func (p *product) reduce(red Reduction, acc precision.Format, sc blockScales, s *Scratch) {
	p.unfused = red.Unfused
	if red.Kind == Canonical && sc.size == 0 {
		p.chain(acc, red.Promote, s)
		return
	}
	if p.add {
		panic("kernel: only a canonical chain can continue from its output")
	}
	for j := 0; j < p.n; j += segmentCols {
		for i := 0; i < p.m; i += segmentRows {
			p.reduceTile(i, j, min(segmentRows, p.m-i), min(segmentCols, p.n-j), red, acc, sc, s)
		}
	}
}

// chain is one chain per element with any accumulator. Promoted, it is cut into
// chains of promote steps, whose sums are added in float32.
func (p *product) chain(acc precision.Format, promote int, s *Scratch) {
	if exact(acc) {
		p.run(s)
		return
	}
	if promote > 0 && promote < p.k {
		p.promoted(acc, promote, s)
		return
	}
	// One step at a time, each followed by a rounding of the row's sums.
	for i := range p.m {
		c := p.c[i*p.ldc:][:p.n]
		if !p.add {
			clear(c)
		}
		for k := range p.k {
			x := p.a[i*p.ais+k*p.aks]
			for j := 0; j < p.n; j += panelWidth {
				w := min(panelWidth, p.n-j)
				chainAdd(c[j:][:w], x, p.b[i*p.band+j/panelWidth*p.group+k*p.ldb:][:w], p.unfused)
			}
			roundSlice(acc, c, c)
		}
	}
}

// promoted is a chain whose narrow sums are added into the output every step k.
func (p *product) promoted(acc precision.Format, step int, s *Scratch) {
	sums := grown(&s.promoted, p.m*p.n)
	for k := 0; k < p.k; k += step {
		q := p.part(sums, p.n, 0, 0, p.m, p.n, k, min(k+step, p.k))
		q.chain(acc, 0, s)
		for r := range p.m {
			c := p.c[r*p.ldc:][:p.n]
			if k == 0 && !p.add {
				clear(c)
			}
			addInto(c, sums[r*p.n:][:p.n])
		}
	}
}

// part is the product restricted to rows i.., columns j.. (a multiple of 16)
// and a range of k, with its output elsewhere.
func (p *product) part(c []float32, ldc, i, j, m, n, k0, k1 int) product {
	return product{c: c, a: p.a[i*p.ais+k0*p.aks:], b: p.b[i*p.band+j/panelWidth*p.group+k0*p.ldb:],
		ldc: ldc, ais: p.ais, aks: p.aks, ldb: p.ldb, group: p.group, band: p.band, m: m, n: n, k: k1 - k0, unfused: p.unfused}
}

// reduceTile computes one tile: each segment's chain into its plane, then the
// planes combined.
func (p *product) reduceTile(i, j, m, n int, red Reduction, acc precision.Format, sc blockScales, s *Scratch) {
	segs := red.segments(p.k, max(sc.size, 1))
	size := red.chunk(p.k, max(sc.size, 1))
	planes := grown(&s.parts, segs*m*n)
	for g := range segs {
		k0, k1 := min(g*size, p.k), min((g+1)*size, p.k)
		plane := planes[g*m*n:][:m*n]
		if k0 == k1 {
			clear(plane)
			continue
		}
		if sc.size > 0 {
			p.blockChain(plane, i, j, m, n, k0, k1, red.Promote, acc, sc, s)
			continue
		}
		q := p.part(plane, n, i, j, m, n, k0, k1)
		q.chain(acc, red.Promote, s)
	}
	if red.Promote > 0 {
		acc = precision.Format{}
	}
	combine(planes, segs, m, n, j, p.n, red, acc)
	for r := range m {
		copy(p.c[(i+r)*p.ldc+j:][:n], planes[r*n:][:n])
	}
}

// blockChain computes one segment of a block-scaled product: each block's
// chain from +0, multiplied by its scale and added into plane, in block order.
func (p *product) blockChain(plane []float32, i, j, m, n, k0, k1, promote int, acc precision.Format, sc blockScales, s *Scratch) {
	clear(plane)
	blocks := ceilDiv(p.k, sc.size)
	t := grown(&s.block, m*n)
	for kb := k0; kb < k1; kb += sc.size {
		q := p.part(t, n, i, j, m, n, kb, min(kb+sc.size, k1))
		q.chain(acc, promote, s)
		b := kb / sc.size
		for r := range m {
			xs := float32(1)
			if sc.x != nil {
				xs = sc.x[(i+r)*blocks+b]
			}
			for c := 0; c < n; {
				group := (j + c) / sc.rows
				end := min(n, (group+1)*sc.rows-j)
				scale := float32(xs * sc.w[group*blocks+b])
				chainAdd(plane[r*n+c:r*n+end], scale, t[r*n+c:r*n+end], p.unfused)
				c = end
			}
		}
		if promote == 0 {
			roundTo(acc, plane)
		}
	}
}

// combine adds the segments' planes of a tile into the first one. The tile's
// first column is j of n all.
func combine(planes []float32, segs, m, n, j, all int, red Reduction, acc precision.Format) {
	size := m * n
	plane := func(g int) []float32 { return planes[g*size:][:size] }
	switch red.Kind {
	case SplitK:
		for g := 1; g < segs; g++ {
			addRounded(plane(0), plane(g), acc)
		}
	case Pairwise:
		combineHalves(planes, size, 0, segs, acc)
	case Tree:
		combineRanks(planes, size, segs, red.Parts, acc)
	case TensorParallel:
		roundTo(red.Wire, planes[:segs*size])
		if red.Topology == TreeAllReduce {
			combineNeighbours(planes, size, segs, 1, red.Wire)
			return
		}
		for r := range m {
			combineRing(planes[r*n:], size, segs, n, j, all, red.Wire)
		}
	}
}

// combineHalves adds planes lo..hi-1 into plane lo, halving top down.
func combineHalves(planes []float32, size, lo, hi int, f precision.Format) {
	if hi-lo < 2 {
		return
	}
	mid := lo + ceilDiv(hi-lo, 2)
	combineHalves(planes, size, lo, mid, f)
	combineHalves(planes, size, mid, hi, f)
	addRounded(planes[lo*size:][:size], planes[mid*size:][:size], f)
}

// combineNeighbours adds planes level by level into plane 0: at first those that lie a distance d from each other.
func combineNeighbours(planes []float32, size, segs, d int, f precision.Format) {
	for ; d < segs; d *= 2 {
		for g := 0; g+d < segs; g += 2 * d {
			addRounded(planes[g*size:][:size], planes[(g+d)*size:][:size], f)
		}
	}
}

// combineRanks adds the planes of a tree that ranks share: each rank its own,
// then the ranks' sums. Where a rank has a power of two of planes, these are the
// additions of one tree over all.
func combineRanks(planes []float32, size, segs, ranks int, f precision.Format) {
	per := ceilDiv(segs, max(ranks, 1))
	for from := 0; from < segs; from += per {
		combineNeighbours(planes[from*size:], size, min(per, segs-from), 1, f)
	}
	combineNeighbours(planes, size, segs, per, f)
}

// combineRing sums one row: each column's chunk starts at the rank that owns it
// and takes the others in cyclic order.
func combineRing(row []float32, size, ranks, n, j, all int, wire precision.Format) {
	chunk := ceilDiv(all, ranks)
	for c := 0; c < n; {
		owner := (j + c) / chunk
		end := min(n, (owner+1)*chunk-j)
		sum := row[owner*size+c : owner*size+end]
		for h := 1; h < ranks; h++ {
			r := (owner + h) % ranks
			addRounded(sum, row[r*size+c:r*size+end], wire)
		}
		copy(row[c:end], sum)
		c = end
	}
}

func addRounded(dst, src []float32, f precision.Format) {
	addInto(dst, src)
	roundTo(f, dst)
}

// chainAdd advances the chains dst by x·b with the step that unfused names.
func chainAdd(dst []float32, x float32, b []float32, unfused bool) {
	if unfused {
		AddScaled(dst, b, x)
	} else {
		addFused(dst, b, x)
	}
}
