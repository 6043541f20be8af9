package model

import (
	"errors"
	"fmt"
	"math"
)

// Limits that keep a mistyped configuration from asking for the whole memory.
const (
	maxLayers  = 1024
	maxWidth   = 1 << 16
	maxContext = 1 << 20
	maxVocab   = 1 << 20
)

// Validate checks a configuration to which WithDefaults has been applied. It
// returns all faults, joined, one line each; every line names the field as
// recipes write it.
func (c Config) Validate() error {
	var faults []error
	refuse := func(refused bool, format string, args ...any) {
		if refused {
			faults = append(faults, fmt.Errorf(format, args...))
		}
	}
	within := func(field string, value, low, high int) bool {
		outside := value < low || value > high
		refuse(outside, "model.%s: %d is outside [%d, %d]", field, value, low, high)
		return !outside
	}

	within("layers", c.Layers, 1, maxLayers)
	within("d_model", c.DModel, 1, maxWidth)
	heads := within("heads", c.Heads, 1, maxWidth)
	kv := within("kv_heads", c.KVHeads, 1, maxWidth)
	within("d_ff", c.DFF, 1, maxWidth)
	within("context", c.Context, 1, maxContext)
	within("experts", c.Experts, 0, MaxExperts)
	if c.Vocab == 0 {
		refuse(true, "model.vocab: not set: the task or the checkpoint brings the vocabulary")
	} else {
		within("vocab", c.Vocab, 2, maxVocab)
	}

	if err := c.LayerTypes.validate(c.Layers); err != nil {
		faults = append(faults, err)
	}
	if c.HasLayer(SparseAttention) {
		within("index_topk", c.IndexTopK, 1, maxContext)
		within("index_n_heads", c.IndexHeads, 1, maxWidth)
	}
	refuse(heads && c.DModel > 0 && c.DModel%c.Heads != 0, "model.heads: %d does not divide d_model %d", c.Heads, c.DModel)
	refuse(heads && kv && c.Heads%c.KVHeads != 0, "model.kv_heads: %d does not divide heads %d", c.KVHeads, c.Heads)
	switch c.Positions {
	case Rotary:
		refuse(heads && c.DModel > 0 && c.DModel%c.Heads == 0 && c.HeadDim()%2 != 0, "model.positions: rotary needs an even head width, d_model/heads is %d", c.HeadDim())
		refuse(!(c.RopeTheta >= 1) || math.IsInf(c.RopeTheta, 1), "model.rope_theta: %v is not a finite number of at least 1", c.RopeTheta)
	case Learned:
	default:
		refuse(true, "model.positions: unknown %q: use %s or %s", c.Positions, Rotary, Learned)
	}
	refuse(!(c.NormEps > 0) || c.NormEps > 1, "model.norm_eps: %v is outside (0, 1]", c.NormEps)
	refuse(!c.Dense() && (c.TopK < 1 || c.TopK > c.Experts), "model.top_k: %d is outside [1, experts %d]", c.TopK, c.Experts)
	refuse(!c.Dense() && c.GateOrder != TopKThenSoftmax && c.GateOrder != SoftmaxThenTopK, "model.gate_order: unknown %q: use %s or %s", c.GateOrder, TopKThenSoftmax, SoftmaxThenTopK)
	if len(faults) == 0 {
		if err := c.Fits(InEngines, "the weights and a copy in each engine"); err != nil {
			faults = append(faults, err)
		}
	}
	return errors.Join(faults...)
}

// Params is the number of parameters of a valid configuration.
func (c Config) Params() int { return int(c.params()) }

// params counts in 64 bits; the limits of Validate keep the products in range.
func (c Config) params() int64 {
	d := int64(c.DModel)
	n := 2*int64(c.Vocab)*d + d // embedding, head, final norm
	if c.Positions == Learned {
		n += int64(c.Context) * d
	}
	layer := 2*d + d*d + 3*int64(c.FFNs())*int64(c.DFF)*d // norms, output projection, experts
	if !c.Dense() {
		layer += int64(c.Experts) * d
	}
	for l := range c.Layers {
		n += layer + int64(c.projectionWidth(l))*d
		if c.LayerType(l) == LinearAttention {
			n += int64(3*c.DModel*ConvWidth + 2*c.Heads + c.HeadDim()) // next to the projections
		}
		if c.LayerType(l) == SparseAttention {
			n += int64(c.IndexWidth()) * d
		}
	}
	return n
}
