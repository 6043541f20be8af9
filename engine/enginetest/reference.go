package enginetest

import (
	"cmp"
	"fmt"
	"math"
	"slices"

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

// linearTensors are those of a linear-attention layer that no other has.
type linearTensors struct{ z, b, a, conv, decayLog, decayBias, norm []float64 }

// linearMemory is what such a layer remembers of a sequence: the inputs of its convolution and
// the state of each head, [head][key][value].
type linearMemory struct {
	inputs [][]float64
	states [][][]float64
}

// step takes one token, whose normed input is h, and returns what the output projection
// reads: Gated DeltaNet as arXiv:2412.06464 defines it, by the recurrence
//
//	S ← S·α·(I - β·k·kᵀ) + β·v·kᵀ
func (m *linearMemory) step(c model.Config, w *layerTensors, h []float64) []float64 {
	d, hd := c.DModel, c.HeadDim()
	if m.states == nil {
		m.states = make([][][]float64, c.Heads)
		for head := range m.states {
			for range hd {
				m.states[head] = append(m.states[head], make([]float64, hd))
			}
		}
	}
	m.inputs = append(m.inputs, append(append(times(w.q, h), times(w.k, h)...), times(w.v, h)...))
	x := make([]float64, 3*d)
	for i := range x {
		for j := range model.ConvWidth {
			if t := len(m.inputs) - model.ConvWidth + j; t >= 0 {
				x[i] += float64(w.linear.conv[i*model.ConvWidth+j] * m.inputs[t][i])
			}
		}
		x[i] *= sigmoid(x[i])
	}
	z, b, a := times(w.linear.z, h), times(w.linear.b, h), times(w.linear.a, h)
	out := make([]float64, d)
	for head, s := range m.states {
		from, to := head*hd, (head+1)*hd
		q, k, v := unit(x[from:to]), unit(x[d+from:d+to]), x[2*d+from:2*d+to]
		beta := sigmoid(b[head])
		alpha := math.Exp(-math.Exp(w.linear.decayLog[head]) * math.Log1p(math.Exp(a[head]+w.linear.decayBias[head])))
		for j := range hd {
			var recalled float64
			for i := range hd {
				recalled += float64(alpha * s[i][j] * k[i])
			}
			for i := range hd {
				s[i][j] = float64(alpha*s[i][j]) + float64(beta*(v[j]-recalled)*k[i])
				out[from+j] += float64(s[i][j] * q[i] / math.Sqrt(float64(hd)))
			}
		}
		copy(out[from:to], norm(out[from:to], w.linear.norm, c.NormEps))
		for j := from; j < to; j++ {
			out[j] *= z[j] * sigmoid(z[j])
		}
	}
	return out
}

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// unit is x with length one, but for an epsilon under the root.
func unit(x []float64) []float64 {
	square := 1e-6
	for _, v := range x {
		square += float64(v * v)
	}
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = v / math.Sqrt(square)
	}
	return y
}

// indexTensors are those of the index of a sparse-attention layer.
type indexTensors struct{ q, k, w []float64 }

