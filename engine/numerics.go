package engine

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"driftlab/engine/kernel"
	"driftlab/precision"
)

// Numerics says how one engine computes: every choice that can change a bit.
// Two engines with equal Numerics that decode as they score agree bit for bit.
// There is no empty one: start from a preset. What each field means stands in
// trainer/recipe/fields.txt, under rollout.numerics.
type Numerics struct {
	Name            string                 `yaml:"name,omitempty" json:"name,omitempty"`
	Weights         precision.Quantizer    `yaml:"weights" json:"weights"`
	Inputs          precision.Quantizer    `yaml:"inputs" json:"inputs"`
	Activations     precision.Format       `yaml:"activations" json:"activations"`
	Accumulator     precision.Format       `yaml:"accumulator" json:"accumulator"`
	Scores          precision.Format       `yaml:"scores" json:"scores"`
	Probabilities   precision.Format       `yaml:"probabilities" json:"probabilities"`
	KVCache         precision.Quantizer    `yaml:"kv_cache" json:"kv_cache"`
	Router          precision.Format       `yaml:"router" json:"router"`
	Head            precision.Format       `yaml:"head" json:"head"`
	Embedding       precision.Quantizer    `yaml:"embedding,omitempty" json:"embedding,omitzero"`
	HeadWeights     precision.Quantizer    `yaml:"head_weights,omitempty" json:"head_weights,omitzero"`
	HeadInputs      precision.Quantizer    `yaml:"head_inputs,omitempty" json:"head_inputs,omitzero"`
	Queries         precision.Format       `yaml:"queries,omitempty" json:"queries,omitzero"`
	Eager           bool                   `yaml:"eager,omitempty" json:"eager,omitzero"`
	Gradients       precision.Format       `yaml:"gradients" json:"gradients"`
	Reduction       kernel.Reduction       `yaml:"reduction" json:"reduction"`
	ExpertParallel  ExpertParallel         `yaml:"expert_parallel" json:"expert_parallel"`
	Adapters        Adapters               `yaml:"adapters" json:"adapters,omitzero"`
	Attention       kernel.AttentionKernel `yaml:"attention" json:"attention"`
	Tile            int                    `yaml:"tile,omitempty" json:"tile,omitempty"`
	Splits          int                    `yaml:"splits,omitempty" json:"splits,omitempty"`
	LinearAttention kernel.LinearAttention `yaml:"linear_attention,omitempty" json:"linear_attention,omitzero"`
	Index           precision.Quantizer    `yaml:"index,omitempty" json:"index,omitzero"`
}

// BatchInvariant reports whether a row's result is independent of the rows next to it.
func (n Numerics) BatchInvariant() bool { return !n.Reduction.BatchVariant }

// DecodesAsScored reports whether a token that is decoded by itself, in any
// company, gets the bits that it gets when its whole sequence is scored: what
// makes two engines with equal numerics agree.
func (n Numerics) DecodesAsScored() bool { return n.BatchInvariant() && n.Attention.PrefillIsDecode() }

// Equal reports whether the forward pass of both computes the same bits; names do not
// count, nor does the tile of a kernel without tiles, nor the format of gradients.
func (n Numerics) Equal(m Numerics) bool { return n.essential() == m.essential() }

// essential returns n without the fields that decide nothing.
func (n Numerics) essential() Numerics {
	n.Name, n.Gradients = "", precision.Format{}
	if n.Accumulator.Identity() {
		n.Reduction.Promote = 0
	}
	if !n.Attention.Tiled() {
		n.Tile = 0
	}
	if n.Adapters.Unmerged {
		n.Adapters.Format = n.adapterFormat()
	}
	if n.Attention != kernel.SplitKV {
		n.Splits = 0
	}
	n.ExpertParallel = n.ExpertParallel.essential()
	n.Embedding, n.HeadWeights, n.HeadInputs, n.Queries = n.embedding(), n.headWeights(), n.headInputs(), n.queries()
	n.Index = n.index()
	return n
}

// embedding, headWeights, headInputs, index and queries are the optional formats as they act.
func (n *Numerics) embedding() precision.Quantizer {
	return cmp.Or(n.Embedding, precision.Unscaled(n.Activations))
}

func (n *Numerics) headWeights() precision.Quantizer {
	return cmp.Or(n.HeadWeights, precision.Unscaled(n.Head))
}

func (n *Numerics) headInputs() precision.Quantizer {
	if n.HeadInputs == (precision.Quantizer{}) && n.Head.MantissaBits < n.Activations.MantissaBits {
		return precision.Unscaled(n.Head)
	}
	return cmp.Or(n.HeadInputs, precision.Unscaled(n.Activations))
}

func (n *Numerics) index() precision.Quantizer {
	return cmp.Or(n.Index, precision.Unscaled(n.Activations))
}

func (n *Numerics) queries() precision.Format { return cmp.Or(n.Queries, n.Activations) }

