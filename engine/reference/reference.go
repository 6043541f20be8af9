// Package reference is the transformer of package model in its plainest form: float64, one token
// at a time, forward and backward, without workers, packs, caches of prefixes or rounding. Read it
// first. The two engines compute the same function; tests hold them to this one.
//
//	m := reference.New(params)
//	pass := m.Forward(tokens, nil)            // logits, routes, router probabilities
//	pass.Backward(dLogits, nil)               // adds to m.Grad
//
// Every operation stands in tape.go next to its gradient; the layers in this file are the formulas
// of package model's documentation in their order.
//
// What it is not: fast, or a third engine. It says how far an engine in a format may be from the
// exact value, not which bits it computes.
package reference

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"driftlab/model"
	"driftlab/moe"
)

// Model is a transformer in float64.
type Model struct {
	// Config is the model's shape.
	Config model.Config
	// Theta is every parameter, in the order of model.Layout; Grad the sum of the gradients so far.
	Theta, Grad []float64
	// Held reports whether a row still sees a position in a layer and key head, as in a compressed
	// cache; nil lets it see all up to its own.
	Held func(row, layer, head, position int) bool
	// Attended, if it is not nil, is given the attention weights of a row, once for each query head
	// that reads the key head.
	Attended func(row, layer, head int, weights []float64)
	// Regate, if it is not nil, gives the gate that weighs an expert in place of the one that its
	// logits give; at counts decisions of a sequence as routes do, [row][layer][rank]. The gradient
	// passes it unchanged (straight through).
	Regate func(at int, live float64) float64

	tensors map[string]*vector // views of Theta and Grad by checkpoint name
	bias    []float32          // added to router logits when experts are chosen, [layers, experts], or nil
}

// New copies the parameters.
func New(p *model.Params) *Model {
	m := &Model{Config: p.Config, tensors: map[string]*vector{}, bias: p.RouterBias, Grad: make([]float64, len(p.Theta))}
	for _, x := range p.Theta {
		m.Theta = append(m.Theta, float64(x))
	}
	all := vector{m.Theta, m.Grad}
	for _, t := range model.Layout(p.Config) {
		m.tensors[t.Name] = all.part(t.Offset, t.End())
	}
	return m
}

// tensor is a parameter by its name in a checkpoint of Mixtral or, in the dense variant, Llama.
func (m *Model) tensor(format string, args ...any) *vector {
	name := fmt.Sprintf(format, args...)
	v := m.tensors[name]
	if v == nil {
		panic("reference: no tensor " + name)
	}
	return v
}

// Pass is one sequence, forward and backward.
type Pass struct {
	// Logits are the next-token logits, [row][vocab].
	Logits [][]float64
	// Routes are the experts visited, in the order [row][layer][rank].
	Routes []uint8
	// Router are the router's probabilities over all experts, [row][layer][expert].
	Router [][][]float64
	// Margin is the least lead of a chosen expert over one left out, over all rows and layers whose
	// experts the model chose itself.
	Margin float64
	// Sees says of every row and sparse-attention layer which positions it attends to,
	// [row][layer][position], nil in other layers; IndexMargin is the least lead of one that is
	// chosen over one that is not.
	Sees        [][][]bool
	IndexMargin float64

	tape
	m      *Model
	given  []uint8
	layers []cache
	logits []*vector   // by row
	router [][]*vector // probabilities by row and layer
}

// cache is what a layer keeps of the rows so far: keys and values of attention, the keys of its
// index, the inputs of a linear layer's convolution and that layer's state of each head, [value, key].
type cache struct{ keys, values, index, inputs, states []*vector }

