package model

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Tensor is one named parameter tensor, row-major.
type Tensor struct {
	// Name is the name in Hugging Face checkpoints of Mixtral (or of Llama, for
	// the dense variant).
	Name string
	// Shape is [out, in] for matrices, [n] for norms.
	Shape []int
	// Offset is the position of the first entry in Theta.
	Offset int
	// Data is the view of Theta; nil in the result of Layout.
	Data []float32
}

// Len is the number of entries.
func (t *Tensor) Len() int {
	n := 1
	for _, s := range t.Shape {
		n *= s
	}
	return n
}

// End is the offset after the last entry.
func (t *Tensor) End() int { return t.Offset + t.Len() }

// Router reports whether the tensor is the router of a layer.
func (t *Tensor) Router() bool { return strings.HasSuffix(t.Name, routerSuffix) }

// Layout lists the tensors in the order in which they lie in Theta, without
// gaps. The order is fixed:
//
//	embed_tokens, (embed_positions),
//	per layer: input_layernorm, q_proj, k_proj, v_proj, o_proj,
//	           post_attention_layernorm, (gate), per expert: w1, w3, w2
//	norm, lm_head
//
// A linear-attention layer has, in place of q_proj to o_proj: q_proj, k_proj, v_proj,
// z_proj (output gate), b_proj (write strength), a_proj (decay), conv1d, A_log, dt_bias,
// norm, o_proj.
//
// A sparse-attention layer has, after o_proj, its index: indexer.wq, indexer.wk and
// indexer.weights_proj.
//
// So q, k and v are one matrix, w1 and w3 of an expert are one matrix, all
// experts of a layer are one run, and each attention block, feed-forward block
// and the head (with its norm) is one run.
func Layout(c Config) []Tensor {
	c = c.WithDefaults()
	n := names{c.Dense()}
	var list []Tensor
	offset := 0
	add := func(name string, shape ...int) {
		t := Tensor{Name: name, Shape: shape, Offset: offset}
		offset = t.End()
		list = append(list, t)
	}
	add(n.embed(), c.Vocab, c.DModel)
	if c.Positions == Learned {
		add(n.positions(), c.Context, c.DModel)
	}
	for l := range c.Layers {
		add(n.inputNorm(l), c.DModel)
		if c.LayerType(l) == LinearAttention {
			for _, which := range []string{"q", "k", "v", "z"} {
				add(n.linear(l, which+"_proj.weight"), c.DModel, c.DModel)
			}
			add(n.linear(l, "b_proj.weight"), c.Heads, c.DModel)
			add(n.linear(l, "a_proj.weight"), c.Heads, c.DModel)
			add(n.linear(l, convolution), 3*c.DModel, ConvWidth)
			add(n.linear(l, decayLog), c.Heads)
			add(n.linear(l, decayBias), c.Heads)
			add(n.linear(l, "norm.weight"), c.HeadDim())
			add(n.linear(l, "o_proj.weight"), c.DModel, c.DModel)
		} else {
			add(n.attention(l, "q"), c.DModel, c.DModel)
			add(n.attention(l, "k"), c.KVDim(), c.DModel)
			add(n.attention(l, "v"), c.KVDim(), c.DModel)
			add(n.attention(l, "o"), c.DModel, c.DModel)
		}
		if c.LayerType(l) == SparseAttention {
			add(n.index(l, "wq"), c.IndexHeads*c.HeadDim(), c.DModel)
			add(n.index(l, "wk"), c.HeadDim(), c.DModel)
			add(n.index(l, "weights_proj"), c.IndexHeads, c.DModel)
		}
		add(n.postNorm(l), c.DModel)
		if !c.Dense() {
			add(n.router(l), c.Experts, c.DModel)
		}
		for e := range c.FFNs() {
			add(n.ffn(l, e, 1), c.DFF, c.DModel)
			add(n.ffn(l, e, 3), c.DFF, c.DModel)
			add(n.ffn(l, e, 2), c.DModel, c.DFF)
		}
	}
	add(n.finalNorm(), c.DModel)
	add(n.head(), c.Vocab, c.DModel)
	return list
}

