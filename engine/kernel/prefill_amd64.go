//go:build !purego

package kernel

// prefillCall is what prefillRows reads: queries [headDim][16], scores [keys of the last
// row, rounded up to panels][16], sums and maxima [16]. The stride, of out, counts bytes.
type prefillCall struct {
	out, queries, keys, values, scores, sums, maxima *float32
	n, rows, headDim, stride                         uintptr
	scale                                            float32
}

// prefills reports whether the processor has a routine for consecutive queries with these
// numerics.
func (a *attention) prefills() bool { return a.plain && CurrentPath() == PathAVX512 }

// rowsPerBlock is how many consecutive queries share a pass over the keys.
func (a *attention) rowsPerBlock() int {
	if a.prefills() {
		return panelWidth
	}
	return attentionRows
}

// leastPrefilled is how many rows it takes for a routine that always computes sixteen to
// be the quicker one.
const leastPrefilled = 5

// prefill attends consecutive queries of one head in one call, or reports that it cannot.
func (a *attention) prefill(out, scores, q, sums, maxima []float32, b *block) bool {
	if b.causal != 1 || b.m < leastPrefilled || b.m > panelWidth || !a.prefills() {
		return false
	}
	last := b.keys(b.m - 1)
	panels := ceilDiv(last, panelWidth) * panelWidth
	queries := grown(&a.s.queries, a.headDim*panelWidth)
	transpose(queries, q, b.m, a.headDim, b.queryStride, panelWidth)
	_, _ = out[(b.m-1)*b.stride+a.headDim-1], scores[panels*panelWidth-1]
	_, _, _, _ = a.kT[panels*a.headDim-1], a.v[last*a.headDim-1], sums[:panelWidth], maxima[:panelWidth]
	call := &a.s.prefill
	*call = prefillCall{out: &out[0], queries: &queries[0], keys: &a.kT[0], values: &a.v[0], scores: &scores[0], sums: &sums[0], maxima: &maxima[0],
		n: uintptr(b.n), rows: uintptr(b.m), headDim: uintptr(a.headDim), stride: 4 * uintptr(b.stride), scale: a.scale}
	prefillRows512(call)
	return true
}