// Forward runs one sequence. routes, in the order [row][layer][rank], are the experts to visit,
// moe.NoRoute where the model is to choose; nil lets it choose everywhere.
func (m *Model) Forward(tokens []int32, routes []uint8) *Pass {
	c := m.Config
	p := &Pass{m: m, given: routes, layers: make([]cache, c.Layers), Margin: math.Inf(1), IndexMargin: math.Inf(1)}
	for i, token := range tokens {
		x := m.row("model.embed_tokens.weight", int(token))
		if c.Positions == model.Learned {
			x = p.add(x, m.row("model.embed_positions.weight", i))
		}
		p.Sees, p.Router, p.router = append(p.Sees, make([][]bool, c.Layers)), append(p.Router, nil), append(p.router, nil)
		for l := range c.Layers {
			h := p.norm(x, m.tensor("model.layers.%d.input_layernorm.weight", l), c.NormEps)
			if c.LayerType(l) == model.LinearAttention {
				x = p.add(x, p.linearAttention(h, l))
			} else {
				x = p.add(x, p.attention(h, i, l))
			}
			h = p.norm(x, m.tensor("model.layers.%d.post_attention_layernorm.weight", l), c.NormEps)
			x = p.add(x, p.experts(h, i, l))
		}
		z := p.times(m.tensor("lm_head.weight"), p.norm(x, m.tensor("model.norm.weight"), c.NormEps))
		p.logits, p.Logits = append(p.logits, z), append(p.Logits, z.x)
	}
	return p
}

func (m *Model) row(name string, i int) *vector {
	return m.tensors[name].part(i*m.Config.DModel, (i+1)*m.Config.DModel)
}

// Backward adds the gradient of the parameters to the model's Grad: of an objective with the
// derivatives dLogits, [row][vocab], and dRouter, [row][layer][expert], of the router's
// probabilities, nil for none. A pass goes backward once.
func (p *Pass) Backward(dLogits [][]float64, dRouter [][][]float64) {
	for i, z := range p.logits {
		copy(z.g, dLogits[i])
		for l, probs := range p.router[i] {
			if dRouter != nil {
				copy(probs.g, dRouter[i][l])
			}
		}
	}
	for _, step := range slices.Backward(p.back) {
		step()
	}
}

// attention is the attention output of row i, whose normed input is h, over all rows so far, or
// over those that the layer's index chooses.
func (p *Pass) attention(h *vector, i, l int) *vector {
	c, kept := p.m.Config, &p.layers[l]
	hd := c.HeadDim()
	project := func(name string) *vector { return p.times(p.m.tensor("model.layers.%d.self_attn.%s", l, name), h) }
	q, k, v := project("q_proj.weight"), project("k_proj.weight"), project("v_proj.weight")
	if c.Positions == model.Rotary {
		q, k = p.rotate(q, i, hd, c.RopeTheta), p.rotate(k, i, hd, c.RopeTheta)
	}
	kept.keys, kept.values = append(kept.keys, k), append(kept.values, v)
	if c.LayerType(l) == model.SparseAttention {
		p.Sees[i][l] = p.index(h, l)
	}
	var heads []*vector
	for head := range c.Heads {
		g := head / (c.Heads / c.KVHeads) // the key head that this query head reads
		var keys, values []*vector        // of the positions seen
		var seen []int
		for j := range kept.keys {
			if p.m.Held != nil && !p.m.Held(i, l, g, j) || p.Sees[i][l] != nil && !p.Sees[i][l][j] {
				continue
			}
			keys, values, seen = append(keys, kept.keys[j].part(g*hd, (g+1)*hd)), append(values, kept.values[j].part(g*hd, (g+1)*hd)), append(seen, j)
		}
		scores := p.scale(p.times(p.concat(keys...), q.part(head*hd, (head+1)*hd)), 1/math.Sqrt(float64(hd)))
		weights := p.softmax(scores)
		if p.m.Attended != nil {
			all := make([]float64, len(kept.keys))
			for at, j := range seen {
				all[j] = weights.x[at]
			}
			p.m.Attended(i, l, g, all)
		}
		out := newVector(hd)
		for at, v := range values {
			out = p.add(out, p.mul(weights.part(at, at+1), v))
		}
		heads = append(heads, out)
	}
	return p.times(p.m.tensor("model.layers.%d.self_attn.o_proj.weight", l), p.concat(heads...))
}