// Validate returns every fault of n, joined; each begins with the field as
// recipes write it.
func (n Numerics) Validate() error {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	for _, f := range []struct {
		field  string
		format precision.Format
	}{
		{"activations", n.Activations}, {"accumulator", n.Accumulator}, {"scores", n.Scores},
		{"probabilities", n.Probabilities}, {"router", n.Router}, {"head", n.Head}, {"queries", n.Queries}, {"gradients", n.Gradients},
		{"adapters", n.Adapters.Format},
	} {
		if (f.field == "queries" || f.field == "adapters") && f.format == (precision.Format{}) {
			continue
		}
		if err := f.format.Validate(); err != nil {
			fault("%s: %w", f.field, err)
		} else if f.format.Integer() {
			fault("%s: %s has no scale here; use a floating-point format", f.field, f.format)
		}
	}
	for _, q := range []struct {
		field     string
		quantizer precision.Quantizer
		shared    string // what a scale must not be taken from; empty where it may
	}{
		{"weights", n.Weights, ""}, {"inputs", n.Inputs, "batch"}, {"kv_cache", n.KVCache, "cache"},
		{"embedding", n.Embedding, ""}, {"head_weights", n.HeadWeights, ""}, {"head_inputs", n.HeadInputs, "batch"}, {"index", n.Index, "cache"},
	} {
		if q.quantizer == (precision.Quantizer{}) && (q.field == "embedding" || q.field == "index" || strings.HasPrefix(q.field, "head_")) {
			continue
		}
		if err := q.quantizer.Validate(); err != nil {
			fault("%s: %w", q.field, err)
			continue
		}
		if q.quantizer.Format.Integer() && !q.quantizer.Scaled() {
			fault("%s: %s needs a scale, such as %s/channel", q.field, q.quantizer, q.quantizer)
		}
		if q.shared != "" && !q.quantizer.RowLocal() {
			fault("%s: %s shares scales across the whole %s; use a row-wise form such as fp8_e4m3/channel", q.field, q.quantizer, q.shared)
		}
	}
	if err := scalesMeet("inputs", n.Weights, n.Inputs); err != nil {
		faults = append(faults, err)
	}
	if n.HeadInputs != (precision.Quantizer{}) {
		if err := scalesMeet("head_inputs", n.headWeights(), n.HeadInputs); err != nil {
			faults = append(faults, err)
		}
	}
	if err := n.Reduction.Validate(); err != nil {
		fault("reduction: %w", err)
	} else if n.Reduction.Wire != (precision.Format{}) {
		if err := n.Reduction.Wire.Validate(); err != nil {
			fault("reduction: wire %w", err)
		} else if n.Reduction.Wire.Integer() {
			fault("reduction: wire %s has no scale: use a floating-point format, such as bf16", n.Reduction.Wire)
		}
	}
	if err := n.ExpertParallel.Validate(); err != nil {
		fault("expert_parallel: %w", err)
	}
	if _, err := n.Attention.MarshalText(); err != nil {
		fault("attention: %w", err)
	}
	if n.Attention.Tiled() && n.Tile < 1 {
		fault("tile: the %s attention kernel needs at least 1 key per tile, got %d", n.Attention, n.Tile)
	}
	if n.Attention == kernel.SplitKV && n.Splits < 2 {
		fault("splits: the split_kv attention kernel needs at least 2 parts of the keys, got %d", n.Splits)
	}
	if err := n.LinearAttention.Validate(); err != nil {
		fault("linear_attention: %w", err)
	}
	return errors.Join(faults...)
}

// scalesMeet checks that the scales of inputs and weights can be applied
// outside the same partial sums. Scales along the sum must cut it at the same
// places on both sides; only mx scales, powers of two, are exact inside it.
func scalesMeet(field string, w, x precision.Quantizer) error {
	run := x.RunLength()
	switch {
	case run > 0 && w.RunLength() != run:
		return fmt.Errorf("%s: %s needs weights scaled in blocks of as many columns, such as fp8_e4m3/%dx%d, not %s",
			field, x, run, run, w)
	case w.RunLength() > 0 && (x.Granularity == precision.PerChannel || x.Granularity == precision.Asymmetric):
		return fmt.Errorf("%s: %s has one scale per row, the weights' %s one per %d columns; use %s/1x%d",
			field, x, w, w.RunLength(), x.Format, w.RunLength())
	}
	return nil
}

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
	{"accumulator", func(d, f *Numerics) { d.Accumulator, d.Reduction.Promote = f.Accumulator, f.Reduction.Promote }, accumulatorText},
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
	{WireField, func(d, f *Numerics) { d.Reduction.Wire = Wire(f.Reduction) }, func(n *Numerics) string { return Wire(n.Reduction).String() }},
	{ExpertParallelField, func(d, f *Numerics) { d.ExpertParallel = f.ExpertParallel }, func(n *Numerics) string { return n.ExpertParallel.essential().String() }},
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

func accumulatorText(n *Numerics) string {
	if n.Reduction.Promote == 0 || n.Accumulator.Identity() {
		return n.Accumulator.String()
	}
	return fmt.Sprintf("%s, promoted every %d", n.Accumulator, n.Reduction.Promote)
}

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
	unfused := ""
	if r.Unfused {
		unfused = "+unfused"
	}
	return fmt.Sprintf("tensor_parallel:%d:%s%s", r.Parts, r.Topology, unfused)
}

func indexText(n *Numerics) string {
	if n.Index == precision.Unscaled(n.Activations) {
		return orOf(precision.Quantizer{}, "activations")
	}
	return orOf(n.Index, "activations")
}

func attentionText(n *Numerics) string {
	switch text := n.Attention; text {
	case kernel.Online:
		return fmt.Sprintf("%s, tile %d", text, n.Tile)
	case kernel.ContextParallel:
		return fmt.Sprintf("%s, %d keys a rank", text, n.Tile)
	case kernel.SplitKV:
		return fmt.Sprintf("%s, tile %d, %d parts", text, n.Tile, n.Splits)
	}
	return n.Attention.String()
}
