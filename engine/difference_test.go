package engine_test

import (
	"strings"
	"testing"

	"driftlab/engine"
	"driftlab/engine/enginetest"
	"driftlab/engine/kernel"
	"driftlab/model"
	"driftlab/precision"
	"driftlab/precision/must"
)

// wide is a model whose sums are long enough that their order shows through
// the rounding to bf16.
var wide = enginetest.NewParams(model.Config{Layers: 2, DModel: 64, Heads: 4, Experts: 4, DFF: 128, Context: 64, Vocab: 32}, 1)

// probe computes what distinguishes numerics: batches of fewer rows than a
// batch-variant reduction needs to stay as declared, several of them, since a
// difference in the last bit of fp32 seldom survives the rounding to bf16.
func probe(n engine.Numerics) outcome {
	var all outcome
	for i := range uint64(6) {
		o := run(wide, n, enginetest.Sequences(i, 1, wide.Config.Vocab, 60, 60), 1, engine.Options{})
		all.logits = append(all.logits, o.logits...)
	}
	return all
}

func differ(a, b outcome) bool {
	for s := range a.logits {
		if !equalBits(a.logits[s], b.logits[s]) {
			return true
		}
	}
	return false
}

// alike names presets that mean to give the same bits: ranks that share one tree,
// and ranks whose partial sums arrive unrounded, which rounding to bf16 hides.
func alike(a, b string) bool {
	return strings.HasPrefix(a, "bf16-tbik") && strings.HasPrefix(b, "bf16-tbik") || a == "bf16" && b == "bf16-tp4-fp32-wire"
}

// No two presets compute the same bits: each declares something real.
func TestPresetsDiffer(t *testing.T) {
	presets := engine.Presets()
	var outcomes []outcome
	for _, n := range presets {
		outcomes = append(outcomes, probe(n))
	}
	for i := range presets {
		for j := range i {
			if same := !differ(outcomes[i], outcomes[j]); same != alike(presets[j].Name, presets[i].Name) {
				t.Errorf("%s and %s give the same logits: %v", presets[j].Name, presets[i].Name, same)
			}
		}
	}
}

// Each field of Numerics that acts on the forward pass changes some logit.
func TestEveryFieldMatters(t *testing.T) {
	for _, test := range []struct {
		field  string
		change func(*engine.Numerics)
	}{
		{"weights", func(n *engine.Numerics) { n.Weights = quantizer(t, "fp8_e4m3") }},
		{"inputs", func(n *engine.Numerics) { n.Inputs = quantizer(t, "fp8_e4m3") }},
		{"inputs with mx scales", func(n *engine.Numerics) { n.Inputs = quantizer(t, "fp8_e4m3/mx") }},
		{"activations", func(n *engine.Numerics) { n.Activations = precision.FP16 }},
		{"accumulator", func(n *engine.Numerics) { n.Accumulator = precision.FP16 }},
		{"scores", func(n *engine.Numerics) { n.Scores = precision.BF16 }},
		{"probabilities", func(n *engine.Numerics) { n.Probabilities = precision.E5M2 }},
		{"kv_cache", func(n *engine.Numerics) { n.KVCache = quantizer(t, "fp8_e4m3/channel") }},
		{"router", func(n *engine.Numerics) { n.Router = precision.FP16 }},
		{"head", func(n *engine.Numerics) { n.Head = precision.FP16 }},
		{"reduction", func(n *engine.Numerics) { n.Reduction = kernel.Reduction{Kind: kernel.Pairwise, Leaf: 4} }},
		{"reduction's fusing", func(n *engine.Numerics) { n.Reduction.Unfused = true }},
		{"promotion of a narrow accumulator", func(n *engine.Numerics) { n.Accumulator, n.Reduction.Promote = precision.FP16, 8 }},
		{"attention", func(n *engine.Numerics) { n.Attention, n.Tile = kernel.Online, 8 }},
		{"attention's softmax", func(n *engine.Numerics) { n.Attention = kernel.Normalized }},
		{"embedding", func(n *engine.Numerics) { n.Embedding = quantizer(t, "int8/q8_0") }},
		{"head_weights", func(n *engine.Numerics) { n.HeadWeights = quantizer(t, "int4/q4_0") }},
		{"head_inputs", func(n *engine.Numerics) {
			n.HeadWeights, n.HeadInputs = quantizer(t, "int8/1x32"), quantizer(t, "int8/q8_0-x86")
		}},
		{"plain head_inputs", func(n *engine.Numerics) { n.HeadInputs = quantizer(t, "fp16") }},
		{"queries", func(n *engine.Numerics) { n.Queries = precision.FP16 }},
	} {
		t.Run(test.field, func(t *testing.T) {
			// From fp32, where nothing hides a change of order.
			base := preset(t, "fp32")
			changed := base
			test.change(&changed)
			must.Do(t, changed.Validate())
			if !differ(probe(base), probe(changed)) {
				t.Error("changing it changes no logit")
			}
			if base.Equal(changed) {
				t.Error("Equal does not see it")
			}
		})
	}
}

