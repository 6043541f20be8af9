package enginetest

import (
	"math/rand/v2"
	"strings"

	"driftlab/model"
)

// Model is one shape the suites run, with its parameters.
type Model struct {
	// Name says what is special about it.
	Name string
	// Params are drawn from a fixed seed, norms included.
	Params *model.Params
}

// Small is the size for comparing engines with each other, Tiny the one for
// differentiating the reference by every parameter. Their widths are no
// multiples of a vector, 16.
var (
	Small = model.Config{Layers: 2, DModel: 24, Heads: 4, DFF: 20, Context: 48, Vocab: 13}
	Tiny  = model.Config{Layers: 2, DModel: 8, Heads: 4, DFF: 6, Context: 8, Vocab: 7}
)

// Models returns models of that size that together use every choice of the
// architecture: dense and with experts, rotary and learned positions, full,
// grouped and single key heads, each gate order, top-1, a router bias.
func Models(base model.Config) []Model {
	shapes := []struct {
		name   string
		change func(*model.Config)
	}{
		{"dense", func(*model.Config) {}},
		{"dense-learned-grouped", func(c *model.Config) { c.Positions, c.KVHeads = model.Learned, 2 }},
		{"moe", func(c *model.Config) { c.Experts = 5 }},
		{"moe-grouped-softmax-first", func(c *model.Config) {
			c.Experts, c.KVHeads, c.GateOrder = 4, 2, model.SoftmaxThenTopK
		}},
		{"moe-learned-renormalised", func(c *model.Config) {
			c.Experts, c.TopK, c.KVHeads, c.Positions = 4, 3, 1, model.Learned
			c.GateOrder, c.Renormalise = model.SoftmaxThenTopK, true
		}},
		{"moe-top1", func(c *model.Config) { c.Experts, c.TopK, c.GateOrder = 3, 1, model.SoftmaxThenTopK }},
		{"moe-biased", func(c *model.Config) { c.Experts = 3 }},
	}
	var models []Model
	for i, s := range shapes {
		c := base
		s.change(&c)
		m := Model{s.name, NewParams(c, uint64(i+1))}
		if s.name == "moe-biased" {
			m.Params.RouterBias = []float32{0.8, -0.8, 0, -0.5, 0.9, 0.1}
		}
		models = append(models, m)
	}
	return models
}

// Hybrids returns models of that size whose layers are not all of the same type: a layer with a
// state in place of keys cannot do all that the layers of Models can.
func Hybrids(base model.Config) []Model {
	linear, mixed := base, base
	linear.LayerTypes = model.LinearAttention
	mixed.Experts, mixed.KVHeads, mixed.LayerTypes = 3, 2, model.NewLayerTypes(model.LinearAttention, model.FullAttention)
	return []Model{{"linear-attention", NewParams(linear, 31)}, {"moe-hybrid", NewParams(mixed, 32)}}
}

// Sparse returns models of that size with sparse-attention layers, whose rows attend to few
// positions: all of them sparse, and one layer in two.
func Sparse(base model.Config) []Model {
	all, mixed := base, base
	all.LayerTypes, all.IndexTopK, all.IndexHeads = model.SparseAttention, 3, 2
	mixed.Experts, mixed.KVHeads, mixed.IndexTopK, mixed.IndexHeads = 3, 2, 4, 3
	mixed.LayerTypes = model.NewLayerTypes(model.FullAttention, model.SparseAttention)
	return []Model{{"sparse-attention", NewParams(all, 41)}, {"moe-sparse", NewParams(mixed, 42)}}
}

// Named returns the small model of that name, and panics if there is none.
func Named(name string) Model {
	for _, m := range Models(Small) {
		if m.Name == name {
			return m
		}
	}
	panic("enginetest: no model " + name)
}

// NewParams draws parameters. Norms, which start at one in training, are drawn
// too, so that a gain left out shows.
func NewParams(c model.Config, seed uint64) *model.Params {
	p := model.New(c)
	p.Init(seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	for _, t := range p.Tensors() {
		if len(t.Shape) == 1 && strings.HasSuffix(t.Name, "norm.weight") {
			for i := range t.Data {
				t.Data[i] = float32(0.5 + float64(rng.Float64()))
			}
		}
	}
	return p
}

// Sequences draws n token sequences of lengths between least and most.
func Sequences(seed uint64, n, vocab, least, most int) [][]int32 {
	rng := rand.New(rand.NewPCG(seed, 2))
	list := make([][]int32, n)
	for i := range list {
		for range least + rng.IntN(most-least+1) {
			list[i] = append(list[i], int32(rng.IntN(vocab)))
		}
	}
	return list
}
