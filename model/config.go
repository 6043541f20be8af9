package model

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
// default, except where noted.
type Config struct {
	// Layers is the number of transformer layers. Default 2.
	Layers int `yaml:"layers" json:"layers"`
	// DModel is the width of the residual stream. Default 32.
	DModel int `yaml:"d_model" json:"d_model"`
	// Heads is the number of query heads. Default 4.
	Heads int `yaml:"heads" json:"heads"`
	// KVHeads is the number of key and value heads; it divides Heads. Default Heads.
	KVHeads int `yaml:"kv_heads" json:"kv_heads"`
	// Experts is the number of experts per layer. 0 and 1 mean the dense
	// variant: one feed-forward network and no router. 0 is not replaced.
	Experts int `yaml:"experts" json:"experts"`
	// TopK is how many experts each token visits. Default 2. Without meaning,
	// and set to 0, in the dense variant.
	TopK int `yaml:"top_k" json:"top_k"`
	// DFF is the inner width of one expert, or of the dense network. Default 2*DModel.
	DFF int `yaml:"d_ff" json:"d_ff"`
	// Context is the longest sequence in tokens. Default 128.
	Context int `yaml:"context" json:"context"`
	// Vocab is the number of tokens. It has no default: the task fills it in.
	Vocab int `yaml:"vocab" json:"vocab"`
	// Positions is Rotary (default) or Learned.
	Positions string `yaml:"positions" json:"positions"`
	// RopeTheta is the base of the rotary angles (arXiv:2104.09864). Default 100:
	// heads of width 8 have four frequencies, and over contexts of a hundred
	// tokens larger bases leave two of them without use (10000 is the paper's,
	// Mixtral takes 1e6 for 32k tokens). Without meaning, and set to 0, with
	// learned positions.
	RopeTheta float64 `yaml:"rope_theta" json:"rope_theta"`
	// NormEps is added to the mean square inside RMSNorm. Default 1e-5 (Mixtral).
	NormEps float64 `yaml:"norm_eps" json:"norm_eps"`
	// GateOrder is topk-then-softmax (default) or softmax-then-topk. Empty in the dense variant.
	GateOrder string `yaml:"gate_order" json:"gate_order"`
	// Renormalise divides the kept gates of softmax-then-topk by their sum. With
	// topk-then-softmax the gates sum to one already and the field changes nothing.
	Renormalise bool `yaml:"renormalise" json:"renormalise"`
	// LayerTypes lists the types of the layers, full_attention, linear_attention (a gated
	// delta rule, arXiv:2412.06464) or sparse_attention (to the positions that an index
	// chooses, arXiv:2512.02556), one for each layer or a pattern that repeats. The heads
	// of a linear-attention layer share no keys: kv_heads and positions are those of the
	// other layers. Default: full_attention everywhere.
	LayerTypes LayerTypes `yaml:"layer_types,omitempty" json:"layer_types,omitzero"`
	// IndexTopK is the number of positions that a row of a sparse-attention layer attends to.
	// Default 16; without meaning, and set to 0, in a model that has no such layer.
	IndexTopK int `yaml:"index_topk,omitempty" json:"index_topk,omitzero"`
	// IndexHeads is the number of query heads of its index. Default 2, or 0 as IndexTopK.
	IndexHeads int `yaml:"index_n_heads,omitempty" json:"index_n_heads,omitzero"`
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
	setDefault(&c.Layers, 2)
	setDefault(&c.DModel, 32)
	setDefault(&c.Heads, 4)
	setDefault(&c.KVHeads, c.Heads)
	setDefault(&c.DFF, 2*c.DModel)
	setDefault(&c.Context, 128)
	setDefault(&c.Positions, Rotary)
	setDefault(&c.NormEps, 1e-5)
	c.LayerTypes = c.LayerTypes.expanded(c.Layers)
	if c.HasLayer(SparseAttention) {
		setDefault(&c.IndexTopK, 16)
		setDefault(&c.IndexHeads, 2)
	} else {
		c.IndexTopK, c.IndexHeads = 0, 0
	}
	if c.Positions == Learned {
		c.RopeTheta = 0
	} else {
		setDefault(&c.RopeTheta, 100)
	}
	if c.Experts == 0 || c.Experts == 1 {
		c.Experts, c.TopK, c.GateOrder, c.Renormalise = 0, 0, "", false
		return c
	}
	setDefault(&c.TopK, 2)
	setDefault(&c.GateOrder, TopKThenSoftmax)
	if c.GateOrder == TopKThenSoftmax {
		c.Renormalise = false
	}
	return c
}

// setDefault replaces a zero value.
func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
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
