package precision

import "math"

// pass is one walk over a matrix that finds scales and writes values.
type pass struct {
	granularity Granularity
	restore     bool    // multiply values by their scale again
	tensor      float32 // the outer scale of NV
	grid        Rounder
}

func (p *pass) set(q *Quantizer, src []float32, restore bool) {
	p.granularity, p.tensor, p.restore = q.Granularity, 1, restore
	p.grid.set(&q.Format)
	if q.Granularity == NV {
		p.tensor = p.tensorScale(src)
	}
}

// matrix writes the values of a matrix with cols columns, and the scales unless
// they are nil.
func (p *pass) matrix(dst, scales, src []float32, g *grouping, cols int) {
	switch {
	case len(src) == 0:
	case p.granularity.ggml() || p.granularity == Asymmetric:
		p.blocks(dst, scales, src, cols, g.cols)
	case g.inRuns(cols):
		p.runs(dst, scales, src, g.rows*g.cols)
	case g.rows == 1:
		for at := 0; at < len(src); at += cols {
			p.runs(dst[at:at+cols], scales, src[at:at+cols], g.cols)
			if scales != nil {
				scales = scales[g.across:]
			}
		}
	default:
		p.tiles(dst, scales, src, g, cols)
	}
}

// runs quantises runs of n numbers; the last may be short.
func (p *pass) runs(dst, scales, src []float32, n int) {
	for len(src) > 0 {
		n = min(n, len(src))
		count := len(src) / n
		if scales == nil {
			var unwanted [32]float32
			count = min(count, len(unwanted))
			p.divideRuns(dst, unwanted[:count], src, n)
		} else {
			p.divideRuns(dst, scales[:count], src, n)
			scales = scales[count:]
		}
		dst, src = dst[count*n:], src[count*n:]
	}
}

// divideRuns quantises as many runs of n numbers as there are scales to write.
func (p *pass) divideRuns(dst, scales, src []float32, n int) {
	magnitudes(scales, src, n)
	done := 0
	for i, amax := range scales {
		scale := p.scale(math.Float32bits(amax))
		scales[i] = scale
		if scale > 0 {
			continue
		}
		p.grid.divide(dst[done*n:], src[done*n:], scales[done:i], n, p.restore)
		fill(dst[i*n:][:n], src[i*n:][:n], scale)
		done = i + 1
	}
	p.grid.divide(dst[done*n:], src[done*n:], scales[done:], n, p.restore)
}

// fill writes the values of a scale by which nothing can be divided: NaN, or
// for 0 zeros with the signs of src.
func fill(dst, src []float32, scale float32) {
	if scale == 0 {
		for i, x := range src {
			dst[i] = math.Float32frombits(math.Float32bits(x) & signBit)
		}
		return
	}
	// Written, not computed: which NaN a division returns depends on the CPU.
	for i := range dst {
		dst[i] = math.Float32frombits(quietNaN)
	}
}

// tiles quantises groups of several rows that do not fill their rows: pass 1
// over a group finds its largest magnitude, pass 2 writes its values.
func (p *pass) tiles(dst, scales, src []float32, g *grouping, cols int) {
	var amax, scale [1]float32
	group := 0
	for top := 0; top < len(src); top += g.rows * cols {
		bottom := min(top+g.rows*cols, len(src))
		for left := top; left < top+cols; left += g.cols {
			width := min(g.cols, top+cols-left)
			var largest uint32
			for i := left; i < bottom; i += cols {
				magnitudes(amax[:], src[i:], width)
				largest = max(largest, math.Float32bits(amax[0]))
			}
			scale[0] = p.scale(largest)
			if scales != nil {
				scales[group] = scale[0]
			}
			group++
			for i := left; i < bottom; i += cols {
				if scale[0] > 0 {
					p.grid.divide(dst[i:], src[i:], scale[:], width, p.restore)
				} else {
					fill(dst[i:i+width], src[i:i+width], scale[0])
				}
			}
		}
	}
}
