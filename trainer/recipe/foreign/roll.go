package foreign

import (
	"fmt"

	"driftlab/trainer/method/correction"
)

func readROLL(v *values, c *Config) {
	p := c.Pipeline
	if !v.truth("is_weight.enabled", false) && v.any("is_weight.weight_type", "is_weight.upper_bound") {
		c.note("is_weight.enabled is false: no weights")
	}
	if !v.truth("is_weight.detach", true) {
		c.note("is_weight.detach false: a gradient through the weight is not in a recipe")
	}
	for i := range v.entries("filters") {
		at := fmt.Sprintf("filters.%d.", i)
		if !v.truth(at+"enabled", false) {
			continue
		}
		level, how := v.choice(at+"agg_type", "token", "token", "segment", "geometric", "sequence"), "mean"
		switch level {
		case "geometric":
			level = "sequence"
		case "sequence":
			how = "sum"
		}
		add := func(statistic, key string, low, high float64) {
			if !v.truth(at+key+"_enabled", false) {
				return
			}
			if len(p.Masks) > 0 {
				for _, k := range []string{key + "_enabled", key + "_low", key + "_high"} {
					v.text(at+k, "")
					v.leave(at+k, "a second filter: a recipe has one band, and the first is taken")
				}
				c.note("%s%s: a second filter is not taken over: a recipe has one band", at, key)
				return
			}
			p.Masks = append(p.Masks, &correction.Band{Level: level, Statistic: statistic, Aggregate: how, Eps: 1e-8,
				Low: v.number(at+key+"_low", low), High: v.number(at+key+"_high", high)})
		}
		add("ratio", "ratio", 0.8, 1.2)
		add("difference", "diff", -0.2, 0.2)
	}
	rollAdvantage(v, c)
	if p.Weights == nil && len(p.Masks) == 0 && v.given("train_infer_correction") {
		c.Off = "neither is_weight nor a filter is enabled"
	}
}

// rollAdvantage reads the estimator with what rewards are normalised over.
func rollAdvantage(v *values, c *Config) {
	if name := v.text("adv_estimator", ""); name == "grpo" || name == "reinforce" {
		mean, std := rollNormalization(v, name)
		switch {
		case name == "grpo" && mean == "group" && std == "group", name == "reinforce" && mean == "none" && std == "none":
			c.take("advantage", "{name: "+name+"}", "adv_estimator")
		default:
			c.take("advantage", fmt.Sprintf("{name: normalize, mean: %s, std: %s}", mean, std), "adv_estimator")
		}
	}
	if v.truth("whiten_advantages", false) {
		v.leave("whiten_advantages", "a second normalisation, of the advantages after that of the rewards, is not in a recipe")
	}
}

// rollNormalization is over what the rewards are normalised: batch, group or none. In the pipeline of verified rewards
// GRPO's is the group's whatever is written; the agentic pipeline has a section of its own, whose older keys are a method
// and what is grouped.
//
// Source: alibaba/ROLL roll/utils/functionals.py, reward_postprocess; roll/pipeline/agentic/agentic_config.py.
func rollNormalization(v *values, estimator string) (mean, std string) {
	const agentic = "reward_normalization."
	word := func(key string) string {
		switch x := v.text(key, ""); x {
		case "batch", "group":
			return x
		case "running":
			v.leave(key, "running statistics of rewards are not in a recipe")
		}
		return "none"
	}
	switch {
	case v.any(agentic+"norm_mean_type", agentic+"norm_std_type"):
		return word(agentic + "norm_mean_type"), word(agentic + "norm_std_type")
	case v.has(agentic + "method"):
		over := "group"
		if g := v.text(agentic+"grouping", "batch"); g == "batch" || g == "global" {
			over = "batch"
		}
		switch v.choice(agentic+"method", "identity", "identity", "mean", "mean_std", "asym_clip") {
		case "mean":
			return over, "none"
		case "mean_std", "asym_clip":
			return over, over
		}
		return "none", "none"
	case estimator == "grpo":
		for _, key := range []string{"norm_mean_type", "norm_std_type"} {
			if v.has(key) && v.text(key, "group") != "group" {
				v.leave(key, "adv_estimator grpo normalises over the group, whatever this is")
			}
		}
		return "group", "group"
	}
	return word("norm_mean_type"), word("norm_std_type")
}
