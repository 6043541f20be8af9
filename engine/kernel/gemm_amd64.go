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

// tiles covers C with the tiles of a path, a last group of fewer columns with masked ones.
func (p *product) tiles(call *tileCall, a, b []float32, path Path) {
	full, masked := &tile256, &tile256Masked
	if path == PathAVX512 {
		full, masked = &tile512, &tile512Masked
	}
	groups := p.n / panelWidth
	p.cover(full, call, a, b, 0, groups)
	if rest := p.n % panelWidth; rest > 0 {
		call.mask = mask(path, rest)
		p.cover(masked, call, a, b, groups, groups+1)
	}
}

// mask selects the first columns of a group.
func mask(path Path, columns int) *uint32 {
	if path == PathAVX512 {
		return &masks512[columns]
	}
	return &masks256[panelWidth-columns]
}

// bands computes rows with a B each, four side by side, then two and one.
func (p *product) bands(call *tileCall, a, b []float32, path Path) {
	several, one := &tile256Banded, &tile256Masked
	if path == PathAVX512 {
		several, one = &tile512Banded, &tile512Masked
	}
	call.group = 4 * uintptr(p.band)
	for i, rows := 0, 4; rows > 0; rows /= 2 {
		set := several
		if rows == 1 {
			set = one
		}
		for ; p.m-i >= rows; i += rows {
			for j := 0; j < p.n; j += panelWidth {
				call.mask, call.tiles = mask(path, min(panelWidth, p.n-j)), 1
				call.c, call.a, call.b = &p.c[i*p.ldc+j], &a[i*p.ais], &b[i*p.band+j/panelWidth*p.group]
				set.run(call, rows, 1, p.unfused)
			}
		}
	}
}
