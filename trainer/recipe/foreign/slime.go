package foreign

import (
	"slices"
	"strings"

	"driftlab/trainer/method/correction"
)

// prepareSlime gives mis.yaml the values that it leaves to others: each lower bound is the inverse of the upper one.
func prepareSlime(v *values, c *Config) {
	const path = "custom_tis_function_path"
	if !strings.Contains(v.by[path].Text, "mis") {
		return
	}
	if !v.has("tis_upper_bound") && v.truth("use_tis", false) {
		c.note("mis.yaml was not given: its example's values stand for it")
	}
	given := func(key string, otherwise float64) float64 {
		x := v.number(key, otherwise)
		if !v.has(key) {
			v.by[key] = settingOf(decimal(x))
		}
		return x
	}
	_, low := v.by["tis_lower_bound"], v.has("tis_lower_bound")
	high := given("tis_upper_bound", 2)
	given("tis_lower_bound", 1/high)
	rejected := given("rs_upper_bound", high)
	if !low {
		given("rs_lower_bound", 1/rejected)
	}
	given("rs_lower_bound", v.number("tis_lower_bound", 1/rejected))
}

func readSlime(v *values, c *Config) {
	if v.truth("use_rollout_logprobs", false) && c.Pipeline.Weights != nil {
		v.fault(v.by["use_rollout_logprobs"], "slime refuses it together with use_tis: leave one")
	}
	if v.has("loss_type") && v.text("loss_type", "") != "policy_loss" {
		v.leave("loss_type", "a loss of the user's own cannot be known")
	}
	v.text("get_mismatch_metrics", "")
}

// writeSlime leaves masks of the ratio to mis.yaml, which has its own keys of the weights and no mask without them.
func writeSlime(w *writing) {
	ratio := slices.ContainsFunc(w.pipeline.Masks, func(m correction.Masking) bool {
		switch m.(type) {
		case *correction.TokenMask, *correction.SequenceMask, *correction.Geometric:
			return true
		}
		return false
	})
	w.skip = func(r *row) bool {
		return slices.ContainsFunc(r.conds, func(c cond) bool {
			return ratio && c.not && c.keys[0] == "custom_tis_function_path" || c.keys[0] == "use_rs" && (!ratio || w.pipeline.Weights == nil)
		})
	}
	if ratio && w.pipeline.Weights == nil {
		w.unweighted = " without weights: mis.yaml masks only next to them (use_tis)"
	}
	w.correction()
	if slices.ContainsFunc(w.pairs, func(p pair) bool { return p.key == "tis_level" }) {
		w.set("custom_config_path", "mis.yaml")
	}
}
