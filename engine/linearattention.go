package engine

import (
	"fmt"
	"math"

	"driftlab/engine/kernel"
	"driftlab/model"
)

// linearAttention is a layer of Gated DeltaNet (arXiv:2412.06464, section 3.4): queries, keys
// and values go through a short convolution and SiLU, queries and keys are normalised, the
// gated delta rule mixes positions, and each head's output is normalised and gated:
//
//	mixed = RMSNorm(rule)·silu(z)
//
// Decay and write strength of a head are projections, too.
type linearAttention struct{}

// deltaState is the inside of a linear-attention layer. Rows are those of the layerState.
type deltaState struct {
	conv         []float32    // [rows, 3·d] behind the convolution
	acted        [2][]float32 // [rows, d] queries and keys behind SiLU
	inverse      [2][]float32 // [rows, heads] 1/norm of their heads
	queries      []float32    // [rows, d] normalised and scaled
	keys, values []float32    // [rows, d]
	beta, decay  []float32    // [rows, heads]
	out          []float32    // [rows, d] of the delta rule
	outInverse   []float32    // [rows, heads]
	outNormed    []float32    // [rows, d]
}

// deltaGrad holds the gradients inside a block of a linear-attention layer.
type deltaGrad struct {
	normed, out, queries, keys, values []float32 // [rows, d]
	conv                               []float32 // [rows, 3·d]
	beta, decay                        []float32 // [rows, heads]
	gate                               []float32 // [d]
}

func (linearAttention) grow(p *Pass, s *layerState, rows int) {
	c, n := &p.config, &s.delta
	d, heads := c.DModel, c.Heads
	n.conv = grown(n.conv, rows*3*d)
	for i := range n.acted {
		n.acted[i], n.inverse[i] = grown(n.acted[i], rows*d), grown(n.inverse[i], rows*heads)
	}
	n.queries, n.keys, n.values = grown(n.queries, rows*d), grown(n.keys, rows*d), grown(n.values, rows*d)
	n.beta, n.decay = grown(n.beta, rows*heads), grown(n.decay, rows*heads)
	n.out, n.outInverse, n.outNormed = grown(n.out, rows*d), grown(n.outInverse, rows*heads), grown(n.outNormed, rows*d)
}

func (linearAttention) growBack(p *Pass, b *blockGrad, rows int) {
	d, heads, g := p.config.DModel, p.config.Heads, &b.delta
	g.normed, g.out, g.conv, g.gate = grown(g.normed, rows*d), grown(g.out, rows*d), grown(g.conv, rows*3*d), grown(g.gate, d)
	g.queries, g.keys, g.values = grown(g.queries, rows*d), grown(g.keys, rows*d), grown(g.values, rows*d)
	g.beta, g.decay = grown(g.beta, rows*heads), grown(g.decay, rows*heads)
}

// l2Eps is added to the sum of squares inside the norms of queries and keys.
const l2Eps = 1e-6

func (linearAttention) mix(p *Pass, k *worker, layer int, s *layerState, from, to int) {
	c, n, w := &p.config, &s.delta, p.weights.layers[layer].linear
	d, heads, hd, width := c.DModel, c.Heads, c.HeadDim(), p.fusedWidth(layer)
	rows, shift := to-from, from-k.rowFrom
	for sequence := k.seqFrom; sequence < k.seqTo; sequence++ {
		first, end := p.pack.Offsets[sequence]+shift, p.pack.Offsets[sequence+1]+shift
		if first < end {
			tail, _ := p.deltaMemory(k, layer, sequence)
			if p.pack.Positions[first-shift] == 0 {
				clear(tail)
			}
			kernel.ShortConv(n.conv[first*3*d:end*3*d], s.fused[first*width:], tail, w.conv, end-first, 3*d, width, model.ConvWidth)
		}
	}
	for r := from; r < to; r++ {
		x := n.conv[r*3*d : (r+1)*3*d]
		for i, dst := range [][]float32{n.acted[0], n.acted[1], n.values} {
			kernel.SiLU(dst[r*d:(r+1)*d], x[i*d:(i+1)*d], p.num.activations)
		}
	}
	for i, dst := range [][]float32{n.queries, n.keys} {
		kernel.RMSNorm(dst[from*d:to*d], n.inverse[i][from*heads:to*heads], n.acted[i][from*d:to*d], w.gains[i], rows*heads, hd, l2Eps/float32(hd), p.num.norm)
	}
	kernel.DeltaGates(n.beta[from*heads:to*heads], n.decay[from*heads:to*heads], s.fused[from*width+4*d:], w.decayLog, w.decayBias, rows, heads, width)
	for sequence := k.seqFrom; sequence < k.seqTo; sequence++ {
		first, end := p.pack.Offsets[sequence]+shift, p.pack.Offsets[sequence+1]+shift
		if first < end {
			_, state := p.deltaMemory(k, layer, sequence)
			kernel.DeltaRule(n.out[first*d:end*d], n.queries[first*d:end*d], n.keys[first*d:end*d], n.values[first*d:end*d],
				n.beta[first*heads:end*heads], n.decay[first*heads:end*heads], state, end-first, heads, hd,
				int(p.pack.Positions[first-shift]), p.num.delta, &k.scratch)
			p.reached(layer, sequence)
		}
	}
	kernel.RMSNorm(n.outNormed[from*d:to*d], n.outInverse[from*heads:to*heads], n.out[from*d:to*d], w.norm, rows*heads, hd, float32(c.NormEps), p.num.norm)
	for r := from; r < to; r++ {
		kernel.SiLUGate(s.mixed.dense[r*d:(r+1)*d], s.fused[r*width+3*d:][:d], n.outNormed[r*d:(r+1)*d], d, p.num.activations)
	}
}

