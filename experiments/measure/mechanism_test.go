package measure

import (
	"context"
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"driftlab/engine"
	"driftlab/engine/kernel"
	"driftlab/precision"
	"driftlab/precision/must"
	"driftlab/trainer"
	"driftlab/trainer/trainertest"
)

// TestAttributeOneField gives all of the gap to the only difference, to the
// last bit, and nothing to interaction.
func TestAttributeOneField(t *testing.T) {
	bf16, fp32 := named(t, "bf16"), named(t, "fp32")
	for _, c := range []struct {
		name   string
		base   engine.Numerics
		change func(*engine.Numerics)
	}{
		{"weights", fp32, func(n *engine.Numerics) { n.Weights = precision.Unscaled(precision.BF16) }},
		{"inputs", fp32, func(n *engine.Numerics) { n.Inputs = precision.Unscaled(precision.BF16) }},
		{"activations", fp32, func(n *engine.Numerics) { n.Activations = precision.BF16 }},
		{"accumulator", fp32, func(n *engine.Numerics) { n.Accumulator = precision.BF16 }},
		{"scores", bf16, func(n *engine.Numerics) { n.Scores = precision.BF16 }},
		{"probabilities", fp32, func(n *engine.Numerics) { n.Probabilities = precision.BF16 }},
		{"kv_cache", bf16, func(n *engine.Numerics) { n.KVCache = precision.Unscaled(precision.E4M3) }},
		{"router", fp32, func(n *engine.Numerics) { n.Router = precision.BF16 }},
		{"head", bf16, func(n *engine.Numerics) { n.Head = precision.FP32 }},
		{"reduction", fp32, func(n *engine.Numerics) { n.Reduction = order(t, "pairwise:4") }},
		{"wire", named(t, "bf16-tp4"), func(n *engine.Numerics) { n.Reduction.Wire = precision.FP32 }},
		{engine.ExpertParallelField, bf16, func(n *engine.Numerics) { n.ExpertParallel = named(t, "bf16-ep4").ExpertParallel }},
		{"attention", fp32, func(n *engine.Numerics) { n.Attention, n.Tile = kernel.Online, 4 }},
		{batchingName, fp32, func(n *engine.Numerics) { n.Reduction.BatchVariant = true }},
	} {
		rollout := c.base
		c.change(&rollout)
		a := attributed(t, Pair{rollout, c.base}, 0)
		if len(a.Mechanisms) != 1 || a.Total.K3 <= 0 || a.Total.MeanAbsDlogp <= 0 {
			t.Errorf("%s: %+v", c.name, a)
			continue
		}
		m := a.Mechanisms[0]
		if m.Name != c.name || m.Alone != a.Total || m.Removed != a.Total || *m.Shapley != a.Total || a.Interaction != (GapSize{}) || len(a.Pairs) != 0 {
			t.Errorf("%s: %+v", c.name, a)
		}
	}
}

// TestAttributeNothing finds nothing between equal engines.
func TestAttributeNothing(t *testing.T) {
	for _, n := range []engine.Numerics{named(t, "fp32"), named(t, "fp8-all")} {
		a := attributed(t, Pair{n, n}, 0)
		if len(a.Mechanisms) != 0 || len(a.Pairs) != 0 || a.Total != (GapSize{}) || a.Interaction != (GapSize{}) || *a.Routing != (GapSize{}) || a.Scorings != 1 || !a.Exact {
			t.Errorf("%s: %+v", n.Name, a)
		}
	}
	// Fields that act on no log-prob are no mechanisms.
	other := named(t, "fp32", func(n *engine.Numerics) { n.Gradients, n.Tile = precision.BF16, 8 })
	if a := attributed(t, Pair{other, named(t, "fp32")}, 0); len(a.Mechanisms) != 0 || a.Total != (GapSize{}) {
		t.Errorf("gradients: %+v", a)
	}
}