// Index reports whether the tensor belongs to the index of a sparse-attention layer.
func (t *Tensor) Index() bool { return strings.Contains(t.Name, indexInfix) }

// Block is a run of Theta that one operation of the engines owns.
type Block struct {
	// Name is "embed", "layers.0.attention", "layers.0.ffn", ... or "head".
	Name string
	// Offset and Len delimit the run in Theta.
	Offset, Len int
}

// Blocks cuts Theta into consecutive runs without gaps: the embeddings, the
// attention (norm, q, k, v, o) and the feed-forward network (norm, router,
// experts) of each layer, and the head (final norm, output projection).
func (c Config) Blocks() []Block {
	c = c.WithDefaults()
	n := names{c.Dense()}
	var blocks []Block
	starts := map[string]string{n.embed(): "embed", n.finalNorm(): "head"}
	for l := range c.Layers {
		prefix := "layers." + strconv.Itoa(l)
		starts[n.inputNorm(l)] = prefix + ".attention"
		starts[n.postNorm(l)] = prefix + ".ffn"
	}
	for _, t := range Layout(c) {
		if name, ok := starts[t.Name]; ok {
			blocks = append(blocks, Block{Name: name, Offset: t.Offset})
		}
		b := &blocks[len(blocks)-1]
		b.Len = t.End() - b.Offset
	}
	return blocks
}

// names builds the tensor names of Hugging Face's MixtralForCausalLM, or of
// LlamaForCausalLM for the dense variant.
type names struct{ dense bool }

func (names) embed() string     { return "model.embed_tokens.weight" }
func (names) finalNorm() string { return "model.norm.weight" }
func (names) head() string      { return "lm_head.weight" }

// positions is ours: neither model has learned positions.
func (names) positions() string { return "model.embed_positions.weight" }

func (names) layer(l int) string { return "model.layers." + strconv.Itoa(l) }

func (n names) inputNorm(l int) string { return n.layer(l) + ".input_layernorm.weight" }
func (n names) postNorm(l int) string  { return n.layer(l) + ".post_attention_layernorm.weight" }

func (n names) attention(l int, which string) string {
	return n.layer(l) + ".self_attn." + which + "_proj.weight"
}

// linear names a tensor of a linear-attention layer, as Qwen3-Next does, whose checkpoints
// fuse the projections.
func (n names) linear(l int, which string) string { return n.layer(l) + ".linear_attn." + which }

// Tensors of a linear-attention layer that are no projections.
const (
	convolution = "conv1d.weight"
	decayLog    = "A_log"
	decayBias   = "dt_bias"
)

// index names a projection of the index of a sparse-attention layer, as DeepSeek-V3.2 does,
// whose queries (wq_b) come from a latent that this model has not.
func (n names) index(l int, which string) string { return n.layer(l) + indexInfix + which + ".weight" }

// indexInfix is in the names of the index's tensors, and in no others.
const indexInfix = ".self_attn.indexer."

func (n names) router(l int) string { return n.layer(l) + routerSuffix }

// routerSuffix ends the names of the routers, and of nothing else.
const routerSuffix = ".block_sparse_moe.gate.weight"

// routerBias is the name DeepSeek-V3 gives the selection bias.
func (n names) routerBias(l int) string {
	return n.layer(l) + ".block_sparse_moe.gate.e_score_correction_bias"
}

// ffn names matrix w (1 gate, 2 down, 3 up) of expert e.
func (n names) ffn(l, e, w int) string {
	if n.dense {
		return n.layer(l) + ".mlp." + [...]string{1: "gate", 2: "down", 3: "up"}[w] + "_proj.weight"
	}
	return n.layer(l) + ".block_sparse_moe.experts." + strconv.Itoa(e) + ".w" + strconv.Itoa(w) + ".weight"
}

