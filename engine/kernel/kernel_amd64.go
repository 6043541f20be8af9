//go:build !purego

package kernel

import "golang.org/x/sys/cpu"

// masks512[w] has the low w bits set.
var masks512 [panelWidth + 1]uint32

// masks256[16-w:] starts with w lanes of ones, zeros after them.
var masks256 [2 * panelWidth]uint32

func init() {
	for w := range masks512 {
		masks512[w] = 1<<w - 1
	}
	for i := range panelWidth {
		masks256[i] = ^uint32(0)
	}
}

// tiles covers C with the tiles of a path, a last group of fewer columns with masked ones.
func (p *product) tiles(call *tileCall, a, b []float32, path Path) {
	sets, groups := &tileSets[path-PathAVX2], p.n/panelWidth
	p.cover(&sets[fullTiles], call, a, b, 0, groups)
	if rest := p.n % panelWidth; rest > 0 {
		call.mask = mask(path, rest)
		p.cover(&sets[partialTiles], call, a, b, groups, groups+1)
	}
}

// mask selects the first columns of a group.
func mask(path Path, columns int) *uint32 {
	if path == PathAVX512 {
		return &masks512[columns]
	}
	return &masks256[panelWidth-columns]
}

// bands computes rows with a B each, four side by side, then two and one.
func (p *product) bands(call *tileCall, a, b []float32, path Path) {
	sets := &tileSets[path-PathAVX2]
	call.group = 4 * uintptr(p.band)
	for i, rows := 0, 4; rows > 0; rows /= 2 {
		set := &sets[bandedTiles]
		if rows == 1 {
			set = &sets[partialTiles]
		}
		for ; p.m-i >= rows; i += rows {
			for j := 0; j < p.n; j += panelWidth {
				call.mask, call.tiles = mask(path, min(panelWidth, p.n-j)), 1
				call.c, call.a, call.b = &p.c[i*p.ldc+j], &a[i*p.ais], &b[i*p.band+j/panelWidth*p.group]
				set.run(call, rows, 1, p.unfused)
			}
		}
	}
}

// transposeVector transposes as many columns as fill registers, if the path can,
// and returns their number.
func transposeVector(dst, src []float32, rows, n, stride, ld int) int {
	path, width := CurrentPath(), 8
	if path == PathAVX512 && n >= 16 {
		width = 16
	}
	if path == PathGo || n < width || rows < 3 { // a row or two are quicker by hand
		return 0
	}
	n -= n % width
	_, _ = dst[(n-1)*ld+rows-1], src[(rows-1)*stride+n-1]
	for r := 0; r < rows; r += width {
		for c := 0; c < n; c += width {
			if width == 16 {
				transposeTile512(&dst[c*ld+r], &src[r*stride+c], ld, stride, min(width, rows-r))
			} else {
				transposeTile256(&dst[c*ld+r], &src[r*stride+c], ld, stride, min(width, rows-r))
			}
		}
	}
	return n
}

// rotateHeadsVector turns the heads of a row by their angles, if the path can.
func rotateHeadsVector(x, cos, sin []float32, heads int, flip uint32) bool {
	path, half := CurrentPath(), len(cos)
	if path == PathGo || heads == 0 || half == 0 {
		return false
	}
	_, _ = x[2*heads*half-1], sin[half-1]
	if half == 4 {
		rotateEights256(&x[0], &cos[0], &sin[0], heads, flip)
	} else if path == PathAVX512 && half%16 != 8 { // eight lanes are whole registers of AVX2
		rotateHeads512(&x[0], &cos[0], &sin[0], heads, half, flip)
	} else {
		rotateHeads256(&x[0], &cos[0], &sin[0], heads, half, flip)
	}
	return true
}

