//go:build !purego

package kernel

// tiles covers the full groups of C with tiles of 6 rows, then 4, 2 and 1, and
// what columns are left with narrow tiles.
func (p *product) tiles(call *tileCall, a, b []float32, _ Path) {
	p.cover(&tileSets[0][fullTiles], call, a, b, 0, p.n/panelWidth)
	p.narrow(call, a, b, 0, p.m)
}

// narrow computes rows from..to-1 of the columns of a last group that is not full:
// eight at a time, then four, two and one.
func (p *product) narrow(call *tileCall, a, b []float32, from, to int) {
	j := p.n / panelWidth * panelWidth
	rest := p.n - j
	if rest == 0 {
		return
	}
	b = b[j/panelWidth*p.group:]
	for width := panelWidth / 2; width > 0; width /= 2 {
		if rest&width == 0 {
			continue
		}
		i := from
		for _, rows := range [...]int{8, 4, 1} {
			if tiles := (to - i) / rows; tiles > 0 {
				call.c, call.a, call.b = &p.c[i*p.ldc+j], &a[i*p.ais], &b[i*p.band+j%panelWidth]
				call.tiles = uintptr(tiles)
				tileSets[0][partialTiles].run(call, rows, width, p.unfused)
				i += tiles * rows
			}
		}
		j += width
	}
}

// bands computes rows with a B each: full groups four rows side by side, then two
// and one, and the columns that are left row by row.
func (p *product) bands(call *tileCall, a, b []float32, _ Path) {
	call.group, call.tiles = 4*uintptr(p.band), 1
	full := p.n / panelWidth
	for i, rows := 0, 4; i < p.m; rows /= 2 {
		for ; p.m-i >= rows; i += rows {
			for g := range full {
				call.c, call.a, call.b = &p.c[i*p.ldc+g*panelWidth], &a[i*p.ais], &b[i*p.band+g*p.group]
				if rows == 1 {
					tileSets[0][fullTiles].run(call, 1, 1, p.unfused)
				} else {
					tileSets[0][bandedTiles].run(call, rows, 1, p.unfused)
				}
			}
		}
	}
	for i := range p.m {
		p.narrow(call, a, b, i, i+1)
	}
}

// transposeVector transposes as many columns as fill registers, if the path can,
// and returns their number: four rows at a time, and those that are left by hand.
func transposeVector(dst, src []float32, rows, n, stride, ld int) int {
	const width = 4
	if CurrentPath() == PathGo || n < width || rows < width {
		return 0
	}
	n -= n % width
	_, _ = dst[(n-1)*ld+rows-1], src[(rows-1)*stride+n-1]
	r := 0
	for ; r+width <= rows; r += width {
		transposeStripNEON(&dst[r], &src[r*stride], ld, stride, n)
	}
	for ; r < rows; r++ {
		for i, x := range src[r*stride:][:n] {
			dst[i*ld+r] = x
		}
	}
	return n
}

// rotateHeadsVector turns the heads of a row by their angles, if the path can.
func rotateHeadsVector(x, cos, sin []float32, heads int, flip uint32) bool {
	half := len(cos)
	if CurrentPath() == PathGo || heads == 0 || half == 0 {
		return false
	}
	_, _ = x[2*heads*half-1], sin[half-1]
	rotateHeadsNEON(&x[0], &cos[0], &sin[0], heads, half, flip)
	return true
}

func squareRows(chainSet, []float32, []float32, []float32, []float32, int, int, int) int { return 0 }

// assembled: no arm64 processor that Go runs on is without NEON.
func assembled() []Path { return []Path{PathNEON} }
