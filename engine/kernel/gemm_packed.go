//go:build (amd64 || arm64) && !purego

package kernel

// Operands of large products whose rows lie far apart are copied together first: rows
// a power of two apart fall upon a few sets of the first-level cache and drive each
// other out, and no prefetcher follows them.

// packing is how many rows of A are copied at a time where they are its columns in
// memory, and how many of these stand side by side: those of one tile, so that its walk
// reads consecutive memory. Tiles of six rows would lie across two such panels; for them
// there is one.
func packing(path Path) (rows, tall int) {
	if path == PathAVX512 {
		return 16 * panelWidth, highest
	}
	return 2 * panelWidth, 2 * panelWidth
}

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
		q.ldb, q.group = panelWidth, panelWidth*steps+panelGap
		packed := grown(&s.packedB, p.n/panelWidth*q.group)
		packPanels(packed, b, p.n, steps, p.ldb, panelWidth, q.group)
		b = packed
	}
	call.ldb, call.group = 4*uintptr(q.ldb), 4*uintptr(q.group)
	if !packA {
		q.tiles(call, a, b, path)
		return true
	}
	var rows int
	rows, q.tall = packing(path)
	q.panel, call.aks = q.tall*steps+panelGap, 4*uintptr(q.tall)
	left := grown(&s.packedA, rows/q.tall*q.panel)
	for i := 0; i < p.m; i += rows {
		q.m, q.c = min(rows, p.m-i), p.c[i*p.ldc:]
		packPanels(left, a[i:], q.m, steps, p.aks, q.tall, q.panel)
		q.tiles(call, left, b, path)
	}
	return true
}

func (p *product) rowAt(i int) int {
	if p.tall == 0 {
		return i * p.ais
	}
	return i/p.tall*p.panel + i%p.tall
}

func (p *product) packsA(steps int) bool { return p.ais == 1 && p.n >= 128 && spread(steps, p.aks) }

// panelGap is the space between panels of a copy, a cache line: without it the lines that
// one row of the original goes to would fall upon one set of the first-level cache.
const panelGap = panelWidth

// packPanels copies the first n elements of k rows, ld apart, to panels of 8, 16 or, where n
// is no more, 32 columns.
func packPanels(dst, rows []float32, n, k, ld, columns, panel int) {
	_, _ = dst[(n-1)/columns*panel+(k-1)*columns+(n-1)%columns], rows[(k-1)*ld+n-1]
	routine, width := packPanels16, 16
	switch columns {
	case 8:
		routine, width = packPanels8, 8
	case 32:
		panel = width // two panels whose rows stand side by side
	}
	if whole := n / width * width; whole > 0 {
		routine(&dst[0], &rows[0], uintptr(k), uintptr(whole), 4*uintptr(ld), 4*uintptr(columns), 4*uintptr(panel))
	}
	if rest := n % width; rest > 0 {
		n -= rest
		for row := range k {
			copy(dst[n/width*panel+row*columns:][:rest], rows[row*ld+n:])
		}
	}
}
