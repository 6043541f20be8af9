//go:build (amd64 || arm64) && !purego

package kernel

//go:generate go run ./gen .

// tileCall is what a tile routine reads: tiles stacked tiles of one shape.
// Strides count bytes; tiles is used up.
type tileCall struct {
	c, a, b    *float32
	ldc        uintptr
	ais, aks   uintptr
	ldb, group uintptr
	k, tiles   uintptr
	add        uintptr
	// mask covers the columns of the last group: a 16-bit mask for AVX-512,
	// sixteen lane masks for AVX2; NEON has none.
	mask *uint32
}

// tileSet holds routines by rows<<4 | groups of columns: fused, unfused.
type tileSet [8<<4 + 9][2]func(*tileCall)

// run calls the routine of a shape; there must be one.
func (t *tileSet) run(call *tileCall, rows, groups int, unfused bool) {
	routine := t[rows<<4|groups][0]
	if unfused {
		routine = t[rows<<4|groups][1]
	}
	if routine == nil {
		panic("kernel: no such tile")
	}
	routine(call)
}

// runVector computes the product with assembly tiles, if the path has them.
func (p *product) runVector(path Path, s *Scratch) bool {
	if path == PathGo {
		return false
	}
	call := &s.call
	for k := 0; k < p.k; k += depth {
		*call = tileCall{ldc: 4 * uintptr(p.ldc), ais: 4 * uintptr(p.ais), aks: 4 * uintptr(p.aks), ldb: 4 * uintptr(p.ldb),
			group: 4 * uintptr(p.group), k: uintptr(min(depth, p.k-k))}
		if p.add || k > 0 {
			call.add = 1
		}
		a, b := p.a[k*p.aks:], p.b[k*p.ldb:]
		if p.band != 0 {
			p.bands(call, a, b, path)
		} else if !p.packed(call, a, b, int(call.k), path, s) {
			p.tiles(call, a, b, path)
		}
	}
	return true
}

// nextRows is the number of rows of the next lower tile where the highest has 6.
func nextRows(rows int) int {
	if rows == 6 {
		return 4
	}
	return rows / 2
}
