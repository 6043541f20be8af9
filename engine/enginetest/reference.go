package enginetest

import (
	"fmt"
	"math"

	"driftlab/model"
	"driftlab/moe"
)

// Reference is the transformer of package model in float64. Its loops follow
// the formulas in that package's documentation, one token at a time.
type Reference struct {
	// Config is the model's shape.
	Config model.Config
	// Theta is every parameter, in the order of model.Layout.
	Theta []float64
	// Held reports whether a row still sees a position in a layer and key head, as
	// in a compressed cache; nil lets it see all up to its own.
	Held func(row, layer, head, position int) bool
	// Attended, if it is not nil, is shown the attention weights of a row, once for
	// each query head that reads the key head.
	Attended func(row, layer, head int, weights []float64)

	tensors map[string][]float64 // views of Theta by checkpoint name
	layers  []layerTensors       // the same by layer
	// Regate, if set, gives the gate that weighs an expert in place of the one
	// its logits give; at counts decisions of a sequence as routes do,
	// [row][layer][rank].
	Regate func(at int, live float64) float64
	bias   []float32 // added to router logits when experts are chosen, [layers, experts], or nil
}

// NewReference copies the parameters.
func NewReference(p *model.Params) *Reference {
	r := &Reference{Config: p.Config, tensors: map[string][]float64{}, bias: p.RouterBias}
	for _, x := range p.Theta {
		r.Theta = append(r.Theta, float64(x))
	}
	for _, t := range model.Layout(p.Config) {
		r.tensors[t.Name] = r.Theta[t.Offset:t.End()]
	}
	for l := range p.Config.Layers {
		r.layers = append(r.layers, r.layer(l))
	}
	return r
}

// Trace is what the reference computed for one sequence.
type Trace struct {
	// Logits are the next-token logits, [row][vocab].
	Logits [][]float64
	// Routes are the experts visited, in the order [row][layer][rank].
	Routes []uint8
	// Router are the router's probabilities over all experts, [row][layer][expert].
	Router [][][]float64
	// Margin is the least lead of a chosen expert over one left out, over all
	// rows and layers whose experts the reference chose itself.
	Margin float64
	// Sees says of every row and sparse-attention layer which positions it attends to,
	// [row][layer][position], nil in other layers; IndexMargin is the least lead of one that is
	// chosen over one that is not.
	Sees        [][][]bool
	IndexMargin float64
}

// layerTensors are the parameters of one layer; experts by index.
type layerTensors struct {
	inputNorm, q, k, v, o, postNorm, router []float64
	linear                                  *linearTensors // of a layer with linear attention
	sparse                                  *indexTensors  // of a layer with sparse attention
	w1, w2, w3                              [][]float64
}

// layer finds the parameters of layer l under the names of the checkpoints of
// Mixtral or, in the dense variant, Llama.
func (r *Reference) layer(l int) layerTensors {
	get := func(format string, args ...any) []float64 {
		name := fmt.Sprintf("model.layers.%d.", l) + fmt.Sprintf(format, args...)
		t, ok := r.tensors[name]
		if !ok {
			panic("enginetest: no tensor " + name)
		}
		return t
	}
	at := "self_attn."
	if r.Config.LayerType(l) == model.LinearAttention {
		at = "linear_attn."
	}
	t := layerTensors{
		inputNorm: get("input_layernorm.weight"), postNorm: get("post_attention_layernorm.weight"),
		q: get("%sq_proj.weight", at), k: get("%sk_proj.weight", at), v: get("%sv_proj.weight", at), o: get("%so_proj.weight", at),
	}
	if r.Config.LayerType(l) == model.LinearAttention {
		t.linear = &linearTensors{z: get("%sz_proj.weight", at), b: get("%sb_proj.weight", at), a: get("%sa_proj.weight", at),
			conv: get("%sconv1d.weight", at), decayLog: get("%sA_log", at), decayBias: get("%sdt_bias", at), norm: get("%snorm.weight", at)}
	}
	if r.Config.LayerType(l) == model.SparseAttention {
		t.sparse = &indexTensors{get("self_attn.indexer.wq.weight"), get("self_attn.indexer.wk.weight"), get("self_attn.indexer.weights_proj.weight")}
	}
	if r.Config.Dense() {
		t.w1 = append(t.w1, get("mlp.gate_proj.weight"))
		t.w2 = append(t.w2, get("mlp.down_proj.weight"))
		t.w3 = append(t.w3, get("mlp.up_proj.weight"))
		return t
	}
	t.router = get("block_sparse_moe.gate.weight")
	for e := range r.Config.Experts {
		t.w1 = append(t.w1, get("block_sparse_moe.experts.%d.w1.weight", e))
		t.w2 = append(t.w2, get("block_sparse_moe.experts.%d.w2.weight", e))
		t.w3 = append(t.w3, get("block_sparse_moe.experts.%d.w3.weight", e))
	}
	return t
}

