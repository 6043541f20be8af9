package engine

import (
	"driftlab/model"
)

// mixer is the part of an attention block that a layer's type decides: how the rows of a
// sequence see each other, between the fused input projection and the output projection.
// The norm, the projections and the residual stream are the same for all.
type mixer interface {
	// grow makes room in the inside of a layer, and growBack for gradients of a block.
	grow(p *Pass, s *layerState, rows int)
	growBack(p *Pass, b *blockGrad, rows int)
	// mix turns the fused projection of a block, in s.fused, into s.mixed, rows from..to-1.
	mix(p *Pass, k *worker, layer int, s *layerState, from, to int)
	// mixGrad leaves the gradient of the fused projection in k.back.qkv, from that of the
	// mixed rows in k.back.mixed.
	mixGrad(p *Pass, k *worker, layer int, s *layerState, from, to int)
	// weightsGrad adds a worker's share of the gradients that come from no projection, over
	// the blocks of the round.
	weightsGrad(p *Pass, part, layer int)
	// operations lists what mix left, in order.
	operations(p *Pass, layer int) []Operation
}

// mixers are those of a model's layers, by type.
func mixers(c model.Config) []mixer {
	types := map[string]mixer{model.FullAttention: fullAttention{}, model.LinearAttention: linearAttention{}, model.SparseAttention: sparseAttention{}}
	list := make([]mixer, c.Layers)
	for l := range list {
		list[l] = types[c.LayerType(l)]
	}
	return list
}

// fullAttention is softmax attention: rotation, keys and values in the cache's format, and a
// kernel over all positions up to a row's own.
type fullAttention struct{}

func (fullAttention) grow(p *Pass, s *layerState, rows int) {
	s.lse = grown(s.lse, rows*p.config.Heads)
}

func (fullAttention) growBack(*Pass, *blockGrad, int) {}

func (fullAttention) mix(p *Pass, k *worker, layer int, s *layerState, from, to int) {
	p.placeHeads(k, layer, s, from, to)
	p.chooseAll(k, layer)
	p.attend(k, layer, s, from)
}

func (fullAttention) mixGrad(p *Pass, k *worker, layer int, s *layerState, from, to int) {
	p.attendGrad(k, layer, s, from)
}

// weightsGrad adds to no weights: the keys and values of prefixes are parameters of the
// sequences that go on from them.
func (fullAttention) weightsGrad(p *Pass, part, layer int) { p.prefixGrad(part, layer) }

func (fullAttention) operations(p *Pass, layer int) []Operation {
	s, d, kv := &p.layers[layer], p.config.DModel, p.config.KVDim()
	stride := p.fusedWidth(layer)
	columns := func(name string, from, width int) Operation {
		return Operation{name, layer, appendRows(make([]float32, 0, p.rows*width), s.fused[from:p.rows*stride], stride, width), width}
	}
	return []Operation{
		columns("queries", 0, d), columns("keys", d, kv), columns("values", d+kv, kv),
		{"attention", layer, s.mixed.dense[:p.rows*d], d},
	}
}
