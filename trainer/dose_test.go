package trainer

import (
	"context"
	"testing"

	"driftlab/engine"
	"driftlab/engine/kernel"
	"driftlab/precision"
)

// TestDoseResponse turns each mechanism up in one engine, everything else being
// equal: the gap is exactly zero at dose zero, and grows with the dose. Doses
// are listed from zero up.
func TestDoseResponse(t *testing.T) {
	bits := []string{"fp32", "e8m11", "e8m9", "e8m7", "e8m5"} // mantissa bits: 23, 11, 9, 7, 5
	formats := func(base string, set func(n *engine.Numerics, f precision.Format)) []engine.Numerics {
		var doses []engine.Numerics
		for _, text := range bits {
			f := format(t, text)
			doses = append(doses, named(t, base, func(n *engine.Numerics) { set(n, f) }))
		}
		return doses
	}
	quantizers := func(base string, set func(n *engine.Numerics, q precision.Quantizer), texts ...string) []engine.Numerics {
		var doses []engine.Numerics
		for _, text := range texts {
			q, err := precision.ParseQuantizer(text)
			if err != nil {
				t.Fatal(err)
			}
			doses = append(doses, named(t, base, func(n *engine.Numerics) { set(n, q) }))
		}
		return doses
	}
	orders := func(base string, texts ...string) []engine.Numerics {
		var doses []engine.Numerics
		for _, text := range texts {
			doses = append(doses, named(t, base, func(n *engine.Numerics) { n.Reduction = order(t, text) }))
		}
		return doses
	}
	plain := precision.Unscaled
	scaled := []string{"bf16", "int8/channel", "fp8_e4m3/channel", "fp4_e2m1/nv"}
	tiles := []engine.Numerics{named(t, "fp32")}
	for _, tile := range []int{16, 4} {
		tiles = append(tiles, named(t, "fp32", func(n *engine.Numerics) { n.Attention, n.Tile = kernel.Online, tile }))
	}
	for _, c := range []struct {
		mechanism string
		doses     []engine.Numerics
		grows     bool // false: the doses have no order, and each must only have a gap
	}{
		{"weights", formats("fp32", func(n *engine.Numerics, f precision.Format) { n.Weights = plain(f) }), true},
		{"inputs", formats("fp32", func(n *engine.Numerics, f precision.Format) { n.Inputs = plain(f) }), true},
		{"activations", formats("fp32", func(n *engine.Numerics, f precision.Format) { n.Activations = f }), true},
		{"accumulator", formats("fp32", func(n *engine.Numerics, f precision.Format) { n.Accumulator = f }), true},
		{"scores", formats("fp32", func(n *engine.Numerics, f precision.Format) { n.Scores = f }), true},
		{"probabilities", formats("fp32", func(n *engine.Numerics, f precision.Format) { n.Probabilities = f }), true},
		{"kv_cache", formats("fp32", func(n *engine.Numerics, f precision.Format) { n.KVCache = plain(f) }), true},
		{"router", formats("fp32", func(n *engine.Numerics, f precision.Format) { n.Router = f }), true},
		{"head", formats("fp32", func(n *engine.Numerics, f precision.Format) { n.Head = f }), true},
		{"scaled weights", quantizers("bf16", func(n *engine.Numerics, q precision.Quantizer) { n.Weights = q }, scaled...), true},
		{"scaled inputs", quantizers("bf16", func(n *engine.Numerics, q precision.Quantizer) { n.Inputs = q }, scaled[:3]...), true},
		{"scaled kv_cache", quantizers("bf16", func(n *engine.Numerics, q precision.Quantizer) { n.KVCache = q },
			"bf16", "int8/channel", "fp8_e4m3/channel", "fp8_e5m2/channel"), true},
		{"wire", orders("fp32", "tensor_parallel:4:ring:fp32", "tensor_parallel:4:ring:fp16", "tensor_parallel:4:ring:bf16", "tensor_parallel:4:ring:e8m5"), true},
		// In fp32 another order is another rounding of the last bit, whatever its kind.
		{"split_k", orders("fp32", "canonical", "split_k:2", "split_k:4", "split_k:8"), false},
		{"pairwise", orders("fp32", "canonical", "pairwise:16", "pairwise:4"), false},
		{"tree", orders("fp32", "canonical", "tree:8"), false},
		{"tensor parallel", orders("fp32", "canonical", "tensor_parallel:2:ring:fp32", "tensor_parallel:4:ring:fp32", "tensor_parallel:4:tree:fp32"), false},
		{"tensor parallel in bf16", orders("bf16", "canonical", "tensor_parallel:2:ring:bf16", "tensor_parallel:4:ring:bf16"), false},
		{"unfused", orders("fp32", "canonical", "unfused"), false},
		{"batching", orders("fp32", "canonical", "canonical+batch_variant"), false},
		{"attention", tiles, false},
	} {
		var pairs []Pair
		for _, n := range c.doses {
			pairs = append(pairs, Pair{n, c.doses[0]})
		}
		m, err := Measure(context.Background(), MeasureRequest{Recipe: measured(t), Pairs: pairs})
		if err != nil {
			t.Fatalf("%s: %v", c.mechanism, err)
		}
		if g := m.Pairs[0].Gap; g.Unequal != 0 || g.K3 != 0 || g.ExactKL != 0 || g.MaxTV != 0 || g.FlipRoute != 0 || g.Tokens < 100 {
			t.Errorf("%s at dose zero: %+v", c.mechanism, g)
		}
		for i := range m.Pairs[1:] {
			before, g := m.Pairs[i].Gap, m.Pairs[i+1].Gap
			t.Logf("%s, dose %d: mean |dlogp| %.3g, k3 %.3g", c.mechanism, i+1, g.MeanAbsDlogp, g.K3)
			if g.MeanAbsDlogp <= 0 || g.K3 <= 0 || g.ExactKL <= 0 {
				t.Errorf("%s at dose %d: no gap: %+v", c.mechanism, i+1, g)
			}
			if c.grows && g.MeanAbsDlogp <= before.MeanAbsDlogp {
				t.Errorf("%s at dose %d: mean |dlogp| %g, at the dose before %g", c.mechanism, i+1, g.MeanAbsDlogp, before.MeanAbsDlogp)
			}
		}
	}
}
