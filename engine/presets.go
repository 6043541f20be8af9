package engine

import (
	"slices"
	"sync"

	"driftlab/engine/kernel"
	"driftlab/precision"
)

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

// must is a parsed text of this file: a constant, which has to be valid.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// quantizer parses a quantiser's text form.
func quantizer(text string) precision.Quantizer { return must(precision.ParseQuantizer(text)) }

func reduction(text string) kernel.Reduction { return must(kernel.ParseReduction(text)) }

// flashDecoding is what serving stacks run: flash attention reads the prompt, and
// each decoding step splits the keys. Tiles and parts are small, as the responses are.
func flashDecoding(n *Numerics) { n.Attention, n.Tile, n.Splits = kernel.SplitKV, 4, 4 }

// fp22 is the accumulator of Hopper's fp8 tensor cores: 1 sign, 8 exponent and 13
// mantissa bits, "around 14 bits" with the leading one (DeepSeek-V3, arXiv
// 2412.19437, section 3.3.2). The hardware truncates there, aligned to the
// largest of some products; here each step is rounded to nearest.
var fp22 = must(precision.ParseFormat("e8m13"))

func experts(text string) ExpertParallel { return must(ParseExpertParallel(text)) }

// llama is llama.cpp on the CPU with weights of one type in its file, f32 keys and
// values and no flash attention (release v0.5.0 as npm's @node-llama-cpp/linux-x64
// 3.22.1 ships it). Weights are products' first operand, and the second is converted
// to the type that ggml_get_type_traits_cpu's vec_dot_type names (ggml_compute_forward_mul_mat
// and _mul_mat_id, ggml-cpu.c). Rows of token_embd are dequantised
// (ggml_compute_forward_get_rows, ops.cpp); norms and the router's weights are f32 in
// the file, and everything between products is f32: ggml_compute_forward_rms_norm,
// _rope, _soft_max, _swiglu (ops.cpp), the gates' softmax over all experts, divided by
// the sum of the chosen ones (build_moe_ffn, llama-graph.cpp).
func llama(name string, weights, inputs precision.Quantizer) Numerics {
	n := uniform(name, precision.FP32)
	n.Weights, n.Embedding, n.HeadWeights = weights, weights, weights
	n.Inputs, n.HeadInputs = inputs, inputs
	n.Attention = kernel.Normalized
	return n
}

// Presets returns the named numerics in the order they are listed: from the
// finest to the coarsest. Names are those of checkpoints and serving stacks. In
// a name, tpN is a ring all-reduce among N ranks in the format itself, tbik-tpN
// the tree that does not depend on N, epN experts on N devices, cpN attention over ranks
// that hold N keys each, batch-variant an order that depends on the
// rows of a batch, flash-decoding an attention whose decode splits the keys.
func Presets() []Numerics { return slices.Clone(presets()) }

