package kernel

// The plain Go product: what processors without assembly run. Four
// columns of one row advance together, their sums in registers; the rest, one
// at a time. There are two ways to take a step, both with the bits of step.

func (p *product) runGo(s *Scratch) {
	if p.unfused || p.band != 0 || p.m < tileRows {
		p.runRows()
	} else {
		p.runTiles(s)
	}
}

func (p *product) runRows() {
	chains4 := softChains4
	if p.unfused {
		chains4 = unfusedChains4
	}
	for j := 0; j < p.n; {
		w := 1
		if min(panelWidth-j%panelWidth, p.n-j) >= 4 {
			w = 4
		}
		b := p.b[j/panelWidth*p.group+j%panelWidth:]
		for i := range p.m {
			c := p.c[i*p.ldc+j:][:w]
			if !p.add {
				clear(c)
			}
			a, own := p.a[i*p.ais:], b[i*p.band:]
			if w == 4 {
				chains4((*[4]float32)(c), a, own, p.aks, p.ldb, p.k)
				continue
			}
			for k := range p.k {
				c[0] = step(a[k*p.aks], own[k*p.ldb], c[0], p.unfused)
			}
		}
		j += w
	}
}

// softChains4 is fma32 written out: it keeps the sums, float32 all, in float64.
func softChains4(c *[4]float32, a, b []float32, aks, ldb, k int) {
	c0, c1, c2, c3 := float64(c[0]), float64(c[1]), float64(c[2]), float64(c[3])
	for i := range k {
		x, y := float64(a[i*aks]), (*[4]float32)(b[i*ldb:])
		y0, y1, y2, y3 := float64(y[0]), float64(y[1]), float64(y[2]), float64(y[3])
		if s := x*y0 + c0; settled(s) {
			c0 = float64(float32(s))
		} else {
			c0 = float64(float32(odd(x*y0, c0, s)))
		}
		if s := x*y1 + c1; settled(s) {
			c1 = float64(float32(s))
		} else {
			c1 = float64(float32(odd(x*y1, c1, s)))
		}
		if s := x*y2 + c2; settled(s) {
			c2 = float64(float32(s))
		} else {
			c2 = float64(float32(odd(x*y2, c2, s)))
		}
		if s := x*y3 + c3; settled(s) {
			c3 = float64(float32(s))
		} else {
			c3 = float64(float32(odd(x*y3, c3, s)))
		}
	}
	*c = [4]float32{float32(c0), float32(c1), float32(c2), float32(c3)}
}

// unfusedChains4 rounds each product first.
func unfusedChains4(c *[4]float32, a, b []float32, aks, ldb, k int) {
	c0, c1, c2, c3 := c[0], c[1], c[2], c[3]
	for i := range k {
		x, y := a[i*aks], (*[4]float32)(b[i*ldb:])
		c0 += float32(x * y[0])
		c1 += float32(x * y[1])
		c2 += float32(x * y[2])
		c3 += float32(x * y[3])
	}
	*c = [4]float32{c0, c1, c2, c3}
}
