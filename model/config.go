package model

import "cmp"

// Values of Config.Positions.
const (
	// Rotary turns queries and keys by an angle that grows with the position
	// (arXiv:2104.09864), in the rotate_half convention.
	Rotary = "rotary"
	// Learned adds a trained vector per position to the token embedding.
	Learned = "learned"
)

// Values of Config.GateOrder.
const (
	// TopKThenSoftmax takes the k largest logits and the softmax over them.
	// It equals Mixtral's softmax, top-k, renormalise.
	TopKThenSoftmax = "topk-then-softmax"
	// SoftmaxThenTopK takes the softmax over all experts and keeps the k
	// largest probabilities, divided by their sum if Renormalise is set.
	SoftmaxThenTopK = "softmax-then-topk"
)

// MaxExperts is the largest number of experts: routes are recorded as bytes,
// and the byte 255 is free to mean "not recorded".
const MaxExperts = 255

// Config is the shape of a model. A field of 0, or without a word, means its
// default, except where noted in trainer/recipe/fields.txt, which says what each
// field means.
type Config struct {
	Layers      int        `yaml:"layers" json:"layers"`
	DModel      int        `yaml:"d_model" json:"d_model"`
	Heads       int        `yaml:"heads" json:"heads"`
	KVHeads     int        `yaml:"kv_heads" json:"kv_heads"`
	Experts     int        `yaml:"experts" json:"experts"`
	TopK        int        `yaml:"top_k" json:"top_k"`
	DFF         int        `yaml:"d_ff" json:"d_ff"`
	Context     int        `yaml:"context" json:"context"`
	Vocab       int        `yaml:"vocab" json:"vocab"`
	Positions   string     `yaml:"positions" json:"positions"`
	RopeTheta   float64    `yaml:"rope_theta" json:"rope_theta"`
	NormEps     float64    `yaml:"norm_eps" json:"norm_eps"`
	GateOrder   string     `yaml:"gate_order" json:"gate_order"`
	Renormalise bool       `yaml:"renormalise" json:"renormalise"`
	LayerTypes  LayerTypes `yaml:"layer_types,omitempty" json:"layer_types,omitzero"`
	IndexTopK   int        `yaml:"index_topk,omitempty" json:"index_topk,omitzero"`
	IndexHeads  int        `yaml:"index_n_heads,omitempty" json:"index_n_heads,omitzero"`
}

// Default is the mixture-of-experts model of the shipped recipes. Vocab is left
// to the task.
func Default() Config {
	return Config{Experts: 8}.WithDefaults()
}

// WithDefaults returns the configuration with every unset field filled in and
// every field without meaning for this variant cleared, so that two
// configurations of the same model compare equal.
func (c Config) WithDefaults() Config {
	c.Layers = cmp.Or(c.Layers, 2)
	c.DModel = cmp.Or(c.DModel, 32)
	c.Heads = cmp.Or(c.Heads, 4)
	c.KVHeads = cmp.Or(c.KVHeads, c.Heads)
	c.DFF = cmp.Or(c.DFF, 2*c.DModel)
	c.Context = cmp.Or(c.Context, 128)
	c.Positions = cmp.Or(c.Positions, Rotary)
	c.NormEps = cmp.Or(c.NormEps, 1e-5)
	c.LayerTypes = c.LayerTypes.expanded(c.Layers)
	if c.HasLayer(SparseAttention) {
		c.IndexTopK = cmp.Or(c.IndexTopK, 16)
		c.IndexHeads = cmp.Or(c.IndexHeads, 2)
	} else {
		c.IndexTopK, c.IndexHeads = 0, 0
	}
	if c.Positions == Learned {
		c.RopeTheta = 0
	} else {
		c.RopeTheta = cmp.Or(c.RopeTheta, 100)
	}
	if c.Experts == 0 || c.Experts == 1 {
		c.Experts, c.TopK, c.GateOrder, c.Renormalise = 0, 0, "", false
		return c
	}
	c.TopK = cmp.Or(c.TopK, 2)
	c.GateOrder = cmp.Or(c.GateOrder, TopKThenSoftmax)
	if c.GateOrder == TopKThenSoftmax {
		c.Renormalise = false
	}
	return c
}

// Dense reports whether the model has one feed-forward network per layer and
// no router.
func (c Config) Dense() bool { return c.Experts <= 1 }

// FFNs is the number of feed-forward networks per layer: Experts, or 1 in the
// dense variant.
func (c Config) FFNs() int { return max(1, c.Experts) }

// HeadDim is the width of one attention head, DModel/Heads.
func (c Config) HeadDim() int {
	if c.Heads == 0 {
		return 0
	}
	return c.DModel / c.Heads
}

// KVDim is the width of the keys, and of the values, of one token: KVHeads*HeadDim.
func (c Config) KVDim() int { return c.KVHeads * c.HeadDim() }