// index chooses the positions that the newest row attends to, by the formula of model.IndexLayer; h
// is the layer's normed input there. The choice has no gradient. The margin is infinite where two
// positions have the same score since every head is off for both.
func (p *Pass) index(h *vector, l int) (sees []bool) {
	c, kept := p.m.Config, &p.layers[l]
	hd, n := c.HeadDim(), len(kept.index)+1
	project := func(name string) *vector {
		return p.times(p.m.tensor("model.layers.%d.self_attn.indexer.%s.weight", l, name), h)
	}
	q, k := project("wq"), project("wk")
	if c.Positions == model.Rotary {
		q, k = p.rotate(q, n-1, hd, c.RopeTheta), p.rotate(k, n-1, hd, c.RopeTheta)
	}
	kept.index = append(kept.index, k)
	scores := make([]float64, n)
	for j, w := range project("weights_proj").x {
		for s, key := range kept.index {
			scores[s] += float64(w * max(p.times(q.part(j*hd, (j+1)*hd), key).x[0], 0))
		}
	}
	sees = make([]bool, n)
	sees[n-1] = true
	order := make([]int, n-1) // the newest first among equals
	for i := range order {
		order[i] = n - 2 - i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
	for i, s := range order {
		if i < c.IndexTopK-1 {
			sees[s] = true
		} else if i == c.IndexTopK-1 && i > 0 && (scores[order[i-1]] != 0 || scores[s] != 0) {
			p.IndexMargin = min(p.IndexMargin, scores[order[i-1]]-scores[s])
		}
	}
	return sees
}

// linearAttention is Gated DeltaNet of one more row (arXiv:2412.06464), whose normed input is h. Of
// each head a state S, [value, key], is kept:
//
//	S ← α·S·(I - β·k·kᵀ) + β·v·kᵀ,  o = S·q/√headDim
func (p *Pass) linearAttention(h *vector, l int) *vector {
	c, kept := p.m.Config, &p.layers[l]
	d, hd := c.DModel, c.HeadDim()
	tensor := func(name string) *vector { return p.m.tensor("model.layers.%d.linear_attn.%s", l, name) }
	project := func(name string) *vector { return p.times(tensor(name+".weight"), h) }

	// A short convolution over the last inputs, channel by channel.
	kept.inputs = append(kept.inputs, p.concat(project("q_proj"), project("k_proj"), project("v_proj")))
	taps, x := tensor("conv1d.weight"), newVector(3*d)
	for j := range model.ConvWidth {
		if at := len(kept.inputs) - model.ConvWidth + j; at >= 0 {
			var column []*vector
			for i := range 3 * d {
				column = append(column, taps.part(i*model.ConvWidth+j, i*model.ConvWidth+j+1))
			}
			x = p.add(x, p.mul(p.concat(column...), kept.inputs[at]))
		}
	}
	x = p.silu(x)

	z, beta := p.silu(project("z_proj")), p.sigmoid(project("b_proj"))
	softplus := p.each(p.add(project("a_proj"), tensor("dt_bias")), func(x float64) (y, slope float64) {
		return math.Log1p(math.Exp(x)), 1 / (1 + math.Exp(-x))
	})
	alpha := p.exp(p.scale(p.mul(p.exp(tensor("A_log")), softplus), -1))
	if kept.states == nil {
		for range c.Heads {
			kept.states = append(kept.states, newVector(hd*hd))
		}
	}
	var heads []*vector
	for head := range c.Heads {
		of := func(v *vector, first int) *vector { return v.part(first+head*hd, first+(head+1)*hd) }
		a, b := alpha.part(head, head+1), beta.part(head, head+1)
		q, k, v := p.scaled(of(x, 0), 1, 1e-6), p.scaled(of(x, d), 1, 1e-6), of(x, 2*d)
		decayed := p.mul(a, kept.states[head])
		wrong := p.add(v, p.scale(p.times(decayed, k), -1)) // the value less the one recalled
		kept.states[head] = p.add(decayed, p.outer(p.mul(b, wrong), k))
		out := p.scale(p.times(kept.states[head], q), 1/math.Sqrt(float64(hd)))
		heads = append(heads, p.mul(p.norm(out, tensor("norm.weight"), c.NormEps), of(z, 0)))
	}
	return p.times(tensor("o_proj.weight"), p.concat(heads...))
}

// experts is the feed-forward block of row i: of the dense variant one network, else the chosen
// experts' networks, weighed by their gates.
func (p *Pass) experts(h *vector, i, l int) *vector {
	c := p.m.Config
	if c.Dense() {
		mlp := func(name string) *vector { return p.m.tensor("model.layers.%d.mlp.%s_proj.weight", l, name) }
		return p.feedForward(h, mlp("gate"), mlp("down"), mlp("up"))
	}
	at := (i*c.Layers + l) * c.TopK
	chosen, gates := p.route(h, i, l, at)
	y := newVector(c.DModel)
	for rank, e := range chosen {
		w := func(n int) *vector {
			return p.m.tensor("model.layers.%d.block_sparse_moe.experts.%d.w%d.weight", l, e, n)
		}
		gate := gates[rank]
		if p.m.Regate != nil {
			gate = p.each(gate, func(live float64) (y, slope float64) { return p.m.Regate(at+rank, live), 1 })
		}
		y = p.add(y, p.mul(gate, p.feedForward(h, w(1), w(2), w(3))))
		p.Routes = append(p.Routes, uint8(e))
	}
	return y
}

// feedForward is SwiGLU, arXiv:2002.05202: W2·(silu(W1·h) ⊙ W3·h).
func (p *Pass) feedForward(h, w1, w2, w3 *vector) *vector {
	return p.times(w2, p.mul(p.silu(p.times(w1, h)), p.times(w3, h)))
}

// route chooses the experts of row i, or takes the given ones, and computes their gates: the
// softmax of the chosen logits, or the chosen entries of the softmax of all. The bias takes part in
// the choice alone.
func (p *Pass) route(h *vector, i, l, at int) (chosen []int, gates []*vector) {
	c := p.m.Config
	logits := p.times(p.m.tensor("model.layers.%d.block_sparse_moe.gate.weight", l), h)
	probs := p.softmax(logits)
	p.Router[i], p.router[i] = append(p.Router[i], probs.x), append(p.router[i], probs)
	if p.given != nil && p.given[at] != moe.NoRoute {
		for _, e := range p.given[at : at+c.TopK] {
			chosen = append(chosen, int(e))
		}
	} else {
		keys, order := slices.Clone(logits.x), make([]int, c.Experts)
		for e := range keys {
			order[e] = e
			if p.m.bias != nil {
				keys[e] += float64(p.m.bias[l*c.Experts+e])
			}
		}
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(keys[b], keys[a]) }) // the lower index first among equals
		chosen = order[:c.TopK]
		for _, e := range order[c.TopK:] {
			p.Margin = math.Min(p.Margin, keys[chosen[c.TopK-1]]-keys[e])
		}
	}
	entries := func(of *vector) (list []*vector) {
		for _, e := range chosen {
			list = append(list, of.part(e, e+1))
		}
		return list
	}
	if c.GateOrder == model.SoftmaxThenTopK && !c.Renormalise {
		return chosen, entries(probs)
	}
	// The chosen entries of a softmax, divided by their sum, are the softmax of the chosen logits.
	kept := p.softmax(p.concat(entries(logits)...))
	for rank := range chosen {
		gates = append(gates, kept.part(rank, rank+1))
	}
	return chosen, gates
}
