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
	p := &Params{Config: c.WithDefaults()}
	var list []Tensor
	for _, v := range p.views() {
		list = append(list, v.Tensor)
	}
	return list
}

// view is a tensor, named as in Hugging Face's MixtralForCausalLM, or in LlamaForCausalLM for the
// dense variant, and the field that is to show it.
type view struct {
	Tensor
	field *[]float32
}

// views lists all tensors in the order of Layout, and makes the layers that have their fields.
func (p *Params) views() (list []view) {
	c := p.Config
	d, kv, hd := c.DModel, c.KVDim(), c.HeadDim()
	offset := 0
	add := func(name string, field *[]float32, shape ...int) {
		t := Tensor{Name: name, Shape: shape, Offset: offset}
		offset = t.End()
		list = append(list, view{t, field})
	}
	add(embedName, &p.Embed, c.Vocab, d)
	if c.Positions == Learned {
		// Neither model has learned positions: the name is ours.
		add("model.embed_positions.weight", &p.PositionEmbed, c.Context, d)
	}
	p.layers = make([]Layer, c.Layers)
	for l := range p.layers {
		y, at := &p.layers[l], layerName(l)
		add(at+inputNormSuffix, &y.InputNorm, d)
		if c.LayerType(l) == LinearAttention {
			// The names follow Qwen3-Next, whose checkpoints fuse the projections.
			x, at := new(LinearLayer), at+".linear_attn."
			y.Linear = x
			add(at+"q_proj.weight", &y.Q, d, d)
			add(at+"k_proj.weight", &y.K, d, d)
			add(at+"v_proj.weight", &y.V, d, d)
			add(at+"z_proj.weight", &x.Z, d, d)
			add(at+"b_proj.weight", &x.B, c.Heads, d)
			add(at+"a_proj.weight", &x.A, c.Heads, d)
			add(at+"conv1d.weight", &x.Conv, 3*d, ConvWidth)
			add(at+decayLog, &x.DecayLog, c.Heads)
			add(at+decayBias, &x.DecayBias, c.Heads)
			add(at+"norm.weight", &x.Norm, hd)
			add(at+"o_proj.weight", &y.O, d, d)
		} else {
			at := at + ".self_attn."
			add(at+"q_proj.weight", &y.Q, d, d)
			add(at+"k_proj.weight", &y.K, kv, d)
			add(at+"v_proj.weight", &y.V, kv, d)
			add(at+"o_proj.weight", &y.O, d, d)
		}
		if c.LayerType(l) == SparseAttention {
			// As in DeepSeek-V3.2, whose queries (wq_b) come from a latent that this model has not.
			x := new(IndexLayer)
			y.Index = x
			add(at+indexInfix+"wq.weight", &x.Q, c.IndexHeads*hd, d)
			add(at+indexInfix+"wk.weight", &x.K, hd, d)
			add(at+indexInfix+"weights_proj.weight", &x.W, c.IndexHeads, d)
		}
		add(at+postNormSuffix, &y.PostNorm, d)
		if !c.Dense() {
			add(at+routerSuffix, &y.Router, c.Experts, d)
		}
		n := c.FFNs()
		y.W1, y.W3, y.W2 = make([][]float32, n), make([][]float32, n), make([][]float32, n)
		for e := range n {
			at := at + ".block_sparse_moe.experts." + strconv.Itoa(e)
			gate, up, down := ".w1.weight", ".w3.weight", ".w2.weight"
			if c.Dense() {
				at, gate, up, down = layerName(l)+".mlp", ".gate_proj.weight", ".up_proj.weight", ".down_proj.weight"
			}
			add(at+gate, &y.W1[e], c.DFF, d)
			add(at+up, &y.W3[e], c.DFF, d)
			add(at+down, &y.W2[e], d, c.DFF)
		}
	}
	add(finalNormName, &p.FinalNorm, d)
	add("lm_head.weight", &p.Head, c.Vocab, d)
	return list
}

// Names of tensors, or what names begin with, contain or end with, that are spoken of elsewhere.
const (
	embedName       = "model.embed_tokens.weight"
	finalNormName   = "model.norm.weight"
	inputNormSuffix = ".input_layernorm.weight"
	postNormSuffix  = ".post_attention_layernorm.weight"
	routerSuffix    = ".block_sparse_moe.gate.weight" // of the routers, and of nothing else
	indexInfix      = ".self_attn.indexer."           // of the index's tensors, and of no others
	decayLog        = "A_log"
	decayBias       = "dt_bias"
)

func layerName(l int) string { return "model.layers." + strconv.Itoa(l) }

// routerBiasName is the name that DeepSeek-V3 gives the selection bias.
func routerBiasName(l int) string {
	return layerName(l) + ".block_sparse_moe.gate.e_score_correction_bias"
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
	var blocks []Block
	starts := map[string]string{embedName: "embed", finalNormName: "head"}
	for l := range c.Layers {
		prefix := "layers." + strconv.Itoa(l)
		starts[layerName(l)+inputNormSuffix] = prefix + ".attention"
		starts[layerName(l)+postNormSuffix] = prefix + ".ffn"
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
