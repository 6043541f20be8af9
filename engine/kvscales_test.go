package engine_test

import (
	"math"
	"testing"

	"driftlab/engine"
	"driftlab/engine/enginetest"
	"driftlab/precision"
)

// staticKV is bf16 with a cache in plain fp8.
func staticKV(t testing.TB) engine.Numerics {
	n := preset(t, "bf16")
	n.KVCache = precision.Unscaled(precision.E4M3)
	return n
}

// Calibrated scales put each head's largest value at the top of the format, so
// that the logits come closer to those of an unquantised cache than with scales
// that are far too small, where values are clipped, or none at all.
func TestCalibrate(t *testing.T) {
	p := wide
	sequences := enginetest.Sequences(5, 6, p.Config.Vocab, 9, 14)
	off := func(prepare func(w *engine.Weights)) float64 {
		want := run(p, preset(t, "bf16"), sequences, 1, engine.Options{})
		w, pack := weightsOf(p, staticKV(t)), packOf(sequences)
		prepare(w)
		pass := engine.NewPass(p.Config, 1)
		defer pass.Close()
		pass.Begin(w, pack, engine.Options{})
		pass.Forward()
		sum, at := 0.0, 0
		for _, logits := range want.logits {
			for _, x := range logits {
				sum += math.Abs(float64(x - pass.Logits()[at]))
				at++
			}
		}
		return sum
	}
	fresh := off(func(w *engine.Weights) { w.Calibrate(sequences, 1) })
	ones := off(func(w *engine.Weights) {})
	stale := off(func(w *engine.Weights) { w.Calibrate(sequences, 0.25) })
	if fresh <= 0 || stale < 2*fresh || ones <= 0 || ones == fresh {
		t.Errorf("distance to the unquantised cache: %g calibrated, %g with scales of one, %g with scales a quarter as large", fresh, ones, stale)
	}
}

// The scales are a function of weights and sequences alone, survive a Publish,
// and come from the largest values, which are stored exactly.
func TestKVScales(t *testing.T) {
	p := wide
	sequences := enginetest.Sequences(5, 3, p.Config.Vocab, 9, 14)
	w := weightsOf(p, staticKV(t))
	w.Calibrate(sequences, 1)
	scales := w.KVScales()
	if len(scales) != 2*p.Config.Layers*p.Config.KVHeads {
		t.Fatalf("%d scales", len(scales))
	}
	other := weightsOf(p, staticKV(t))
	other.Calibrate(sequences[:1], 1)
	smaller := 0
	for i, s := range other.KVScales() {
		if s < 1e-6 {
			t.Errorf("scale %d is %g: nothing was read for it", i, s)
		}
		if s > scales[i] {
			t.Errorf("scale %d grows from %g to %g with fewer sequences", i, scales[i], s)
		}
		if s < scales[i] {
			smaller++
		}
	}
	if smaller == 0 {
		t.Error("all scales are those of the first sequence")
	}
	other.SetKVScales(scales)
	other.Publish(p, 1)
	if !equalBits(scales, other.KVScales()) {
		t.Error("scales change when weights are published")
	}
	other.SetKVScales(nil)
	if other.KVScales() != nil {
		t.Error("scales stay when they are taken away")
	}
	plain := weightsOf(p, preset(t, "fp8-kv8"))
	plain.Calibrate(sequences, 1)
	if plain.KVScales() != nil {
		t.Error("a cache with scales of its own was calibrated")
	}
}