// TestAttributeBatching tells batching from the order it varies.
func TestAttributeBatching(t *testing.T) {
	variant := func(n *engine.Numerics) { n.Reduction.BatchVariant = true }
	fp32 := named(t, "fp32")
	pairwise := named(t, "fp32-pairwise")
	// The same numerics in both engines: only the company differs.
	a := attributed(t, Pair{named(t, "fp32", variant), named(t, "fp32", variant)}, 0)
	if m := part(t, a, batchingName); len(a.Mechanisms) != 1 || m.Alone != a.Total || a.Total.K3 == 0 {
		t.Errorf("equal, batch-variant: %+v", a)
	}
	// All rows of a large batch: the order is as declared, and there is no gap.
	a = attributed(t, Pair{fp32, named(t, "fp32", variant)}, 0)
	if m := part(t, a, batchingName); m.Alone != (GapSize{}) || a.Total != (GapSize{}) {
		t.Errorf("batch-variant learner: %+v", a)
	}
	// The order alone is what its batch-invariant form measures on the same tokens.
	a = attributed(t, Pair{named(t, "fp32-pairwise", variant), fp32}, 0)
	if part(t, a, "reduction").Alone.K3 == 0 || part(t, a, batchingName).Alone.K3 == 0 || len(a.Mechanisms) != 2 {
		t.Errorf("pairwise: %+v", a)
	}
	// And what batching does on top of it is what it does between two of that order.
	r, p, err := trainer.Prepare(fewer(t))
	must.Do(t, err)
	m := newMixer(r, trainer.Weights{Current: p, Calibrated: p, Drafter: p}, Pair{named(t, "fp32-pairwise", variant), fp32}, 1)
	defer m.close()
	free := must.Get(m.gap(only(slices.IndexFunc(m.mechanisms, func(m mechanism) bool { return m.name == "reduction" }))))(t)
	b := m.score(pairwise, 0)
	sum, n := 0., 0
	for i, counts := range b.Mask {
		if counts {
			sum += math.Abs(b.Old.Logp[i] - b.LogpRoll[i])
			n++
		}
	}
	if free.free.MeanAbsDlogp != sum/float64(n) {
		t.Errorf("reduction alone %v, scored %g", free.free, sum/float64(n))
	}
	// Fewer slots, more splits.
	b2 := attributed(t, Pair{named(t, "fp32", variant), fp32}, 0, "rollout.slots=2", "rollout.prefill_chunk=3", "rollout.prefix_cache=true")
	if b2.Total.K3 == 0 || part(t, b2, batchingName).Removed != b2.Total {
		t.Errorf("two slots: %+v", b2)
	}
}

// TestAttributeLogProbs finds the gap of engines that report another log-prob
// than the learner computes, separately from the gap of the numerics.
func TestAttributeLogProbs(t *testing.T) {
	fp32, variant := named(t, "fp32"), named(t, "fp32-batch-variant")
	for _, sets := range [][]string{
		{"rollout.log_probs=raw", "rollout.temperature=0.8"},
		{"rollout.top_p=0.9", "rollout.temperature=0.8"},
		{"rollout.top_k=5"},
		{"rollout.log_probs=raw", "rollout.temperature=0.8", "rollout.top_p=0.9"},
	} {
		a := attributed(t, Pair{fp32, fp32}, 0, sets...)
		if m := part(t, a, logProbsName); len(a.Mechanisms) != 1 || m.Alone != a.Total || a.Total.K3 < 1e-4 || m.Rollout == m.Learner {
			t.Errorf("%v: %+v", sets, a)
		}
		a = attributed(t, Pair{named(t, "bf16-fp32-head"), named(t, "bf16")}, 1, sets...)
		if part(t, a, logProbsName).Removed.K3 < 0.9*a.Total.K3 || len(a.Mechanisms) != 2 {
			t.Errorf("%v, bf16: %+v", sets, a)
		}
		// As decoded: the recorded bits come out, or there is an error.
		if a = attributed(t, Pair{variant, fp32}, 0, append(sets, "rollout.prompts=8")...); len(a.Mechanisms) != 2 || part(t, a, batchingName).Alone.K3 == 0 {
			t.Errorf("%v, batch-variant: %+v", sets, a)
		}
	}
	for _, sets := range [][]string{
		{"rollout.log_probs=raw"},
		{"rollout.log_probs=raw", "rollout.top_p=0.9"},
		{"rollout.top_p=0.9", "rollout.temperature=0.8", "support.replay=true"},
	} {
		if a := attributed(t, Pair{fp32, fp32}, 0, sets...); len(a.Mechanisms) != 0 || a.Total != (GapSize{}) {
			t.Errorf("%v: %+v", sets, a)
		}
		if a := attributed(t, Pair{variant, fp32}, 0, append(sets, "rollout.prompts=8")...); len(a.Mechanisms) != 1 || a.Total == (GapSize{}) {
			t.Errorf("%v, batch-variant: %+v", sets, a)
		}
	}
}