// squareRows runs a chain routine over whole registers of rows, a square of elements at a
// time and what is left of them in chains, and returns how many rows it did.
func squareRows(k chainSet, sums, a, b, c []float32, stride, rows, n int) (done int) {
	width := laneCount()
	whole := n - n%width
	if whole == 0 {
		return 0
	}
	for ; done+width <= rows; done += width {
		chainSquares(k, &sums[done], &a[done*stride], &b[done*stride], &c[0], stride, whole)
		for r := done; r < done+width && whole < n; r += 8 {
			chains8(k, &sums[r], &a[r*stride+whole], &b[r*stride+whole], &c[whole], stride, n-whole)
		}
	}
	return done
}

// gradCall is what gradRows reads: queries [2][headDim][16], those of the gradients of out
// after them; probs and dprobs [keyCount][16]; lse [16]; of each sixteen, as many as a register
// has lanes. Strides count bytes: keyStride is from row to row of keys and values, stride of dq.
type gradCall struct {
	dq, queries, keys, values, probs, dprobs, lse *float32
	n, rows, keyCount, headDim, keyStride, stride uintptr
	scale                                         float32
}

// leastGradKeys is how many keys the routines may take side by side.
const leastGradKeys = 8

// hasLanes reports whether the processor has a routine for the gradient of t consecutive
// queries.
func (b *headGrad) hasLanes(t int) bool {
	return CurrentPath() != PathGo && b.headDim%8 == 0 && b.before+min(t, gradRows) >= leastGradKeys && b.kept.Bits == nil &&
		exact(b.num.Scores) && !b.num.Eager && !b.num.Reduction.Unfused
}

// inLanes sets p and ds, [keys][16], and the block's dq in a call or two.
func (b *headGrad) inLanes(p, ds []float32, r, m int, s *Scratch) {
	last, half := b.before+r+m, b.headDim*panelWidth
	queries := grown(&s.queries, 2*half)
	q, dout, dq := b.q[r*b.qd:], b.dout[r*b.d:], b.dq[r*b.qd:]
	transpose(queries, q, m, b.headDim, b.qd, panelWidth)
	transpose(queries[half:], dout, m, b.headDim, b.d, panelWidth)
	lse := grown(&s.rows, panelWidth)
	for i := range m {
		lse[i] = b.lse[(r+i)*b.heads]
	}
	end := (last-1)*b.kd + b.headDim - 1
	_, _, _, _, _ = dq[(m-1)*b.qd+b.headDim-1], b.k[end], b.v[end], p[last*panelWidth-1], ds[last*panelWidth-1]
	call, lanes := &s.grad, laneCount()
	for i := 0; i < m; i += lanes {
		*call = gradCall{dq: &dq[i*b.qd], queries: &queries[i], keys: &b.k[0], values: &b.v[0], probs: &p[i], dprobs: &ds[i], lse: &lse[i],
			n: uintptr(b.before + r + i + 1), rows: uintptr(min(lanes, m-i)), keyCount: uintptr(last), headDim: uintptr(b.headDim),
			keyStride: 4 * uintptr(b.kd), stride: 4 * uintptr(b.qd), scale: b.scale}
		queryGrads(call)
	}
}

// addKeys adds to the n rows of dst, dk or dv, the sums over sixteen rows, a stride apart, of
// their weights [n][16] times them.
func (b *headGrad) addKeys(dst, weights, rows []float32, stride, n int) {
	_, _, _ = dst[(n-1)*b.kd+b.headDim-1], weights[n*panelWidth-1], rows[(panelWidth-1)*stride+b.headDim-1]
	if laneCount() == panelWidth && b.headDim%panelWidth == 0 {
		gradKeys512(&dst[0], &weights[0], &rows[0], b.kd, stride, n, b.headDim)
		return
	}
	const half = panelWidth / 2
	gradKeys256(&dst[0], &weights[0], &rows[0], b.kd, stride, n, b.headDim)
	gradKeys256(&dst[0], &weights[half], &rows[half*stride], b.kd, stride, n, b.headDim)
}

