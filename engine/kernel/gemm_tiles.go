package kernel

import (
	"math"
	"math/bits"
)

// Tiles of the plain product: what processors without assembly and without a
// fused multiply-add run (WebAssembly, for one). A tile of four rows by two columns
// keeps its eight sums in registers, float32 values all, held as float64. Its
// operands are copied to float64 first, each once for many tiles, since the
// conversions would cost as much as the arithmetic. The step is fma32's,
// without its test of midpoints where the operands are of few bits (see spareBits).

const (
	tileRows = 4
	tileCols = 2
	// stripCols is how many columns of B are copied at a time: with depth, no more
	// than a second-level cache holds.
	stripCols = 128
)

type (
	leftTile  = [tileRows]float64
	rightTile = [tileCols]float64
)

// runTiles computes the product by tiles, and the rows that fill none one by one.
func (p *product) runTiles(s *Scratch) {
	rows := p.m / tileRows * tileRows
	if rows < p.m {
		q := p.part(p.c[rows*p.ldc:], p.ldc, rows, 0, p.m-rows, p.n, 0, p.k)
		q.add = p.add
		q.runRows()
	}
	for k := 0; k < p.k; k += depth {
		for j := 0; j < p.n; j += stripCols {
			q := p.part(p.c[j:], p.ldc, 0, j, rows, min(stripCols, p.n-j), k, min(k+depth, p.k))
			q.add = p.add || k > 0
			q.strip(s)
		}
	}
}

// strip is runTiles for as many columns and steps as are copied at a time.
func (p *product) strip(s *Scratch) {
	left, right := grown(&s.left, p.k), grown(&s.right, ceilDiv(p.n, tileCols)*p.k)
	p.copyRight(right)
	spare := spareBits(right)
	for i := 0; i < p.m; i += tileRows {
		p.copyLeft(left, i)
		narrow := spare > 0 && haveSpare(left, significand-spare)
		for j := 0; j < p.n; j += tileCols {
			p.tile(i, j, left, right[j/tileCols*p.k:][:p.k], narrow)
		}
	}
}

const (
	// significand is how many significant bits a float32 has at most, and beyond
	// how many more a float64 has.
	significand = 24
	beyond      = 53 - significand
)

// spareBits returns how many of the 24 bits no number of right uses. Low-precision
// formats leave many: bfloat16 16, half precision 13.
//
// Two numbers with 24 spare bits together have a product of at most 24 bits. Sums
// of two numbers of 24 bits, rounded to float64 and then to float32, have the bits
// of a single rounding (Figueroa 1995, for 53 is at least 2*24+2), so no midpoint
// needs a second look. Below 2^-126 too: there a product within 2^-179 of an odd
// multiple of 2^-150 is a multiple of 2^-174, and so is that multiple itself.
func spareBits(right []rightTile) int {
	var used uint64
	for k := range right {
		used |= math.Float64bits(right[k][0]) | math.Float64bits(right[k][1])
		if used&(1<<beyond) != 0 {
			return 0 // the usual end for float32, after few steps
		}
	}
	return min(bits.TrailingZeros64(used)-beyond, significand-1)
}

// haveSpare reports that all numbers of left have as many spare bits.
func haveSpare(left []leftTile, spare int) bool {
	for k := range left {
		a := &left[k]
		used := math.Float64bits(a[0]) | math.Float64bits(a[1]) | math.Float64bits(a[2]) | math.Float64bits(a[3])
		if used&(1<<(beyond+spare)-1) != 0 {
			return false
		}
	}
	return true
}

func (p *product) copyLeft(dst []leftTile, i int) {
	if p.ais == 1 {
		for k := range dst {
			x := (*[tileRows]float32)(p.a[k*p.aks+i:])
			dst[k] = leftTile{float64(x[0]), float64(x[1]), float64(x[2]), float64(x[3])}
		}
		return
	}
	for r := range tileRows {
		a := p.a[(i+r)*p.ais:]
		for k := range dst {
			dst[k][r] = float64(a[k*p.aks])
		}
	}
}

