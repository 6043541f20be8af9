package engine

import "driftlab/precision"

// quantized is a matrix as a projection reads it: plain rounded values, or
// values on a coarse grid with one scale per row and block.
type quantized struct {
	dense  []float32 // dequantised values, which gradients see; before that, what the kernel wrote
	values []float32 // what the kernel multiplies: dense itself when there are no scales
	scales []float32 // nil when there are none

	// Memory of values and scales of their own, kept while there are none.
	ownValues, ownScales []float32
}

// scalesApart reports whether the kernels read values and scales apart and
// multiply sums by the scales. Mx scales are powers of two: multiplied into the
// values first they give the same bits, and need no kernel that knows them.
func scalesApart(q precision.Quantizer) bool {
	return q.Scaled() && q.Granularity != precision.MX
}

// grow makes room for rows of the given width under the quantiser.
func (m *quantized) grow(rows, width int, q precision.Quantizer) {
	m.dense = grown(m.dense, rows*width)
	if !scalesApart(q) {
		m.values, m.scales = m.dense, nil
		return
	}
	m.ownValues = grown(m.ownValues, rows*width)
	m.ownScales = grown(m.ownScales, q.ScaleCount(rows, width))
	m.values, m.scales = m.ownValues, m.ownScales
}

// store quantises the rows from..to of m, which a kernel has just written to
// dense in the format of the activations, for the projection that follows.
// Row-wise quantisers only, so a row's result never depends on its neighbours.
func (p *Pass) store(m *quantized, from, to, width int) {
	q := p.num.inputs
	if p.num.plainInputs {
		return
	}
	dense := m.dense[from*width : to*width]
	if !scalesApart(q) {
		q.RoundTrip(dense, dense, to-from, width)
		return
	}
	per := q.ScaleCount(1, width)
	values, scales := m.values[from*width:to*width], m.scales[from*per:to*per]
	q.Quantize(values, scales, dense, to-from, width)
	if p.options.Save {
		q.Dequantize(dense, values, scales, to-from, width)
	}
}

// rows returns values and scales of the rows from..to.
func (m *quantized) rows(from, to, width int, q precision.Quantizer) (values, scales []float32) {
	values = m.values[from*width : to*width]
	if m.scales != nil {
		per := q.ScaleCount(1, width)
		scales = m.scales[from*per : to*per]
	}
	return values, scales
}
