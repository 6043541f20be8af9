package engine

import "driftlab/precision"

// quantized is a matrix as a projection reads it: plain rounded values, or
// values on a coarse grid with one scale per row and block.
type quantized struct {
	by     precision.Quantizer
	plain  bool      // by changes nothing that has been rounded to the activations
	seen   bool      // dense is read after the product
	dense  []float32 // dequantised values, which gradients see; before that, what the kernel wrote
	values []float32 // what the kernel multiplies: dense itself when there are no scales
	scales []float32 // nil when there are none

	// Memory of values and scales of their own, kept while there are none.
	ownValues, ownScales []float32
}

// scalesApart reports whether the kernels read values and scales separately and
// multiply sums by the scales. Mx scales are powers of two: multiplied into the
// values first they give the same bits, and need no kernel that knows them.
func scalesApart(q precision.Quantizer) bool {
	return q.Scaled() && q.Granularity != precision.MX
}

// growOperand makes room for rows of the given width under a quantiser.
func (p *Pass) growOperand(m *quantized, rows, width int, q precision.Quantizer) {
	m.by, m.plain, m.seen = q, q.Identity() || q == precision.Unscaled(p.num.activations), p.options.Save
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
func (m *quantized) store(from, to, width int) {
	if m.plain {
		return
	}
	dense := m.dense[from*width : to*width]
	values, scales := m.rows(from, to, width)
	if scales == nil {
		m.by.RoundTrip(dense, dense, to-from, width)
		return
	}
	m.by.Quantize(values, scales, dense, to-from, width)
	if m.seen {
		m.by.Dequantize(dense, values, scales, to-from, width)
	}
}

func (m *quantized) rows(from, to, width int) (values, scales []float32) {
	values = m.values[from*width : to*width]
	if m.scales != nil {
		per := m.by.ScaleCount(1, width)
		scales = m.scales[from*per : to*per]
	}
	return values, scales
}

// KVScales are fixed scales for keys and values, one per layer, side and key
// head, in the order [layer][keys, values][head]. A cache in fp8 without scales
// of its own stores round(x/scale) with them, saturated, and reads it back times
// the scale. They are found by a calibration and go stale as the weights move on:
// values beyond what they were then are clipped. nil stands for ones.
type KVScales []float32

// smallestKVScale keeps the scale of a head that was always zero.
const smallestKVScale = 0x1p-126

// StaticKV reports whether the cache has a narrow format and no scales of its
// own, so that fixed ones apply to it.
func (n Numerics) StaticKV() bool { return !n.KVCache.Scaled() && n.KVCache.Format.Bits() <= 8 }

// Calibrate sets the scales to margin times the largest magnitude of each head
// over the positions of the sequences, divided by the largest number of the
// cache's format. The sequences are read with the weights as published and a
// cache as fine as the activations. It does nothing unless the cache is StaticKV.
func (w *Weights) Calibrate(sequences [][]int32, margin float64) {
	if !w.Numerics.StaticKV() {
		return
	}
	if w.calibrator == nil {
		w.calibrator = NewPass(w.Config, 1)
	}
	c, free := &w.Config, *w
	free.kvScales, free.Numerics.KVCache = nil, precision.Unscaled(w.Numerics.Activations)
	var pack Pack
	pack.Reset()
	for _, tokens := range sequences {
		pack.Add(0, tokens)
	}
	pack.Targets = []int32{} // nil would mean every row
	w.calibrator.Begin(&free, &pack, Options{Save: true})
	w.calibrator.Forward()
	w.kvScales = grown(w.kvScales, 2*c.Layers*c.KVHeads)
	largest := float32(margin) / w.Numerics.KVCache.Format.Max
	for l := range c.Layers {
		if w.layers[l].linear != nil {
			continue // keeps no keys
		}
		s := &w.calibrator.layers[l]
		for side := range 2 { // keys, values
			scales := w.kvScales[(2*l+side)*c.KVHeads:][:c.KVHeads]
			clear(scales)
			for r := range pack.Rows() {
				headMaxima(scales, s.fused[r*w.layers[l].qkv.Out+c.DModel+side*c.KVDim():][:c.KVDim()], c.HeadDim())
			}
			for h := range scales {
				scales[h] = max(scales[h]*largest, smallestKVScale)
			}
		}
	}
}

// headMaxima raises maxima to the largest magnitude of each head.
func headMaxima(maxima, x []float32, headDim int) {
	for i := 0; i < len(x); i += headDim {
		h := i / headDim % len(maxima)
		for _, v := range x[i : i+headDim] {
			maxima[h] = max(maxima[h], v, -v)
		}
	}
}

// KVScales returns the scales in use, nil for ones; they stay when other weights
// are published, until the next calibration.
func (w *Weights) KVScales() KVScales { return w.kvScales }

// SetKVScales puts a copy of given scales in place, or takes them away with nil.
// It panics on a wrong number of them.
func (w *Weights) SetKVScales(s KVScales) {
	if s != nil && (len(s) != 2*w.Config.Layers*w.Config.KVHeads || !w.Numerics.StaticKV()) {
		panic("engine: scales of another model, or for a cache that takes none")
	}
	w.kvScales = append(KVScales(nil), s...)
}

// storeScaled brings rows of keys or values to a static cache's format and back.
func storeScaled(x []float32, scales []float32, headDim int, grid precision.Format) {
	for i := 0; i < len(x); i += headDim {
		scale := scales[i/headDim%len(scales)]
		for j, v := range x[i : i+headDim] {
			x[i+j] = v / scale
		}
	}
	grid.RoundSlice(x, x)
	for i := 0; i < len(x); i += headDim {
		scale := scales[i/headDim%len(scales)]
		for j, v := range x[i : i+headDim] {
			x[i+j] = v * scale
		}
	}
}