// Eager rounds each norm, rotation, score and sum over experts once more; without a
// rounding to do it changes nothing but the order of the experts.
func TestEagerMatters(t *testing.T) {
	for _, test := range []struct {
		preset string
		differ bool
	}{{"bf16", true}, {"fp32", false}} {
		a := preset(t, test.preset)
		b := a
		b.Eager = true
		if differ(probe(a), probe(b)) != test.differ {
			t.Errorf("%s: eager rounding changes logits: %v", test.preset, !test.differ)
		}
	}
}

// An optional format that says what it follows anyway changes no bit.
func TestOptionalFormatsFollow(t *testing.T) {
	a := preset(t, "bf16")
	b := a
	b.Embedding, b.HeadWeights, b.HeadInputs, b.Queries = quantizer(t, "bf16"), quantizer(t, "bf16"), quantizer(t, "bf16"), precision.BF16
	if !a.Equal(b) || differ(probe(a), probe(b)) {
		t.Error("formats given as those they follow make a difference")
	}
}

// Tiles of different sizes rescale at different keys.
func TestTileMatters(t *testing.T) {
	a, b := preset(t, "fp32-online"), preset(t, "fp32-online")
	a.Tile, b.Tile = 8, 3
	if !differ(probe(a), probe(b)) {
		t.Error("tiles of 8 and 3 keys give the same logits")
	}
}

// A batch-variant engine gives a sequence other bits alone than in a batch,
// and stops doing so when it is told the same number of rows.
func TestBatchVariantDependsOnTheBatch(t *testing.T) {
	p := wide
	sequences := enginetest.Sequences(3, 64, p.Config.Vocab, 5, 11)
	for _, name := range []string{"fp32-batch-variant", "bf16-batch-variant"} {
		t.Run(name, func(t *testing.T) {
			n := preset(t, name)
			if n.BatchInvariant() {
				t.Error("says that it is batch-invariant")
			}
			together := run(p, n, sequences, 1, engine.Options{})
			if !differ(together, oneByOne(p, n, sequences)) {
				t.Error("a batch of 1 gives the bits of a batch of 64")
			}
			var told outcome
			for i := range sequences {
				o := run(p, n, sequences[i:i+1], 1, engine.Options{BatchRows: 500})
				told.logits, told.routes = append(told.logits, o.logits[0]), append(told.routes, o.routes[0])
			}
			same(t, "one at a time, told of 500 rows", together, told)
			n.Reduction.BatchVariant = false
			same(t, "the same order, batch-invariant", together, oneByOne(p, n, sequences))
			// The workers share a batch: they do not change its size.
			n.Reduction.BatchVariant = true
			same(t, "3 workers", run(p, n, sequences[:7], 1, engine.Options{}), run(p, n, sequences[:7], 3, engine.Options{}))
		})
	}
}

// Tensor parallelism cuts the sums of the row-parallel projections only, so
// with one rank's worth of order in both it is the other projections that stay.
func TestTensorParallelLeavesNormsAlone(t *testing.T) {
	base := preset(t, "fp32")
	tp := preset(t, "fp32-tp4")
	p := enginetest.Named("dense").Params
	// With output and down projection zero, nothing row-parallel remains.
	p = p.Clone()
	for l := range p.Config.Layers {
		clear(p.Layer(l).O)
		clear(p.Layer(l).W2[0])
	}
	sequences := enginetest.Sequences(4, 5, p.Config.Vocab, 3, 9)
	same(t, "tensor_parallel without row-parallel weights",
		run(p, base, sequences, 1, engine.Options{}), run(p, tp, sequences, 1, engine.Options{}))
}
