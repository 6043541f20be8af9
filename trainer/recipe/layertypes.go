package recipe

import (
	"driftlab/engine"
	"driftlab/model"
)

// layerTypes checks what goes with layers whose past is no list of keys and values.
func (c *checker) layerTypes(r Recipe) {
	m, o := r.Resolved().Model, r.Rollout
	if m.HasLayer(model.SparseAttention) {
		const choices = "%s, and the index of a sparse-attention layer (model.layer_types) chooses for each row of a response among all positions: "
		c.that(!o.PrefixCache, "rollout.prefix_cache", choices+"use false", "true shares the rows of a prompt")
		c.that(o.SharedPrefixCache == nil, "rollout.shared_prefix_cache", choices+"leave it out", "keeps rows of prompts without their choices")
		c.that(o.KVRetention == nil, "rollout.kv_retention", choices+"leave it out", "gives up keys and values")
		c.that(o.Speculative == nil, "rollout.speculative", choices+"leave it out", "takes drafts back")
	}
	if m.HasLayer(model.LinearAttention) {
		const state = "%s, and a linear-attention layer (model.layer_types) has a state of all positions so far in their place: "
		c.that(!o.PrefixCache, "rollout.prefix_cache", state+"use false", "true shares keys and values of a part of a prompt")
		c.that(o.SharedPrefixCache == nil, "rollout.shared_prefix_cache", state+"leave it out", "keeps blocks of keys and values")
		c.that(o.KVRetention == nil, "rollout.kv_retention", state+"leave it out", "gives up keys and values")
		c.that(o.Speculative == nil, "rollout.speculative", state+"leave it out", "takes drafts back from keys and values")
	}
}

// forms says which forms of linear attention and formats of an index have no layer to act on.
func (n *inert) forms(r Recipe) {
	if r.Model == (model.Config{}) {
		return
	}
	var none engine.Numerics
	for _, e := range []struct {
		field    string
		numerics engine.Numerics
	}{{"rollout.numerics", r.Rollout.Numerics}, {"learner.numerics", r.Learner.Numerics}} {
		index, form := e.numerics.Index, e.numerics.LinearAttention
		n.when(index != none.Index && !r.Model.HasLayer(model.SparseAttention),
			"%s.index %s: no layer of the model has sparse attention: set model.layer_types, or leave it out", e.field, index)
		n.when(form != none.LinearAttention && !r.Model.HasLayer(model.LinearAttention),
			"%s.linear_attention %s: no layer of the model has linear attention: set model.layer_types, or leave it out", e.field, form)
	}
}
