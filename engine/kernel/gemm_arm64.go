//go:build !purego

package kernel

// tiles covers the full groups of C with tiles of 6 rows, then 4, 2 and 1, and
// what columns are left with narrow tiles.
func (p *product) tiles(call *tileCall, a, b []float32, _ Path) {
	p.cover(&tileNEON, call, a, b, 0, p.n/panelWidth)
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
				tileNEONNarrow.run(call, rows, width, p.unfused)
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
					tileNEON.run(call, 1, 1, p.unfused)
				} else {
					tileNEONBanded.run(call, rows, 1, p.unfused)
				}
			}
		}
	}
	for i := range p.m {
		p.narrow(call, a, b, i, i+1)
	}
}
