package engine

import (
	"errors"
	"fmt"

	"driftlab/engine/kernel"
	"driftlab/precision"
)

// Numerics says how one engine computes: every choice that can change a bit.
// Two engines with equal Numerics, both batch-invariant, agree bit for bit.
// The zero value is not valid; start from a preset (Preset) or from FP32.
type Numerics struct {
	// Name is the preset this value started from; it decides nothing.
	Name string `yaml:"name,omitempty" json:"name,omitempty"`
	// Weights is the format of the attention and expert projections, with scales where it needs them.
	Weights precision.Quantizer `yaml:"weights" json:"weights"`
	// Inputs quantises what enters those projections, row by row; a plain format rounds.
	Inputs precision.Quantizer `yaml:"inputs" json:"inputs"`
	// Activations is the format of everything stored between operations:
	// embeddings, norms, the residual stream, queries, expert outputs.
	Activations precision.Format `yaml:"activations" json:"activations"`
	// Accumulator is the format of the running sums of matrix products; fp32 on
	// most hardware, narrower in fp8 tensor cores.
	Accumulator precision.Format `yaml:"accumulator" json:"accumulator"`
	// Scores is the format of attention scores before the softmax.
	Scores precision.Format `yaml:"scores" json:"scores"`
	// Probabilities is the format of attention weights as they enter the mix with the values.
	Probabilities precision.Format `yaml:"probabilities" json:"probabilities"`
	// KVCache is the format keys and values are stored in, quantised per token and head.
	KVCache precision.Quantizer `yaml:"kv_cache" json:"kv_cache"`
	// Router is the format of the router's weights and logits.
	Router precision.Format `yaml:"router" json:"router"`
	// Head is the format of the output head's weights and logits.
	Head precision.Format `yaml:"head" json:"head"`
	// Gradients is the format gradients are rounded to between operations of the backward pass.
	Gradients precision.Format `yaml:"gradients" json:"gradients"`
	// Reduction is the order of the sums in matrix products and norms. The
	// tensor-parallel kinds act on the row-parallel projections only: attention
	// output and expert down projection.
	Reduction kernel.Reduction `yaml:"reduction" json:"reduction"`
	// Attention is the attention kernel: two_pass, or online over tiles.
	Attention kernel.AttentionKernel `yaml:"attention" json:"attention"`
	// Tile is the number of keys per tile of the online kernel.
	Tile int `yaml:"tile,omitempty" json:"tile,omitempty"`
}

// uniform is numerics with one format everywhere and fp32 accumulation, the
// way hardware multiplies matrices of that format.
func uniform(name string, f precision.Format) Numerics {
	plain := precision.Quantizer{Format: f}
	return Numerics{
		Name: name, Weights: plain, Inputs: plain, Activations: f,
		Accumulator: precision.FP32, Scores: precision.FP32, Probabilities: f,
		KVCache: plain, Router: f, Head: f, Gradients: f,
		Attention: kernel.TwoPass,
	}
}

// with returns a renamed copy of n after change has edited it.
func (n Numerics) with(name string, change func(*Numerics)) Numerics {
	n.Name = name
	change(&n)
	return n
}

// quantizer parses a quantiser's text form; the texts are constants of this file.
func quantizer(text string) precision.Quantizer {
	q, err := precision.ParseQuantizer(text)
	if err != nil {
		panic(err)
	}
	return q
}

// reduction parses a reduction's text form; the texts are constants of this file.
func reduction(text string) kernel.Reduction {
	r, err := kernel.ParseReduction(text)
	if err != nil {
		panic(err)
	}
	return r
}

