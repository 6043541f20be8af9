package model

import (
	"fmt"
	"slices"
	"strings"
)

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

// of is the type of a layer.
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

// validate says what is wrong with the types of so many layers.
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

// linearExtras is the number of parameters that a linear-attention layer has next to its
// projections.
func (c Config) linearExtras() int { return 3*c.DModel*ConvWidth + 2*c.Heads + c.HeadDim() }
