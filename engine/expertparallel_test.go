package engine_test

import (
	"testing"

	"driftlab/engine"
	"driftlab/engine/enginetest"
	"driftlab/model"
	"driftlab/precision"
	"driftlab/precision/must"
)

// expertsBy returns the numerics with another order of the experts' sum.
func expertsBy(t *testing.T, base, text string) engine.Numerics {
	t.Helper()
	n := preset(t, base)
	x := must.Get(engine.ParseExpertParallel(text))(t)
	n.ExpertParallel = x
	return n
}

// top3 is a model whose experts' sums have an order.
var top3 = enginetest.NewParams(model.Config{Layers: 2, DModel: 32, Heads: 4, Experts: 8, TopK: 3, DFF: 16, Context: 64, Vocab: 16}, 2)

// TestExpertParallelActs: on one device results are bit-identical to the default; with
// two experts per token an fp32 wire changes none either, since two numbers have
// one sum; three have several; a coarser wire acts on both. A dense model has
// nothing to add. Equal and Validate know it all.
func TestExpertParallelActs(t *testing.T) {
	for _, c := range []struct {
		params     *model.Params
		base, text string
		acts       bool
	}{
		{wide, "fp32", "1:ring:bf16", false}, {wide, "fp32", "4:ring:fp32", false}, {wide, "fp32", "4:tree:fp32", false},
		{wide, "fp32", "4:all_to_all:fp32", false}, {wide, "fp32", "expert", false},
		{wide, "fp32", "4:ring:bf16", true}, {wide, "bf16", "2:all_to_all:bf16", true},
		{top3, "fp32", "1:tree:e8m5", false}, {top3, "fp32", "expert", true}, {top3, "fp32", "8:ring:fp32", true}, {top3, "fp32", "8:all_to_all:fp32", true},
		{top3, "bf16", "4:ring:bf16", true},
		{enginetest.Named("dense").Params, "bf16", "4:ring:bf16", false},
	} {
		base, n := preset(t, c.base), expertsBy(t, c.base, c.text)
		sequences := enginetest.Sequences(2, 4, c.params.Config.Vocab, 20, 40)
		a, b := run(c.params, base, sequences, 1, engine.Options{}), run(c.params, n, sequences, 3, engine.Options{})
		if differ(a, b) != c.acts {
			t.Errorf("%s, top %d, %s: acts: %t", c.base, c.params.Config.TopK, c.text, !c.acts)
		}
		if one := n.ExpertParallel.Degree == 1; base.Equal(n) != one {
			t.Errorf("%s: Equal is %t", c.text, !one)
		}
		if err := n.Validate(); err != nil {
			t.Errorf("%s: %v", c.text, err)
		}
		// The result of a sequence is its own, whatever stands beside it.
		same(t, c.text+", one by one", b, oneByOne(c.params, n, sequences))
	}
	// Orders differ from one another where there are three to add.
	ring, tree := expertsBy(t, "fp32", "8:ring:bf16"), expertsBy(t, "fp32", "8:tree:bf16")
	sequences := enginetest.Sequences(3, 4, top3.Config.Vocab, 20, 40)
	if !differ(run(top3, ring, sequences, 1, engine.Options{}), run(top3, tree, sequences, 1, engine.Options{})) {
		t.Error("ring and tree give the same logits")
	}
	bad := preset(t, "fp32")
	bad.ExpertParallel = engine.ExpertParallel{Order: engine.ByRing, Degree: 2, Wire: precision.INT8}
	if err := bad.Validate(); err == nil {
		t.Error("an integer wire is valid")
	}
}

// TestExpertParallelBackward: the backward pass differentiates the sum, so where the
// forward pass has the same bits the gradient has, and elsewhere it is as near
// as the wire is fine.
func TestExpertParallelBackward(t *testing.T) {
	sequences := enginetest.Sequences(4, 3, top3.Config.Vocab, 5, 12)
	f := functional{drawn(4, packOf(sequences).Rows()*top3.Config.Vocab), 0.1}
	want, routes := gradient(top3, preset(t, "fp32"), sequences, f, nil, 1)
	for _, c := range []struct {
		text  string
		bound float64
	}{{"1:ring:bf16", 0}, {"8:ring:fp32", 1e-5}, {"expert", 1e-5}, {"8:ring:bf16", 0.05}, {"4:all_to_all:bf16", 0.05}} {
		got, _ := gradient(top3, expertsBy(t, "fp32", c.text), sequences, f, routes, 2)
		if d := distance(got.Theta, want.Theta); d > c.bound || (d == 0) != (c.bound == 0) {
			t.Errorf("%s: the gradient is %.3g away, at most %g is stated", c.text, d, c.bound)
		}
	}
}
