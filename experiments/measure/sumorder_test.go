package measure

import (
	"os"
	"testing"

	"driftlab/engine"
	"driftlab/engine/kernel"
	"driftlab/model"
	"driftlab/precision/must"
)

// The preset llama-f16 correlates with llama.cpp by 0.87 on chain-base. The order of the float32 sums is enough
// for that: with other orders the same numerics reach the bound of 0.95, and the preset's order correlates
// with one of these as little as with the real program.
func TestOrderOfSumsBoundsF16(t *testing.T) {
	text := must.Get(os.ReadFile("../../testdata/real/chain-llama-f16.json"))(t)
	dump := must.Get(ParseRealDump(text))(t)
	ck := must.Get(model.Open(dump.Checkpoint))(t)
	scored := func(preset, order string) []float64 {
		n, _ := engine.Preset(preset)
		n.Reduction = must.Get(kernel.ParseReduction(order))(t)
		return dump.scored(ck.Params, n).Logp
	}
	exact := scored("fp32", "canonical")
	var real []float64
	for _, q := range dump.Sequences {
		for j := range q.Logp {
			real = append(real, q.Logp[j]-q.LogpF32[j])
		}
	}
	correlation := func(a, b []float64) float64 {
		pairs := make([][2]float64, len(a))
		for i := range a {
			pairs[i] = [2]float64{a[i], b[i]}
		}
		return Correlation(pairs)
	}
	d := map[string][]float64{}
	for _, order := range []string{"canonical", "pairwise:1", "split_k:4", "split_k:32"} {
		d[order] = scored("llama-f16", order)
		for i := range d[order] {
			d[order][i] -= exact[i]
		}
		c := correlation(d[order], real)
		t.Logf("%s: correlation %.3f with llama.cpp, %.3f with the preset's order", order, c, correlation(d[order], d["canonical"]))
		if reaches := c >= 0.95; reaches != (order != "canonical") {
			t.Errorf("%s: correlation %.3f with llama.cpp", order, c)
		}
	}
	if c := correlation(d["split_k:4"], d["canonical"]); c > 0.95 {
		t.Errorf("two orders of sums correlate by %.3f: they would not explain the miss", c)
	}
}