// deltaMemory is what a sequence carries from pass to pass in a linear-attention layer: the
// rows before its next one, for the convolution, and the state of the delta rule. It belongs
// to the position that the pack goes on from, and is of no meaning at the first.
func (p *Pass) deltaMemory(k *worker, layer, sequence int) (tail, state []float32) {
	memory := k.delta
	if cache := p.options.Cache; cache != nil {
		memory = cache.state(layer, p.options.Slots[sequence], int(p.pack.Positions[p.pack.Offsets[sequence]]))
	}
	n := (model.ConvWidth - 1) * 3 * p.config.DModel
	return memory[:n], memory[n:]
}

// reached notes how far the state of a sequence has come.
func (p *Pass) reached(layer, sequence int) {
	if cache := p.options.Cache; cache != nil {
		cache.reached[layer][p.options.Slots[sequence]] = p.pack.Positions[p.pack.Offsets[sequence+1]-1] + 1
	}
}

// deltaMemorySize is the number of floats of deltaMemory.
func deltaMemorySize(c model.Config, n Numerics) int {
	return (model.ConvWidth-1)*3*c.DModel + kernel.DeltaStateSize(c.Heads, c.HeadDim(), n.LinearAttention)
}

func (linearAttention) mixGrad(p *Pass, k *worker, layer int, s *layerState, from, to int) {
	c, n, b, w := &p.config, &s.delta, &k.back, p.weights.layers[layer].linear
	d, heads, hd, width, g := c.DModel, c.Heads, c.HeadDim(), p.fusedWidth(layer), &k.back.delta
	rows := to - from
	for r := range rows {
		gate, normed := s.fused[(from+r)*width+3*d:][:d], n.outNormed[(from+r)*d:][:d]
		kernel.SiLUGateGrad(b.qkv[r*width+3*d:][:d], g.normed[r*d:][:d], b.mixed[r*d:][:d], gate, normed, d)
	}
	kernel.RMSNormInputGrad(g.out, g.normed, n.out[from*d:to*d], n.outInverse[from*heads:to*heads], w.norm, rows*heads, hd, false)
	for sequence := k.seqFrom; sequence < k.seqTo; sequence++ {
		first, end := p.pack.Offsets[sequence]-k.rowFrom, p.pack.Offsets[sequence+1]-k.rowFrom
		if first == end {
			continue
		}
		x, y := first+from, end+from // the rows in s
		kernel.DeltaRuleGrad(g.queries[first*d:end*d], g.keys[first*d:end*d], g.values[first*d:end*d], g.beta[first*heads:end*heads], g.decay[first*heads:end*heads],
			g.out[first*d:end*d], n.queries[x*d:y*d], n.keys[x*d:y*d], n.values[x*d:y*d], n.beta[x*heads:y*heads], n.decay[x*heads:y*heads],
			end-first, heads, hd, p.num.delta, &k.scratch)
	}
	kernel.DeltaGatesGrad(b.qkv[4*d:], g.beta, g.decay, s.fused[from*width+4*d:], n.beta[from*heads:], w.decayLog, w.decayBias, rows, heads, width)
	for i, dx := range [][]float32{g.queries, g.keys} {
		kernel.RMSNormInputGrad(dx, dx, n.acted[i][from*d:to*d], n.inverse[i][from*heads:to*heads], w.gains[i], rows*heads, hd, false)
	}
	for r := range rows {
		row, conv := g.conv[r*3*d:(r+1)*3*d], n.conv[(from+r)*3*d:][:3*d]
		for i, dx := range [][]float32{g.queries, g.keys, g.values} {
			kernel.SiLUGrad(row[i*d:(i+1)*d], dx[r*d:(r+1)*d], conv[i*d:(i+1)*d])
		}
	}
	for sequence := k.seqFrom; sequence < k.seqTo; sequence++ {
		first, end := p.pack.Offsets[sequence]-k.rowFrom, p.pack.Offsets[sequence+1]-k.rowFrom
		if first < end {
			kernel.ShortConvGrad(b.qkv[first*width:], g.conv[first*3*d:end*3*d], w.conv, end-first, 3*d, width, model.ConvWidth)
		}
	}
}

