package engine

import "driftlab/model"

// Predictor expects how far the logits of the routers will have moved by the time that a
// batch is trained on: W·h, of what the router of a layer reads (Pr2, arXiv:2606.00395).
type Predictor struct {
	// Weights are the matrices of all layers, [layer][expert][d].
	Weights    []float32
	experts, d int
}

// NewPredictor returns a predictor that expects nothing to move.
func NewPredictor(c model.Config) *Predictor {
	return &Predictor{make([]float32, c.Layers*c.Experts*c.DModel), c.Experts, c.DModel}
}

// Matrix is that of a layer, [expert][d].
func (w *Predictor) Matrix(layer int) []float32 {
	size := w.experts * w.d
	return w.Weights[layer*size : (layer+1)*size]
}

// Shift adds to the logits of a row, [experts], what a layer's are expected to move by where
// its router reads x, [d].
func (w *Predictor) Shift(logits, x []float32, layer int) {
	matrix := w.Matrix(layer)
	for e := range logits {
		sum := 0.0
		for i, v := range x {
			sum += float64(float64(matrix[e*w.d+i]) * float64(v))
		}
		logits[e] += float32(sum)
	}
}

// chooseExperts selects the experts of a block's rows and computes their gates.
func (p *Pass) chooseExperts(k *worker, layer int, routes []uint8, gates, logits []float32) {
	c, rows, bias := &p.config, k.rowTo-k.rowFrom, p.weights.layers[layer].routerBias
	w := p.options.Predictor
	if w == nil {
		p.gate.Select(routes, gates, logits, bias, rows)
		return
	}
	ranked := k.ranked[:rows*c.Experts]
	copy(ranked, logits)
	for r := range rows {
		x := k.in.normed[r*c.DModel : (r+1)*c.DModel]
		copy(p.read[((k.rowFrom+r)*c.Layers+layer)*c.DModel:], x)
		w.Shift(ranked[r*c.Experts:(r+1)*c.Experts], x, layer)
	}
	p.gate.Select(routes, gates, ranked, bias, rows)
	p.gate.Replay(gates, logits, routes, rows)
}

// RouterInputs returns what the routers read in the order [row][layer][d], valid until the
// next Begin. The pass must have had a predictor.
func (p *Pass) RouterInputs() []float32 {
	if p.options.Predictor == nil {
		panic("engine: RouterInputs of a pass without a predictor")
	}
	return p.read
}
