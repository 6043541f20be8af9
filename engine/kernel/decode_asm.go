//go:build (amd64 || arm64) && !purego

package kernel

// decodeCall is what a routine of decodeHeads reads. Strides count bytes: panelStride from panel
// to panel of keys, ld from head to head of scores, valueStride from key to key of values. Where
// exponentials are rounded, the others are unrounded bytes behind them. nextKeys and nextValues
// are those of the query to come.
type decodeCall struct {
	out, q, keys, values, scores, sums, maxima *float32
	n, headDim, panelStride, valueStride       uintptr
	ld, unrounded                              uintptr
	scale                                      float32
	nextKeys, nextValues                       *float32
}

// decode attends the heads of one query in one call for four of them, or for each where two or
// three share keys. It reports that it cannot if they have other numerics than the plain ones, or
// if so many share keys that they fill a tile.
func (a *attention) decode(out, scores, q, sums, maxima []float32, b *block, ld int) bool {
	path, perKey := CurrentPath(), b.m/b.keyHeads
	if path == PathGo || b.causal != 0 || !a.inCalls || perKey >= 4 {
		return false
	}
	unrounded := a.unrounded(len(scores))
	_, _, _ = out[b.m*a.headDim-1], q[b.m*a.headDim-1], scores[b.m*ld+unrounded-1]
	_, _ = a.keys[ld*a.width-1], a.values[b.n*a.width-1]
	next := a.next
	if len(next.Keys) < ld*a.width || len(next.Values) < a.width {
		next = KV{a.keys, a.values}
	}
	call := &a.s.decode
	call.n, call.headDim, call.scale = uintptr(b.n), uintptr(a.headDim), a.scale
	call.panelStride, call.valueStride = 4*panelWidth*uintptr(a.width), 4*uintptr(a.width)
	call.ld, call.unrounded = 4*uintptr(ld), 4*uintptr(unrounded)
	for h := 0; h < b.m; {
		key := h / perKey * a.headDim
		call.out, call.q = &out[h*a.headDim], &q[h*a.headDim]
		call.keys, call.values = &a.keys[key*panelWidth], &a.values[key]
		call.nextKeys, call.nextValues = &next.Keys[key*ld], &next.Values[key]
		call.scores, call.sums, call.maxima = &scores[h*ld], &sums[h], &maxima[h]
		if perKey == 1 && b.m-h >= 4 {
			decodeFour(call, path)
			h += 4
		} else {
			decodeOne(call, path)
			h++
		}
	}
	return true
}