// prefillCall is what prefillRows reads: queries [headDim][16], scores [keys of the last
// row, rounded up to panels][16], sums and maxima [16]; of each sixteen, as many as a register
// has lanes. Strides, of the panels of keys and of the rows of values and of out, count bytes. Where exponentials are
// rounded, the others are unrounded bytes after them.
type prefillCall struct {
	out, queries, keys, values, scores, sums, maxima *float32
	n, rows, headDim, valueStride, stride, unrounded uintptr
	panelStride                                      uintptr
	scale                                            float32
}

// prefills reports whether the processor has a routine for consecutive queries with these
// numerics.
func (a *attention) prefills() bool { return a.inCalls && CurrentPath() != PathGo }

// rowsPerBlock is how many consecutive queries share a pass over the keys.
func (a *attention) rowsPerBlock() int {
	if a.prefills() {
		return panelWidth
	}
	return attentionRows
}

// laneCount is how many queries a routine of a path attends in one call.
func laneCount() int {
	if CurrentPath() == PathAVX512 {
		return panelWidth
	}
	return panelWidth / 2
}

// leastPrefilled is how many rows it takes for a routine that always computes as many as there
// are lanes to be the quicker one.
const leastPrefilled = 5

// prefill attends consecutive queries of one head in a call or two, or reports that it cannot.
func (a *attention) prefill(out, scores, q, sums, maxima []float32, b *block) bool {
	if b.causal != 1 || b.m < leastPrefilled || b.m > panelWidth || !a.prefills() {
		return false
	}
	last := b.keys(b.m - 1)
	panels := ceilDiv(last, panelWidth) * panelWidth
	queries, unrounded := grown(&a.s.queries, a.headDim*panelWidth), a.unrounded(len(scores))
	transpose(queries, q, b.m, a.headDim, b.queryStride, panelWidth)
	_, _ = out[(b.m-1)*b.stride+a.headDim-1], scores[panels*panelWidth+unrounded-1]
	_, _ = a.keys[(panels-panelWidth)*a.width+panelWidth*a.headDim-1], a.values[(last-1)*a.width+a.headDim-1]
	sums, maxima = sums[:panelWidth], maxima[:panelWidth]
	call, lanes := &a.s.prefill, laneCount()
	for r := 0; r < b.m; r += lanes {
		*call = prefillCall{out: &out[r*b.stride], queries: &queries[r], keys: &a.keys[0], values: &a.values[0], scores: &scores[r], sums: &sums[r], maxima: &maxima[r],
			n: uintptr(b.n + r), rows: uintptr(min(lanes, b.m-r)), headDim: uintptr(a.headDim),
			panelStride: 4 * panelWidth * uintptr(a.width), valueStride: 4 * uintptr(a.width), stride: 4 * uintptr(b.stride), unrounded: 4 * uintptr(unrounded), scale: a.scale}
		prefillRows(call)
	}
	return true
}

func hasSumExpColumns() bool { return CurrentPath() != PathGo }

// sumExpColumns sets the maxima and sums of sumExp for the first rows of panelWidth, which are
// given column by column. The number of columns is a multiple of four, and the scale keeps the
// order.
func sumExpColumns(maxima, sums *[panelWidth]float32, columns []float32, rows, n int, scale float32) {
	_ = columns[n*panelWidth-1]
	for r := 0; r < rows; r += laneCount() {
		sumExps(&sums[r], &maxima[r], &columns[r], n, scale)
	}
}

// assembled asks the processor which of the assembly it can run.
func assembled() []Path {
	x := &cpu.X86
	switch {
	case !x.HasAVX2 || !x.HasFMA:
		return nil
	case x.HasAVX512F && x.HasAVX512BW && x.HasAVX512DQ && x.HasAVX512VL:
		return []Path{PathAVX2, PathAVX512}
	}
	return []Path{PathAVX2}
}