// Presets returns the named numerics in the order they are listed: from the
// finest to the coarsest. Names are those of checkpoints and serving stacks.
func Presets() []Numerics {
	fp32 := uniform("fp32", precision.FP32)
	bf16 := uniform("bf16", precision.BF16)
	fp16 := uniform("fp16", precision.FP16)
	order := func(base Numerics, name, r string) Numerics {
		return base.with(name, func(n *Numerics) { n.Reduction = reduction(r) })
	}
	w8a8 := bf16.with("fp8-w8a8", func(n *Numerics) {
		n.Weights, n.Inputs = quantizer("fp8_e4m3/channel"), quantizer("fp8_e4m3/channel")
	})
	fp4 := bf16.with("fp4-w4a16", func(n *Numerics) { n.Weights = quantizer("fp4_e2m1/nv") })
	return []Numerics{
		fp32,
		order(fp32, "fp32-unfused", "unfused"),
		order(fp32, "fp32-pairwise", "pairwise:8"),
		order(fp32, "fp32-splitk4", "split_k:4"),
		order(fp32, "fp32-tp2", "tensor_parallel:2:ring:fp32"),
		order(fp32, "fp32-tp4", "tensor_parallel:4:ring:fp32"),
		order(fp32, "fp32-batch-variant", "canonical+batch_variant"),
		fp32.with("fp32-online", func(n *Numerics) { n.Attention, n.Tile = kernel.Online, 16 }),
		uniform("tf32", precision.TF32).with("tf32", func(n *Numerics) {
			// Tensor cores read fp32 storage and drop mantissa bits on the way in.
			n.Activations, n.KVCache = precision.FP32, precision.Quantizer{Format: precision.FP32}
			n.Gradients, n.Probabilities = precision.FP32, precision.FP32
			n.Router, n.Head = precision.FP32, precision.FP32
		}),
		fp16,
		order(fp16, "fp16-tp2", "tensor_parallel:2:ring:fp16"),
		order(fp16, "fp16-tp4", "tensor_parallel:4:ring:fp16"),
		bf16,
		order(bf16, "bf16-splitk4", "split_k:4"),
		order(bf16, "bf16-tp2", "tensor_parallel:2:ring:bf16"),
		order(bf16, "bf16-tp4", "tensor_parallel:4:ring:bf16"),
		order(bf16, "bf16-batch-variant", "canonical+batch_variant"),
		bf16.with("bf16-fp32-head", func(n *Numerics) { n.Head = precision.FP32 }),
		bf16.with("bf16-fp32-router", func(n *Numerics) { n.Router = precision.FP32 }),
		bf16.with("bf16-online", func(n *Numerics) { n.Attention, n.Tile = kernel.Online, 16 }),
		bf16.with("bf16-accumulate", func(n *Numerics) { n.Accumulator = precision.BF16 }),
		bf16.with("int8-w8a8", func(n *Numerics) {
			n.Weights, n.Inputs = quantizer("int8/channel"), quantizer("int8/channel")
		}),
		w8a8,
		w8a8.with("fp8-block", func(n *Numerics) {
			n.Weights, n.Inputs = quantizer("fp8_e4m3/128x128"), quantizer("fp8_e4m3/1x128")
		}),
		w8a8.with("fp8-kv8", func(n *Numerics) { n.KVCache = quantizer("fp8_e4m3/channel") }),
		w8a8.with("fp8-all", func(n *Numerics) {
			n.Weights = quantizer("fp8_e4m3/tensor")
			n.KVCache, n.Head = quantizer("fp8_e4m3"), precision.E4M3
		}),
		fp4,
		fp4.with("fp4-mx", func(n *Numerics) { n.Weights = quantizer("fp4_e2m1/mx") }),
		fp4.with("fp4-all", func(n *Numerics) {
			n.Inputs = quantizer("fp8_e4m3/channel")
			n.KVCache, n.Head = quantizer("fp8_e4m3"), precision.E4M3
		}),
	}
}

// Preset returns the numerics of that name.
func Preset(name string) (Numerics, bool) {
	for _, n := range Presets() {
		if n.Name == name {
			return n, true
		}
	}
	return Numerics{}, false
}

// PresetNames lists the names Preset knows.
func PresetNames() []string {
	var names []string
	for _, n := range Presets() {
		names = append(names, n.Name)
	}
	return names
}

// BatchInvariant reports whether a row's result is independent of the rows beside it.
func (n Numerics) BatchInvariant() bool { return !n.Reduction.BatchVariant }

// Equal reports whether both compute the same bits; names do not count.
func (n Numerics) Equal(m Numerics) bool {
	n.Name, m.Name = "", ""
	return n == m
}

// Validate returns every fault of n, joined.
func (n Numerics) Validate() error {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if n.Inputs.Granularity == precision.PerTensor || n.Inputs.Granularity == precision.NV {
		fault("inputs: %s takes its scale from the whole batch; use a row-wise form such as fp8_e4m3/channel", n.Inputs)
	}
	if n.KVCache.Granularity == precision.PerTensor || n.KVCache.Granularity == precision.NV {
		fault("kv_cache: %s takes its scale from the whole cache; use a row-wise form such as fp8_e4m3/channel", n.KVCache)
	}
	if n.Attention == kernel.Online && n.Tile < 1 {
		fault("tile: the online attention kernel needs at least 1 key per tile, got %d", n.Tile)
	}
	return errors.Join(faults...)
}