// Forward runs one sequence. routes, in the order [row][layer][rank], are the
// experts to visit, moe.NoRoute where the reference is to choose; nil lets it
// choose everywhere.
func (r *Reference) Forward(tokens []int32, routes []uint8) Trace {
	c := r.Config
	t := Trace{Margin: math.Inf(1), IndexMargin: math.Inf(1)}
	keys, values := make([][][]float64, c.Layers), make([][][]float64, c.Layers) // [layer][position][kvDim]
	memories, indexKeys := make([]linearMemory, c.Layers), make([][][]float64, c.Layers)
	for i, token := range tokens {
		x := append([]float64(nil), row(r.tensors["model.embed_tokens.weight"], int(token), c.DModel)...)
		if c.Positions == model.Learned {
			add(x, row(r.tensors["model.embed_positions.weight"], i, c.DModel))
		}
		var router [][]float64
		sees := make([][]bool, c.Layers)
		t.Sees = append(t.Sees, sees)
		for l := range r.layers {
			w := &r.layers[l]
			h := norm(x, w.inputNorm, c.NormEps)
			if w.linear != nil {
				add(x, times(w.o, memories[l].step(c, w, h)))
				r.experts(&t, x, i, l, w, routes, &router)
				continue
			}
			q, k, v := times(w.q, h), times(w.k, h), times(w.v, h)
			if c.Positions == model.Rotary {
				rotate(q, i, c.HeadDim(), c.RopeTheta)
				rotate(k, i, c.HeadDim(), c.RopeTheta)
			}
			keys[l], values[l] = append(keys[l], k), append(values[l], v)
			if w.sparse != nil {
				var margin float64
				sees[l], margin = w.sparse.index(c, h, &indexKeys[l])
				t.IndexMargin = min(t.IndexMargin, margin)
			}
			add(x, times(w.o, r.attention(q, keys[l], values[l], l, sees[l])))

			r.experts(&t, x, i, l, w, routes, &router)
		}
		t.Router = append(t.Router, router)
		t.Logits = append(t.Logits, times(r.tensors["lm_head.weight"], norm(x, r.tensors["model.norm.weight"], c.NormEps)))
	}
	return t
}

// experts adds what the feed-forward block of a layer gives of row i to the stream x.
func (r *Reference) experts(t *Trace, x []float64, i, l int, w *layerTensors, routes []uint8, router *[][]float64) {
	c := r.Config
	h, per := norm(x, w.postNorm, c.NormEps), c.Layers*c.TopK
	if c.Dense() {
		add(x, feedForward(h, w.w1[0], w.w2[0], w.w3[0]))
		return
	}
	var given []uint8
	if routes != nil {
		given = routes[i*per+l*c.TopK:][:c.TopK]
	}
	chosen, gates, probs := r.route(h, l, w.router, given, &t.Margin)
	*router = append(*router, probs)
	for rank, e := range chosen {
		if r.Regate != nil {
			gates[rank] = r.Regate(i*per+l*c.TopK+rank, gates[rank])
		}
		y := feedForward(h, w.w1[e], w.w2[e], w.w3[e])
		for j := range x {
			x[j] += float64(gates[rank] * y[j])
		}
		t.Routes = append(t.Routes, uint8(e))
	}
}

// attention mixes the values of all positions so far for the newest query, or of those it sees.
func (r *Reference) attention(q []float64, keys, values [][]float64, layer int, sees []bool) []float64 {
	c := r.Config
	hd := c.HeadDim()
	out := make([]float64, len(q))
	for h := range c.Heads {
		g := h / (c.Heads / c.KVHeads) // the key head this query head reads
		scores := make([]float64, len(keys))
		for j, k := range keys {
			for i := range hd {
				scores[j] += float64(q[h*hd+i] * k[g*hd+i])
			}
			scores[j] /= math.Sqrt(float64(hd))
			if r.Held != nil && !r.Held(len(keys)-1, layer, g, j) || sees != nil && !sees[j] {
				scores[j] = math.Inf(-1)
			}
		}
		weights := Softmax(scores)
		if r.Attended != nil {
			r.Attended(len(keys)-1, layer, g, weights)
		}
		for j, p := range weights {
			for i := range hd {
				out[h*hd+i] += float64(p * values[j][g*hd+i])
			}
		}
	}
	return out
}

// route chooses experts, or takes the given ones, and computes their gates and
// the probabilities of all experts.
func (r *Reference) route(h []float64, layer int, router []float64, given []uint8, margin *float64) (chosen []int, gates, probs []float64) {
	c := r.Config
	logits := times(router, h)
	probs = Softmax(logits)
	if given != nil && given[0] != moe.NoRoute {
		for _, e := range given {
			chosen = append(chosen, int(e))
		}
	} else {
		keys := append([]float64(nil), logits...)
		if r.bias != nil {
			for e := range keys {
				keys[e] += float64(r.bias[layer*c.Experts+e])
			}
		}
		chosen = largest(keys, c.TopK)
		for e, key := range keys {
			if !contains(chosen, e) {
				*margin = math.Min(*margin, keys[chosen[c.TopK-1]]-key)
			}
		}
	}
	var kept, sum []float64
	for _, e := range chosen {
		kept, sum = append(kept, logits[e]), append(sum, probs[e])
	}
	if c.GateOrder == model.TopKThenSoftmax {
		return chosen, Softmax(kept), probs
	}
	if c.Renormalise {
		var total float64
		for _, p := range sum {
			total += p
		}
		for i := range sum {
			sum[i] /= total
		}
	}
	return chosen, sum, probs
}