// TestAttributeRepeats gives the same for any number of workers, and counts.
func TestAttributeRepeats(t *testing.T) {
	var want *Attribution
	for workers := range 3 {
		last := 0
		a := must.Get(Attribute(context.Background(), AttributeRequest{Recipe: fewer(t), Workers: workers,
			Pair: Pair{named(t, "fp8-kv8"), named(t, "bf16")}, Progress: func(done, scorings int) { last = 100*scorings + done }}))(t)
		if want == nil {
			want = a
		}
		if !reflect.DeepEqual(a, want) || last != 101*a.Scorings {
			t.Errorf("%d workers: %+v\nwant %+v; progress %d", workers, a, want, last)
		}
	}
}

// TestAttributeDense has no routing.
func TestAttributeDense(t *testing.T) {
	r := trainertest.Recipe(t, "model.experts=0", "rollout.numerics=bf16")
	a := must.Get(Attribute(context.Background(), AttributeRequest{Recipe: r}))(t)
	if a.Routing != nil || len(a.Mechanisms) != 6 || a.Mechanisms[0].AloneReplayed != nil || a.Rollout != "bf16" || a.Learner != "fp32" || a.Total.K3 == 0 {
		t.Errorf("%+v", a)
	}
}

// TestAttributeRefuses names what cannot be attributed, and an engine that does
// not do what it did before.
func TestAttributeRefuses(t *testing.T) {
	fp32 := named(t, "fp32")
	broken := fp32
	broken.Name, broken.Head = "mine", precision.Format{}
	if _, err := Attribute(context.Background(), AttributeRequest{Recipe: measured(t), Pair: Pair{broken, fp32}}); err == nil ||
		!strings.Contains(err.Error(), "numerics mine") || !strings.Contains(err.Error(), "head") {
		t.Errorf("broken numerics: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Attribute(ctx, AttributeRequest{Recipe: measured(t)}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	for want, spoil := range map[string]func(m *mixer){
		"response 1, token 2: recorded log-prob": func(m *mixer) {
			n := m.batch.Offsets[1] + 2
			m.batch.LogpRoll[n] = math.Nextafter(m.batch.LogpRoll[n], 0)
		},
		"on other routes":            func(m *mixer) { m.batch.RoutesRoll[0]++ },
		"test of fp32: scored twice": func(m *mixer) { m.batch.Old.Logp[3] += 1e-9 },
	} {
		r, p, err := trainer.Prepare(fewer(t))
		must.Do(t, err)
		m := newMixer(r, trainer.Weights{Current: p, Calibrated: p, Drafter: p}, Pair{named(t, "fp32-splitk4"), fp32}, 1)
		spoil(m)
		if _, err := attribute(context.Background(), m, AttributeRequest{ExactLimit: 1}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestAttributeWire tells the order of an all-reduce from the format in which
// it sends partial sums: a wire without an order does nothing, an order with an
// fp32 wire next to nothing, and what is left is theirs together. So it is
// whichever engine is the parallel one.
func TestAttributeWire(t *testing.T) {
	fp32 := named(t, "fp32")
	parallel := named(t, "fp32", func(n *engine.Numerics) { n.Reduction = order(t, "tensor_parallel:4:ring:bf16") })
	a := attributed(t, Pair{parallel, fp32}, 0)
	reduction, wire := part(t, a, "reduction"), part(t, a, engine.WireField)
	if wire.Alone != (GapSize{}) || reduction.Alone.K3 == 0 || reduction.Alone.K3 > 1e-5*a.Total.K3 || reduction.Removed != a.Total ||
		wire.Rollout != "bf16" || wire.Learner != "fp32" || reduction.Rollout != "tensor_parallel:4:ring" {
		t.Errorf("parallel rollout engine: %+v", a)
	}
	a = attributed(t, Pair{fp32, parallel}, 0)
	reduction, wire = part(t, a, "reduction"), part(t, a, engine.WireField)
	// Taking either from the learner's all-reduce alone: the wire leaves its fp32
	// form, which is near the canonical order; the order leaves none at all.
	if reduction.Alone != a.Total || wire.Removed != (GapSize{}) || !close(wire.Alone, a.Total, 1e-3) || wire.Alone == a.Total {
		t.Errorf("parallel learner: %+v", a)
	}
}
