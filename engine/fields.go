package engine

import (
	"fmt"
	"strconv"

	"driftlab/engine/kernel"
	"driftlab/precision"
)

// Field is a field of Numerics, or a part of one that can be changed alone.
type Field struct {
	// Name is the field's, as recipes write it; WireField is a part of reduction.
	Name string
	// Copy takes over its value, and Text is the value in words.
	Copy func(dst, from *Numerics)
	Text func(n *Numerics) string
}

// Names of fields that are spoken of elsewhere.
const (
	WireField            = "wire"
	ExpertParallelField  = "expert_parallel"
	LinearAttentionField = "linear_attention"
	IndexField           = "index"
)

// Fields are those that can act on a log-prob, in the order of their
// declaration. Gradients act on none.
func Fields() []Field { return fields }

var fields = []Field{
	{"weights", func(d, f *Numerics) { d.Weights = f.Weights }, func(n *Numerics) string { return n.Weights.String() }},
	{"inputs", func(d, f *Numerics) { d.Inputs = f.Inputs }, func(n *Numerics) string { return n.Inputs.String() }},
	{"activations", func(d, f *Numerics) { d.Activations = f.Activations }, func(n *Numerics) string { return n.Activations.String() }},
	{"accumulator", copyAccumulator, accumulatorText},
	{"scores", func(d, f *Numerics) { d.Scores = f.Scores }, func(n *Numerics) string { return n.Scores.String() }},
	{"probabilities", func(d, f *Numerics) { d.Probabilities = f.Probabilities }, func(n *Numerics) string { return n.Probabilities.String() }},
	{"kv_cache", func(d, f *Numerics) { d.KVCache = f.KVCache }, func(n *Numerics) string { return n.KVCache.String() }},
	{"router", func(d, f *Numerics) { d.Router = f.Router }, func(n *Numerics) string { return n.Router.String() }},
	{"head", func(d, f *Numerics) { d.Head = f.Head }, func(n *Numerics) string { return n.Head.String() }},
	{"embedding", func(d, f *Numerics) { d.Embedding = f.Embedding }, func(n *Numerics) string { return orOf(n.Embedding, "activations") }},
	{"head_weights", func(d, f *Numerics) { d.HeadWeights = f.HeadWeights }, func(n *Numerics) string { return orOf(n.HeadWeights, "head") }},
	{"head_inputs", func(d, f *Numerics) { d.HeadInputs = f.HeadInputs }, func(n *Numerics) string { return orOf(n.HeadInputs, "head") }},
	{"queries", func(d, f *Numerics) { d.Queries = f.Queries }, func(n *Numerics) string { return orOf(n.Queries, "activations") }},
	{"eager", func(d, f *Numerics) { d.Eager = f.Eager }, func(n *Numerics) string { return strconv.FormatBool(n.Eager) }},
	{"reduction", copyOrder, func(n *Numerics) string { return orderText(n.Reduction) }},
	{WireField, copyWire, func(n *Numerics) string { return Wire(n.Reduction).String() }},
	{ExpertParallelField, func(d, f *Numerics) { d.ExpertParallel = f.ExpertParallel }, expertParallelText},
	{AdaptersField, func(d, f *Numerics) { d.Adapters = f.Adapters }, func(n *Numerics) string { return n.Adapters.String() }},
	{"attention", func(d, f *Numerics) { d.Attention, d.Tile, d.Splits = f.Attention, f.Tile, f.Splits }, attentionText},
	{LinearAttentionField, func(d, f *Numerics) { d.LinearAttention = f.LinearAttention }, func(n *Numerics) string { return n.LinearAttention.String() }},
	{IndexField, func(d, f *Numerics) { d.Index = f.Index }, indexText},
}

// orOf is an optional format, or the field that it follows without a value of its own.
func orOf[T interface {
	comparable
	String() string
}](f T, follows string) string {
	if f == *new(T) {
		return "as " + follows
	}
	return f.String()
}

// copyOrder takes the order of the sums and leaves the wire format, promotion,
// which belongs to the accumulator, and the dependence on the batch.
func copyOrder(dst, from *Numerics) {
	own := dst.Reduction
	dst.Reduction = from.Reduction
	dst.Reduction.Wire, dst.Reduction.Promote, dst.Reduction.BatchVariant = own.Wire, own.Promote, own.BatchVariant
}

// copyAccumulator takes the format and how often its sums are promoted.
func copyAccumulator(dst, from *Numerics) {
	dst.Accumulator, dst.Reduction.Promote = from.Accumulator, from.Reduction.Promote
}

func accumulatorText(n *Numerics) string {
	if n.Reduction.Promote == 0 || n.Accumulator.Identity() {
		return n.Accumulator.String()
	}
	return fmt.Sprintf("%s, promoted every %d", n.Accumulator, n.Reduction.Promote)
}

func copyWire(dst, from *Numerics) { dst.Reduction.Wire = Wire(from.Reduction) }

// Wire is the format in which partial sums travel: fp32, which changes none,
// where nothing travels.
func Wire(r kernel.Reduction) precision.Format {
	if r.Kind != kernel.TensorParallel || r.Wire == (precision.Format{}) {
		return precision.FP32
	}
	return r.Wire
}

// orderText is the order alone; of tensor parallelism, ranks and topology.
func orderText(r kernel.Reduction) string {
	r.BatchVariant, r.Promote = false, 0
	if r.Kind != kernel.TensorParallel {
		return r.String()
	}
	topology, unfused := "ring", ""
	if r.Topology == kernel.TreeAllReduce {
		topology = "tree"
	}
	if r.Unfused {
		unfused = "+unfused"
	}
	return fmt.Sprintf("tensor_parallel:%d:%s%s", r.Parts, topology, unfused)
}

// expertParallelText is the order of the experts' sum; on one device nothing travels.
func expertParallelText(n *Numerics) string {
	if n.ExpertParallel.Order >= ByRing && n.ExpertParallel.Degree == 1 {
		return ExpertParallel{}.String()
	}
	return n.ExpertParallel.String()
}

// indexText is the format of an index that has one of its own.
func indexText(n *Numerics) string {
	if n.Index == precision.Unscaled(n.Activations) {
		return orOf(precision.Quantizer{}, "activations")
	}
	return orOf(n.Index, "activations")
}

func attentionText(n *Numerics) string {
	text, err := n.Attention.MarshalText()
	if err != nil {
		return err.Error()
	}
	switch n.Attention {
	case kernel.Online:
		return fmt.Sprintf("%s, tile %d", text, n.Tile)
	case kernel.ContextParallel:
		return fmt.Sprintf("%s, %d keys a rank", text, n.Tile)
	case kernel.SplitKV:
		return fmt.Sprintf("%s, tile %d, %d parts", text, n.Tile, n.Splits)
	}
	return string(text)
}