func (linearAttention) weightsGrad(p *Pass, part, layer int) {
	if part > 0 {
		return // sums over rows of vectors: less work than to share it
	}
	c, to := &p.config, p.back.grad.Layer(layer).Linear
	d, heads, hd, width := c.DModel, c.Heads, c.HeadDim(), p.fusedWidth(layer)
	for i := range p.workers {
		k := &p.workers[i]
		s, from, end := p.place(k, layer)
		rows, n, g := end-from, &s.delta, &k.back.delta
		kernel.RMSNormGainGrad(to.Norm, g.normed, n.out[from*d:], n.outInverse[from*heads:], rows*heads, hd)
		kernel.DeltaGatesParamGrad(to.DecayLog, to.DecayBias, g.decay, n.decay[from*heads:], k.back.qkv[4*d:], rows, heads, width)
		for sequence := k.seqFrom; sequence < k.seqTo; sequence++ {
			first, last := p.pack.Offsets[sequence]-k.rowFrom, p.pack.Offsets[sequence+1]-k.rowFrom
			if first < last {
				kernel.ShortConvWeightGrad(to.Conv, g.conv[first*3*d:], s.fused[(from+first)*width:], last-first, 3*d, width, model.ConvWidth)
			}
		}
	}
}

func (linearAttention) operations(p *Pass, layer int) []Operation {
	n, d, heads := &p.layers[layer].delta, p.config.DModel, p.config.Heads
	return []Operation{
		{"projection", layer, p.layers[layer].fused[:p.rows*p.fusedWidth(layer)], p.fusedWidth(layer)},
		{"convolution", layer, n.conv[:p.rows*3*d], 3 * d},
		{"queries", layer, n.queries[:p.rows*d], d},
		{"keys", layer, n.keys[:p.rows*d], d},
		{"values", layer, n.values[:p.rows*d], d},
		{"decay", layer, n.decay[:p.rows*heads], heads},
		{"delta rule", layer, n.out[:p.rows*d], d},
		{"attention", layer, p.layers[layer].mixed.dense[:p.rows*d], d},
	}
}

// linearWeights are what a linear-attention layer has next to its projections, in the format
// of the activations.
type linearWeights struct {
	conv, decayLog, decayBias, norm []float32
	gains                           [2][]float32 // of the norms of queries and keys
}

// publish takes the parameters over.
func (w *linearWeights) publish(p *model.LinearLayer, headDim int, n *Numerics) {
	w.conv, w.norm = rounded(w.conv, p.Conv, n.Activations), rounded(w.norm, p.Norm, n.Activations)
	w.decayLog, w.decayBias = rounded(w.decayLog, p.DecayLog, n.Activations), rounded(w.decayBias, p.DecayBias, n.Activations)
	for i, gain := range [2]float32{1 / float32(headDim), float32(1 / math.Sqrt(float64(headDim)))} {
		w.gains[i] = grown(w.gains[i], headDim)
		for j := range w.gains[i] {
			w.gains[i][j] = gain
		}
	}
}

// state is the memory of a slot in a linear-attention layer, for a row at that position.
func (k *Cache) state(layer, slot, position int) []float32 {
	if at := int(k.reached[layer][slot]); position != 0 && at != position {
		panic(fmt.Sprintf("engine: layer %d, slot %d goes on from position %d, and its state is that of %d", layer, slot, position, at))
	}
	return k.states[layer][slot*k.perState : (slot+1)*k.perState]
}