// Types of layers: how the attention block of a layer lets a position see those before it.
const (
	// FullAttention is softmax attention over every position up to its own.
	FullAttention = "full_attention"
	// LinearAttention is a gated delta rule (Gated DeltaNet, arXiv:2412.06464): a state of
	// a fixed size per head takes the place of keys and values.
	LinearAttention = "linear_attention"
	// SparseAttention is softmax attention to the positions that an index chooses for each
	// row (DeepSeek sparse attention, arXiv:2512.02556): see IndexLayer.
	SparseAttention = "sparse_attention"
)

// layerTypes are the known ones.
var layerTypes = []string{FullAttention, LinearAttention, SparseAttention}

// ConvWidth is the number of positions that the short convolution of a linear-attention
// layer reads: its own and those before it (arXiv:2412.06464, section 3.4).
const ConvWidth = 4

// LayerTypes lists the types of a model's layers, as layer_types does in the
// configurations of hybrid models: one for each layer, or a pattern that repeats. It is one
// text, separated by commas, so that configurations can be compared. Empty means full
// attention in every layer.
type LayerTypes string

// NewLayerTypes joins a list.
func NewLayerTypes(types ...string) LayerTypes { return LayerTypes(strings.Join(types, ",")) }

// List returns the types one by one, nil for none.
func (t LayerTypes) List() []string {
	if t == "" {
		return nil
	}
	return strings.Split(string(t), ",")
}

func (t LayerTypes) of(layer int) string {
	list := t.List()
	if len(list) == 0 {
		return FullAttention
	}
	return list[layer%len(list)]
}

// expanded has one type for each layer, and none where all have full attention. What is not
// valid stays as it is.
func (t LayerTypes) expanded(layers int) LayerTypes {
	list := t.List()
	if len(list) == 0 || layers < len(list) || layers > maxLayers {
		return t
	}
	full := true
	for l := range layers {
		if l >= len(list) {
			list = append(list, t.of(l))
		}
		full = full && list[l] == FullAttention
	}
	if full {
		return ""
	}
	return NewLayerTypes(list...)
}

func (t LayerTypes) validate(layers int) error {
	list := t.List()
	for _, name := range list {
		if !slices.Contains(layerTypes, name) {
			return fmt.Errorf("model.layer_types: unknown %q: use %s", name, strings.Join(layerTypes, ", "))
		}
	}
	if len(list) > max(layers, 1) {
		return fmt.Errorf("model.layer_types: %d types for %d layers: give one for each layer, or a shorter pattern that repeats", len(list), layers)
	}
	return nil
}

// LayerType is the type of a layer.
func (c Config) LayerType(layer int) string { return c.LayerTypes.of(layer) }

// HasLayer reports whether a layer is of that type.
func (c Config) HasLayer(layerType string) bool {
	for l := range c.Layers {
		if c.LayerType(l) == layerType {
			return true
		}
	}
	return false
}

// LargestProjection is the largest number of rows of a layer's fused input projection.
func (c Config) LargestProjection() int {
	widest := 0
	for l := range c.Layers {
		widest = max(widest, c.projectionWidth(l))
	}
	return widest
}

// projectionWidth is the number of rows of a layer's fused input projection: queries, keys
// and values, and in a linear-attention layer the output gate, and for each head the write
// strength and the decay.
func (c Config) projectionWidth(layer int) int {
	if c.LayerType(layer) == LinearAttention {
		return 4*c.DModel + 2*c.Heads
	}
	return c.DModel + 2*c.KVDim()
}

// IndexWidth is the number of rows of the projections of a sparse-attention layer's index:
// its query heads, one key and the weight of each head.
func (c Config) IndexWidth() int { return (c.IndexHeads+1)*c.HeadDim() + c.IndexHeads }
