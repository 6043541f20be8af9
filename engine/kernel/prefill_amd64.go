//go:build !purego

package kernel

// prefillCall is what prefillRows reads: queries [headDim][16], scores [keys of the last
// row, rounded up to panels][16], sums and maxima [16]; of each sixteen, as many as a register
// has lanes. Strides, of the panels of keys and of the rows of values and of out, count bytes. Where exponentials are
// rounded, the others are unrounded bytes behind them.
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
		if lanes == panelWidth {
			prefillRows512(call)
		} else {
			prefillRows256(call)
		}
	}
	return true
}