// presets makes them once: recipes ask for one by one.
var presets = sync.OnceValue(func() []Numerics {
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
		order(fp32, "fp32-tp8", "tensor_parallel:8:ring:fp32"),
		order(fp32, "fp32-batch-variant", "canonical+batch_variant"),
		fp32.with("fp32-online", func(n *Numerics) { n.Attention, n.Tile = kernel.Online, 16 }),
		fp32.with("fp32-flash-decoding", flashDecoding),
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
		order(bf16, "bf16-tp8", "tensor_parallel:8:ring:bf16"),
		order(bf16, "bf16-tp4-tree", "tensor_parallel:4:tree:bf16"),
		order(bf16, "bf16-tp8-tree", "tensor_parallel:8:tree:bf16"),
		order(bf16, "bf16-tp4-fp32-wire", "tensor_parallel:4:ring:fp32"),
		// TBIK (2511.17826): the same bits for every number of ranks.
		order(bf16, "bf16-tbik-tp1", "tree:4"),
		order(bf16, "bf16-tbik-tp2", "tree:4:2"),
		order(bf16, "bf16-tbik-tp4", "tree:4:4"),
		order(bf16, "bf16-tbik-tp8", "tree:4:8"),
		bf16.with("bf16-ep2", func(n *Numerics) { n.ExpertParallel = experts("2:ring:bf16") }),
		bf16.with("bf16-ep4", func(n *Numerics) { n.ExpertParallel = experts("4:ring:bf16") }),
		order(bf16, "bf16-batch-variant", "canonical+batch_variant"),
		bf16.with("bf16-fp32-head", func(n *Numerics) { n.Head = precision.FP32 }),
		bf16.with("bf16-fp32-router", func(n *Numerics) { n.Router = precision.FP32 }),
		bf16.with("bf16-online", func(n *Numerics) { n.Attention, n.Tile = kernel.Online, 16 }),
		bf16.with("bf16-flash-decoding", flashDecoding),
		bf16.with("bf16-cp8", func(n *Numerics) { n.Attention, n.Tile = kernel.ContextParallel, 8 }),
		bf16.with("bf16-accumulate", func(n *Numerics) { n.Accumulator = precision.BF16 }),
		bf16.with("int8-w8a8", func(n *Numerics) {
			n.Weights, n.Inputs = quantizer("int8/channel"), quantizer("int8/channel")
		}),
		w8a8,
		w8a8.with("fp8-block", func(n *Numerics) {
			n.Weights, n.Inputs = quantizer("fp8_e4m3/128x128"), quantizer("fp8_e4m3/1x128")
		}),
		w8a8.with("fp8-tensor", func(n *Numerics) { n.Weights = quantizer("fp8_e4m3/tensor") }),
		w8a8.with("fp8-block16", func(n *Numerics) {
			// Blocks of 128 hold whole rows of a model this small; these do not.
			n.Weights, n.Inputs = quantizer("fp8_e4m3/16x16"), quantizer("fp8_e4m3/1x16")
		}),
		w8a8.with("fp8-acc14", func(n *Numerics) { n.Accumulator = fp22 }),
		w8a8.with("fp8-acc14-promoted", func(n *Numerics) {
			// Every 128 of some thousands in DeepSeek-V3; here a sum has 32 or 64.
			n.Accumulator, n.Reduction = fp22, reduction("canonical+promote:16")
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
		llama("llama-f16", quantizer("fp16"), quantizer("fp16")),
		llama("llama-bf16", quantizer("bf16"), quantizer("bf16")),
		llama("llama-q8_0", quantizer("int8/q8_0"), quantizer("int8/q8_0-x86")),
		llama("llama-q4_0", quantizer("int4/q4_0"), quantizer("int8/q8_0-x86")),
		// onnxruntime on a decoder that quantize_dynamic converted, one token a call: weights
		// of products and the embedding in int8 with a scale for each matrix (onnx_quantizer.py,
		// operators/gather.py), inputs by DynamicQuantizeLinear, sums in int32 (MatMulInteger,
		// operators/matmul.py), which float32 holds exactly up to rows of 518 elements. All
		// else is f32, the router too (nodes_to_exclude); experts are added by id.
		fp32.with("onnx-int8", func(n *Numerics) {
			n.Weights, n.Embedding, n.HeadWeights = quantizer("int8/tensor"), quantizer("int8/tensor"), quantizer("int8/tensor")
			n.Inputs, n.HeadInputs = quantizer("int8/asymmetric"), quantizer("int8/asymmetric")
			n.Attention, n.ExpertParallel = kernel.Normalized, experts("expert")
		}),
		// Hugging Face's MixtralForCausalLM in bf16 with eager attention and experts
		// (modeling_mixtral.py) on the CPU kernels of PyTorch 1.13.1: products are
		// accumulated in fp32 and rounded once; norms, softmax and gates are computed
		// in fp32 and stored in bf16; experts are added by id.
		bf16.with("torch-bf16", func(n *Numerics) {
			n.Scores, n.Attention, n.Eager = precision.BF16, kernel.Normalized, true
			n.ExpertParallel = experts("expert")
		}),
	}
})

// Preset returns the numerics of that name.
func Preset(name string) (Numerics, bool) {
	for _, n := range presets() {
		if n.Name == name {
			return n, true
		}
	}
	return Numerics{}, false
}

// PresetNames lists the names Preset knows.
func PresetNames() []string {
	var names []string
	for _, n := range presets() {
		names = append(names, n.Name)
	}
	return names
}
