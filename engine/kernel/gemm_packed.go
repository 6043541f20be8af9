//go:build (amd64 || arm64) && !purego

package kernel

// Operands of large products whose rows lie far apart are copied together first: rows
// a power of two apart fall upon a few sets of the first-level cache and drive each
// other out, and no prefetcher follows them.

// packedRows is how many rows of A are copied at a time where they are its columns in
// memory: two cache lines per k.
const packedRows = 2 * panelWidth

// packed computes the call's k of the product whose operands are given there with what is
// worth it copied, and reports whether something was.
func (p *product) packed(call *tileCall, a, b []float32, path Path, s *Scratch) bool {
	steps := int(call.k)
	packB := p.group == panelWidth && p.m >= 256 && p.n%panelWidth == 0 && spread(steps, p.ldb)
	packA := p.packsA(steps)
	if !packA && !packB {
		return false
	}
	q := *p
	if packB {
		b = packColumns(grown(&s.packedB, p.n*steps), b, p.n, steps, p.ldb)
		q.ldb, q.group = panelWidth, panelWidth*steps
	}
	call.ldb, call.group = 4*uintptr(q.ldb), 4*uintptr(q.group)
	if !packA {
		q.tiles(call, a, b, path)
		return true
	}
	q.aks = packedRows
	call.aks = 4 * packedRows
	left := grown(&s.packedA, steps*packedRows)
	for i := 0; i < p.m; i += packedRows {
		q.m, q.c = min(packedRows, p.m-i), p.c[i*p.ldc:]
		packRows(left, a[i:], q.m, steps, p.aks)
		q.tiles(call, left, b, path)
	}
	return true
}

// packsA reports whether A is worth a copy.
func (p *product) packsA(steps int) bool { return p.ais == 1 && p.n >= 256 && spread(steps, p.aks) }

// packColumns copies n columns, a multiple of sixteen, of k rows to panels, and returns
// them.
func packColumns(dst, b []float32, n, k, ldb int) []float32 {
	for j := 0; j < n; j += panelWidth {
		panel := dst[j*k:][:panelWidth*k]
		for from := b[j:]; ; from = from[ldb:] {
			*(*[panelWidth]float32)(panel) = *(*[panelWidth]float32)(from)
			if panel = panel[panelWidth:]; len(panel) == 0 {
				break
			}
		}
	}
	return dst
}

// packRows copies n rows of A, at most packedRows, that are columns of k rows in memory.
func packRows(dst, a []float32, n, k, aks int) {
	for row := range k {
		to, from := dst[row*packedRows:][:packedRows], a[row*aks:][:n]
		if n == packedRows {
			*(*[packedRows]float32)(to) = *(*[packedRows]float32)(from)
		} else {
			copy(to, from)
		}
	}
}