// copyRight copies all columns, tile after tile. The column that the last may
// have too many is zero.
func (p *product) copyRight(dst []rightTile) {
	for j := 0; j < p.n; j += panelWidth {
		panel := p.b[j/panelWidth*p.group:]
		for k := range p.k {
			row := panel[k*p.ldb:][:min(panelWidth, p.n-j)]
			at := j/tileCols*p.k + k
			for ; len(row) >= tileCols; row = row[tileCols:] {
				dst[at] = rightTile{float64(row[0]), float64(row[1])}
				at += p.k
			}
			if len(row) > 0 {
				dst[at] = rightTile{float64(row[0])}
			}
		}
	}
}

// tile advances the chains of four rows and two columns, or the last one. In a
// narrow tile no product has more than 24 bits.
func (p *product) tile(i, j int, left []leftTile, right []rightTile, narrow bool) {
	var c [tileRows * tileCols]float64
	w := min(tileCols, p.n-j)
	if p.add {
		for r := range tileRows {
			for q, v := range p.c[(i+r)*p.ldc+j:][:w] {
				c[r*tileCols+q] = float64(v)
			}
		}
	}
	if narrow {
		narrowChains4x2(&c, left, right)
	} else {
		chains4x2(&c, left, right)
	}
	for r := range tileRows {
		row := p.c[(i+r)*p.ldc+j:][:w]
		for q := range row {
			row[q] = float32(c[r*tileCols+q])
		}
	}
}

// chains4x2 advances eight chains by one step for each element of left.
func chains4x2(c *[tileRows * tileCols]float64, left []leftTile, right []rightTile) {
	right = right[:len(left)]
	c00, c01, c10, c11, c20, c21, c30, c31 := c[0], c[1], c[2], c[3], c[4], c[5], c[6], c[7]
	for k := range left {
		a, b := &left[k], &right[k]
		if s := a[0]*b[0] + c00; settled(s) {
			c00 = float64(float32(s))
		} else {
			c00 = float64(float32(odd(a[0]*b[0], c00, s)))
		}
		if s := a[1]*b[0] + c10; settled(s) {
			c10 = float64(float32(s))
		} else {
			c10 = float64(float32(odd(a[1]*b[0], c10, s)))
		}
		if s := a[2]*b[0] + c20; settled(s) {
			c20 = float64(float32(s))
		} else {
			c20 = float64(float32(odd(a[2]*b[0], c20, s)))
		}
		if s := a[3]*b[0] + c30; settled(s) {
			c30 = float64(float32(s))
		} else {
			c30 = float64(float32(odd(a[3]*b[0], c30, s)))
		}
		if s := a[0]*b[1] + c01; settled(s) {
			c01 = float64(float32(s))
		} else {
			c01 = float64(float32(odd(a[0]*b[1], c01, s)))
		}
		if s := a[1]*b[1] + c11; settled(s) {
			c11 = float64(float32(s))
		} else {
			c11 = float64(float32(odd(a[1]*b[1], c11, s)))
		}
		if s := a[2]*b[1] + c21; settled(s) {
			c21 = float64(float32(s))
		} else {
			c21 = float64(float32(odd(a[2]*b[1], c21, s)))
		}
		if s := a[3]*b[1] + c31; settled(s) {
			c31 = float64(float32(s))
		} else {
			c31 = float64(float32(odd(a[3]*b[1], c31, s)))
		}
	}
	*c = [tileRows * tileCols]float64{c00, c01, c10, c11, c20, c21, c30, c31}
}

// narrowChains4x2 is chains4x2 for narrow tiles.
func narrowChains4x2(c *[tileRows * tileCols]float64, left []leftTile, right []rightTile) {
	right = right[:len(left)]
	c00, c01, c10, c11, c20, c21, c30, c31 := c[0], c[1], c[2], c[3], c[4], c[5], c[6], c[7]
	for k := range left {
		a, b := &left[k], &right[k]
		c00 = float64(float32(a[0]*b[0] + c00))
		c10 = float64(float32(a[1]*b[0] + c10))
		c20 = float64(float32(a[2]*b[0] + c20))
		c30 = float64(float32(a[3]*b[0] + c30))
		c01 = float64(float32(a[0]*b[1] + c01))
		c11 = float64(float32(a[1]*b[1] + c11))
		c21 = float64(float32(a[2]*b[1] + c21))
		c31 = float64(float32(a[3]*b[1] + c31))
	}
	*c = [tileRows * tileCols]float64{c00, c01, c10, c11, c20, c21, c30, c31}
}
