package engine

import (
	"driftlab/engine/kernel"
	"driftlab/model"
	"driftlab/precision"
)

// Weights are the parameters of a model as one engine sees them: quantised or
// rounded to its formats, packed for its kernels, stamped with a version.
// They are a copy: training the parameters further changes nothing here until
// the next Publish.
type Weights struct {
	// Config is the model's shape.
	Config model.Config
	// Numerics is how the engine that reads the weights computes.
	Numerics Numerics
	// Version is the claimed number of updates that led to the published parameters.
	Version int
	// ActualVersion is the number that led to the oldest of them: less than Version where a weight
	// sync did not bring all. Publish sets it to Version.
	ActualVersion int
	forwardOnly   bool      // what only a backward pass reads is not there
	embed         []float32 // [vocab, d]
	positions     []float32 // [context, d], learned positions only
	layers        []layerWeights
	finalNorm     []float32
	head          kernel.Weight

	rotary *kernel.RotaryTable // nil with learned positions
	scaled []float32           // quantised values of the projection being published
	scales []float32

	kvScales   KVScales         // of a static cache; nil for ones
	cacheGrid  precision.Format // the format of its numbers, saturating
	calibrator *Pass            // finds them
}

// layerWeights are one layer's. Query, key and value projections are one
// matrix, and so are an expert's gate and up projections, as servers fuse them.
type layerWeights struct {
	inputNorm, postNorm []float32
	qkv, output         projection
	router              kernel.Weight
	index               kernel.Weight  // of a layer with sparse attention
	linear              *linearWeights // of a layer with linear attention; nil in any other
	routerBias          []float32      // added when experts are chosen, not to their gates; or nil
	gateUp, down        []projection   // by expert; one entry in a dense model
}

// projection is a matrix with its unmerged adapters, if there are any.
type projection struct {
	kernel.Weight
	adapters []adapter
}

// NewWeights returns empty weights for the shape; Publish fills them.
func NewWeights(c model.Config, n Numerics) *Weights {
	w := &Weights{Config: c, Numerics: n, layers: make([]layerWeights, c.Layers)}
	experts := c.FFNs()
	for l := range w.layers {
		w.layers[l].gateUp, w.layers[l].down = make([]projection, experts), make([]projection, experts)
		if c.LayerType(l) == model.LinearAttention {
			w.layers[l].linear = new(linearWeights)
		}
	}
	if n.StaticKV() {
		grid, err := n.KVCache.Format.WithOverflow(precision.Saturate)
		if err != nil {
			panic(err) // a valid floating-point format takes every overflow rule
		}
		w.cacheGrid = grid
	}
	if c.Positions == model.Rotary {
		w.rotary = kernel.NewRotaryTable(c.RopeTheta, c.HeadDim(), c.Context)
	}
	return w
}

// NewForwardWeights is NewWeights for engines that never go backward: it saves the memory and
// time of what only that reads.
func NewForwardWeights(c model.Config, n Numerics) *Weights {
	w := NewWeights(c, n)
	w.forwardOnly = true
	return w
}

// Publish takes the parameters as the weights of the given version: this is
// the moment a rollout engine receives an update. Memory is reused.
func (w *Weights) Publish(p *model.Params, version int) {
	n := &w.Numerics
	w.Version, w.ActualVersion = version, version
	d := w.Config.DModel
	w.embed = grown(w.embed, len(p.Embed))
	n.embedding().RoundTrip(w.embed, p.Embed, w.Config.Vocab, d)
	if p.PositionEmbed != nil {
		w.positions = rounded(w.positions, p.PositionEmbed, n.Activations)
	}
	w.finalNorm = rounded(w.finalNorm, p.FinalNorm, n.Activations)
	for l := range w.layers {
		from, to := p.Layer(l), &w.layers[l]
		to.inputNorm = rounded(to.inputNorm, from.InputNorm, n.Activations)
		to.postNorm = rounded(to.postNorm, from.PostNorm, n.Activations)
		base := from
		if p.LoRA != nil && n.Adapters.Unmerged {
			base = p.LoRA.Base.Layer(l)
		}
		w.packAdapted(&to.qkv, p, base.QKV, len(from.QKV)/d, d)
		w.packAdapted(&to.output, p, base.O, d, len(from.O)/d)
		if from.Linear != nil {
			to.linear.publish(from.Linear, w.Config.HeadDim(), n)
		}
		if from.Index != nil {
			w.pack(&to.index, from.Index.All, w.Config.IndexWidth(), d, n.Weights)
		}
		if from.Router != nil {
			w.pack(&to.router, from.Router, w.Config.Experts, d, precision.Quantizer{Format: n.Router})
			if bias := p.LayerRouterBias(l); bias != nil {
				to.routerBias = append(to.routerBias[:0], bias...)
			} else {
				to.routerBias = nil
			}
		}
		for e := range to.gateUp {
			f := w.Config.DFF
			w.packAdapted(&to.gateUp[e], p, base.W13[e], 2*f, d)
			w.packAdapted(&to.down[e], p, base.W2[e], d, f)
		}
	}
	w.pack(&w.head, p.Head, w.Config.Vocab, d, n.headWeights())
}

// pack quantises the row-major matrix src [out, in] and lays it out for the
// kernels. Scales per tensor or per channel stay outside the sum, as in the
// matrix units of the hardware; formats with scales along the sum are
// dequantised first when their blocks are shorter than a row (mx, nv), which
// is what a weight-only kernel does.
func (w *Weights) pack(dst *kernel.Weight, src []float32, out, in int, q precision.Quantizer) {
	dst.ForwardOnly = w.forwardOnly
	if q.Identity() {
		dst.Pack(src, out, in, nil)
		return
	}
	w.scaled = grown(w.scaled, out*in)
	if !q.Scaled() {
		q.Format.RoundSlice(w.scaled, src)
		dst.Pack(w.scaled, out, in, nil)
		return
	}
	perScale := 1 // rows
	switch q.Granularity {
	case precision.PerChannel, precision.Q8_0, precision.Q8_0X86, precision.Q4_0:
	case precision.PerTensor:
		perScale = out
	case precision.Block:
		perScale = q.BlockRows
	default:
		q.RoundTrip(w.scaled, src, out, in)
		w.Numerics.Activations.RoundSlice(w.scaled, w.scaled)
		dst.Pack(w.scaled, out, in, nil)
		return
	}
	n, run := q.ScaleCount(out, in), q.RunLength()
	w.scales = grown(w.scales, max(n, out))
	q.Quantize(w.scaled, w.scales[:n], src, out, in)
	if run > 0 && (in > run || q.Granularity != precision.Block) {
		dst.PackBlocks(w.scaled, out, in, perScale, run, w.scales[:n])
		return
	}
	for i := out - 1; i >= 0; i-- { // one scale spans a row: each row gets its own copy
		w.scales[i] = w.scales[i/perScale]
	}
	dst.Pack(w.scaled, out, in, w.scales[:out])
}

// rounded returns src rounded to f, in dst's memory where it suffices.
func rounded(dst, src []float32, f precision.Format) []float32 {
	dst = grown(dst, len(src))
	f.RoundSlice(dst, src)
	return dst
}

// grown returns a slice of length n, in x's memory where it suffices. The
// contents are unspecified. New memory has an eighth to spare: the lengths of
// responses wander, and a step with a new longest one should not cost memory.
func grown[T any](x []T, n int) []T {
	if cap(x) < n {
		return make([]T, n, n+n/8)
	}
	return x[:n]
}
