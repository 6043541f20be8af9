//go:build !purego

package kernel

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

// tiles covers C with the tiles of a path.
func (p *product) tiles(call *tileCall, a, b []float32, path Path) {
	if path == PathAVX512 {
		p.tiles512(call, a, b)
	} else {
		p.tiles256(call, a, b)
	}
}

// tiles512 covers C with tiles of 8 rows, then 4, 2 and 1, eight groups of columns after
// the other: what the first rows bring of B the others find near.
func (p *product) tiles512(call *tileCall, a, b []float32) {
	groups := ceilDiv(p.n, panelWidth)
	for g := 0; g < groups; g += 8 {
		p.columns512(call, a, b, g, min(g+8, groups), groups)
	}
}

// columns512 covers the groups from..to-1 of all columns.
func (p *product) columns512(call *tileCall, a, b []float32, from, to, groups int) {
	for i, rows := 0, 8; i < p.m; rows /= 2 {
		tiles := (p.m - i) / rows
		if tiles == 0 {
			continue
		}
		for g := from; g < to; {
			width := min(widest512(rows), floorPowerOfTwo(to-g))
			call.mask = &masks512[panelWidth]
			if g+width == groups {
				call.mask = &masks512[p.n-(groups-1)*panelWidth]
			}
			call.c, call.a, call.b = &p.c[i*p.ldc+g*panelWidth], &a[i*p.ais], &b[g*p.group]
			call.tiles = uintptr(tiles)
			tile512.run(call, rows, width, p.unfused)
			g += width
		}
		i += tiles * rows
	}
}

// widest512 is the number of groups of the widest tile with so many rows.
func widest512(rows int) int {
	switch rows {
	case 8:
		return 2
	case 1:
		return 8
	}
	return 4
}

// floorPowerOfTwo rounds 1..15 down to a power of two, larger ones to 8.
func floorPowerOfTwo(n int) int {
	switch {
	case n >= 8:
		return 8
	case n >= 4:
		return 4
	case n >= 2:
		return 2
	}
	return 1
}

// tiles256 covers the full groups of C with tiles of 6 rows, then 4, 2 and 1,
// and a partial last group with masked tiles.
func (p *product) tiles256(call *tileCall, a, b []float32) {
	full, rest := p.n/panelWidth, p.n%panelWidth
	for i, rows := 0, 6; rows > 0; rows = nextRows(rows) {
		tiles := (p.m - i) / rows
		if tiles == 0 {
			continue
		}
		for g := 0; g < full; {
			width := min(widest256(rows), floorPowerOfTwo(full-g))
			call.c, call.a, call.b = &p.c[i*p.ldc+g*panelWidth], &a[i*p.ais], &b[g*p.group]
			call.tiles = uintptr(tiles)
			tile256.run(call, rows, width, p.unfused)
			g += width
		}
		i += tiles * rows
	}
	if rest == 0 {
		return
	}
	call.mask = &masks256[panelWidth-rest]
	for i, rows := 0, 4; rows > 0; rows /= 2 {
		if tiles := (p.m - i) / rows; tiles > 0 {
			call.c, call.a, call.b = &p.c[i*p.ldc+full*panelWidth], &a[i*p.ais], &b[full*p.group]
			call.tiles = uintptr(tiles)
			tile256Masked.run(call, rows, 1, p.unfused)
			i += tiles * rows
		}
	}
}

func widest256(rows int) int {
	switch rows {
	case 2:
		return 2
	case 1:
		return 4
	}
	return 1
}

// bands computes rows with a B each, four side by side, then two and one.
func (p *product) bands(call *tileCall, a, b []float32, path Path) {
	call.group = 4 * uintptr(p.band)
	for i, rows := 0, 4; rows > 0; rows /= 2 {
		for ; p.m-i >= rows; i += rows {
			for j := 0; j < p.n; j += panelWidth {
				w := min(panelWidth, p.n-j)
				call.c, call.a, call.b = &p.c[i*p.ldc+j], &a[i*p.ais], &b[i*p.band+j/panelWidth*p.group]
				call.tiles = 1
				if path == PathAVX512 {
					call.mask = &masks512[w]
					if rows == 1 {
						tile512.run(call, 1, 1, p.unfused)
					} else {
						tile512Banded.run(call, rows, 1, p.unfused)
					}
					continue
				}
				call.mask = &masks256[panelWidth-w]
				if rows == 1 {
					tile256Masked.run(call, 1, 1, p.unfused)
				} else {
					tile256Banded.run(call, rows, 1, p.unfused)
				}
			}
		}
	}
}
