package engine

import (
	"driftlab/engine/kernel"
	"driftlab/model"
	"driftlab/precision"
)

// sparseAttention is softmax attention to the positions that an index chooses (model.IndexLayer).
// Its choice is a Retention that the pass makes itself, row by row; or one that is replayed.
// It has no gradient, so the index has none: the backward pass is that of attention to the
// chosen positions.
type sparseAttention struct{ fullAttention }

func (sparseAttention) grow(p *Pass, s *layerState, rows int) {
	fullAttention{}.grow(p, s, rows)
	s.index = grown(s.index, rows*p.config.IndexWidth())
}

func (sparseAttention) mix(p *Pass, k *worker, layer int, s *layerState, from, to int) {
	p.placeHeads(k, layer, s, from, to)
	p.projectIndex(k, layer, s, from, to)
	p.choose(k, layer, s, from)
	p.attend(k, layer, s, from)
}

func (sparseAttention) operations(p *Pass, layer int) []Operation {
	width := p.config.IndexWidth()
	return append([]Operation{{"index", layer, p.layers[layer].index[:p.rows*width], width}}, fullAttention{}.operations(p, layer)...)
}

// projectIndex computes queries, key and weights of the index for the rows of a block, turned
// by their positions and in the index's format.
func (p *Pass) projectIndex(k *worker, layer int, s *layerState, from, to int) {
	c, rows, width := &p.config, to-from, p.config.IndexWidth()
	d, hd, heads := c.DModel, c.HeadDim(), c.IndexHeads
	index := s.index[from*width : to*width]
	values, scales := k.in.attention.rows(0, rows, d, p.num.inputs)
	kernel.Linear(index, values, scales, &p.weights.layers[layer].index, rows, p.num.projection, &k.scratch)
	rotary := kernel.Rotary
	if p.num.eager {
		rotary = kernel.RotaryEager
	}
	for r := range rows {
		row := index[r*width:][:(heads+1)*hd]
		if table := p.weights.rotary; table != nil {
			rotary(row, width, p.pack.Positions[k.rowFrom+r:][:1], 1, heads+1, hd, table, p.num.activations)
		}
		if p.num.index != precision.Unscaled(p.num.activations) {
			p.num.index.RoundTrip(row, row, heads+1, hd)
		}
	}
}

// choose decides which positions the rows of a block attend to, sequence by sequence: those
// recorded, where there is a record, and else those of the largest scores.
func (p *Pass) choose(k *worker, layer int, s *layerState, at int) {
	c, shift, width := &p.config, at-k.rowFrom, p.config.IndexWidth()
	hd, heads := c.HeadDim(), c.IndexHeads
	k.prefix = -1
	for sequence := k.seqFrom; sequence < k.seqTo; sequence++ {
		from, to := p.pack.Offsets[sequence], p.pack.Offsets[sequence+1]
		if from == to {
			continue
		}
		index := p.cacheOf(k, layer, sequence)
		index.Keys, index.Values = ofIndex(c, index.Keys), ofIndex(c, index.Values)
		k.indexKeys = k.indexKeys[:0]
		for r := from; r < to; r++ {
			k.indexKeys = append(k.indexKeys, s.index[(r+shift)*width+heads*hd:][:hd]...)
		}
		kernel.StoreKV(index, k.indexKeys, k.indexKeys, hd, to-from, int(p.pack.Positions[from]), hd)
		for r := from; r < to; r++ {
			plane := p.choice.plane(r, layer, 0, c.KVHeads)
			if p.recorded != nil {
				if copy(plane, p.recorded.plane(r, layer, 0, c.KVHeads)); count(plane) > 0 {
					continue
				}
			}
			n, row := int(p.pack.Positions[r])+1, s.index[(r+shift)*width:][:width]
			if k.scores = grown(k.scores, n); n > c.IndexTopK {
				kernel.IndexScores(k.scores, row, row[(heads+1)*hd:], index.Keys, n, hd)
			}
			kernel.LargestScores(plane, k.scores, n, c.IndexTopK, &k.scratch)
		}
	}
}

// ofIndex is the part of a sequence's keys, or values, that belongs to the index.
func ofIndex(c *model.Config, all []float32) []float32 {
	return all[len(all)/(c.KVDim()+c.HeadDim())*c.KVDim():]
}

// chooseAll is the choice of the rows of a block in a layer without an index: every position
// up to their own.
func (p *Pass) chooseAll(k *worker, layer int) {
	for r := k.rowFrom; r < k.rowTo && p.indexed; r++ {
		n := int(p.pack.Positions[r]) + 1
		kernel.LargestScores(p.choice.plane(r, layer, 0, p.config.KVHeads), nil, n, n, &k.scratch)
	}
}

// beginChoice makes room for the choices of the pack's rows, and takes what is replayed.
func (p *Pass) beginChoice() {
	if !p.indexed {
		return
	}
	p.recorded, p.options.Retention = p.options.Retention, &p.choice
	c, r := &p.config, &p.choice
	r.Planes, r.Words, r.PerLayer = c.Layers, RetentionWords(c.Context), true
	r.Kept = grown(r.Kept, p.rows*r.Planes*r.Words)
	clear(r.Kept)
}

// Choices are the positions that every row of a model with sparse attention attended to, in
// the order of Retention.Kept with a plane for each layer, valid until the next Begin; nil
// for any other model.
func (p *Pass) Choices() []uint64 {
	if !p.indexed {
		return nil
	}
	return p.choice.Kept
}

// keyHeads is the number of heads of keys in a cache: those of the attention, and that of the
// index.
func keyHeads(c *model.Config) int {
	if c.HasLayer(model.SparseAttention) {
		return c.KVHeads + 1
	}
	return c.KVHeads
}