// index chooses the positions that the newest row attends to, by the formula of
// model.IndexLayer: h is the layer's normed input there, keys are the index's of all positions
// so far, to which the row's is added. It also returns the least lead of a chosen position over
// one left out, infinite where the two have the same score for a reason of their own: every
// head is off for both.
func (t *indexTensors) index(c model.Config, h []float64, keys *[][]float64) (sees []bool, margin float64) {
	hd, n := c.HeadDim(), len(*keys)+1
	q, k := times(t.q, h), times(t.k, h)
	if c.Positions == model.Rotary {
		rotate(q, n-1, hd, c.RopeTheta)
		rotate(k, n-1, hd, c.RopeTheta)
	}
	*keys = append(*keys, k)
	scores, weights := make([]float64, n), times(t.w, h)
	margin = math.Inf(1)
	for s, key := range *keys {
		for j, w := range weights {
			var x float64
			for i := range hd {
				x += float64(q[j*hd+i] * key[i])
			}
			scores[s] += float64(w * max(x, 0))
		}
	}
	sees = make([]bool, n)
	sees[n-1] = true
	order := make([]int, n-1)
	for i := range order {
		order[i] = n - 2 - i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
	for i, s := range order {
		if i < c.IndexTopK-1 {
			sees[s] = true
		} else if last := i - 1; i == c.IndexTopK-1 && last >= 0 && (scores[order[last]] != 0 || scores[s] != 0) {
			margin = scores[order[last]] - scores[s]
		}
	}
	return sees, margin
}

// row is row i of a matrix of that width.
func row(m []float64, i, width int) []float64 { return m[i*width : (i+1)*width] }

// add adds y to x.
func add(x, y []float64) {
	for i := range x {
		x[i] += y[i]
	}
}

// times is W·x for W stored [out, in].
func times(w, x []float64) []float64 {
	y := make([]float64, len(w)/len(x))
	for o := range y {
		for i, v := range x {
			y[o] += float64(w[o*len(x)+i] * v)
		}
	}
	return y
}

// norm is x/sqrt(mean(x²)+eps) ⊙ gain.
func norm(x, gain []float64, eps float64) []float64 {
	var squares float64
	for _, v := range x {
		squares += float64(v * v)
	}
	root := math.Sqrt(squares/float64(len(x)) + eps)
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = v / root * gain[i]
	}
	return y
}

// rotate turns each head of x by its position: entries j and j+headDim/2 are a
// pair that turns by position·theta^(-2j/headDim).
func rotate(x []float64, position, headDim int, theta float64) {
	for h := 0; h < len(x); h += headDim {
		for j := range headDim / 2 {
			angle := float64(position) * math.Pow(theta, -2*float64(j)/float64(headDim))
			a, b := x[h+j], x[h+j+headDim/2]
			x[h+j] = float64(a*math.Cos(angle)) - float64(b*math.Sin(angle))
			x[h+j+headDim/2] = float64(b*math.Cos(angle)) + float64(a*math.Sin(angle))
		}
	}
}

// feedForward is W2·(silu(W1·h) ⊙ W3·h).
func feedForward(h, w1, w2, w3 []float64) []float64 {
	gate, up := times(w1, h), times(w3, h)
	for i, g := range gate {
		gate[i] = g / (1 + math.Exp(-g)) * up[i]
	}
	return times(w2, gate)
}

// Softmax returns exp(x)/Σ exp(x).
func Softmax(x []float64) []float64 {
	top := math.Inf(-1)
	for _, v := range x {
		top = math.Max(top, v)
	}
	p := make([]float64, len(x))
	var sum float64
	for i, v := range x {
		p[i] = math.Exp(v - top)
		sum += p[i]
	}
	for i := range p {
		p[i] /= sum
	}
	return p
}

// LogSoftmax returns the log-probabilities of logits divided by the temperature.
func LogSoftmax(logits []float64, temperature float64) []float64 {
	top := math.Inf(-1)
	for _, z := range logits {
		top = math.Max(top, z/temperature)
	}
	var sum float64
	for _, z := range logits {
		sum += math.Exp(z/temperature - top)
	}
	logp := make([]float64, len(logits))
	for i, z := range logits {
		logp[i] = z/temperature - top - math.Log(sum)
	}
	return logp
}

// largest returns the indices of the n largest keys, largest first, the lower
// index first among equals.
func largest(keys []float64, n int) []int {
	var chosen []int
	for range n {
		best := -1
		for e, key := range keys {
			if !contains(chosen, e) && (best < 0 || key > keys[best]) {
				best = e
			}
		}
		chosen = append(chosen, best)
	}
	return chosen
}

func contains(list []int, x int) bool {
	for _, y := range list {
		if x == y {
			return true
		}
	}
	return false
}
