//go:build !purego

package kernel

// gradCall is what gradRows reads: queries [2][headDim][16], those of the gradients of out
// behind them; probs and dprobs [keyCount][16]; lse [16]; of each sixteen, as many as a register
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
		if lanes == panelWidth {
			gradRows512(call)
		} else {
			gradRows256(call)
		}
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
