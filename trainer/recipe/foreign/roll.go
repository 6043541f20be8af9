package foreign

import (
	"fmt"
	"math"

	"driftlab/trainer/method/correction"
)

// roll: train_infer_correction.
var roll = framework{
	name: "roll",
	sections: []section{{"train_infer_correction", []string{"is_weight.enabled", "is_weight.weight_type", "is_weight.upper_bound", "is_weight.detach",
		"filters", "filters.*.enabled", "filters.*.agg_type", "filters.*.ratio_enabled", "filters.*.ratio_low", "filters.*.ratio_high",
		"filters.*.diff_enabled", "filters.*.diff_low", "filters.*.diff_high"}}},
	own:   []string{"train_infer_corr"},
	table: rollTable,
	read:  readROLL,
	unset: `
kl={name: none}
learner.epochs=1`,
}

func readROLL(v *values, c *Config) {
	p := &correction.Pipeline{Clamp: math.Inf(1)}
	c.Pipeline = p
	top := v.number("is_weight.upper_bound", 1.2)
	if v.nulled("is_weight.upper_bound") {
		top = math.Inf(1)
	}
	kind := v.choice("is_weight.weight_type", "token", "token", "sequence", "geometric", "segment")
	switch {
	case !v.truth("is_weight.enabled", false):
		if v.has("is_weight.weight_type") || v.has("is_weight.upper_bound") {
			c.note("is_weight.enabled is false: no weights")
		}
	case kind == "sequence":
		p.Weights = &correction.SequenceTIS{Cap: top}
	case kind == "geometric":
		p.Weights = &correction.GeometricTIS{Cap: top, Eps: 1e-8}
	case kind == "segment":
		p.Weights = &correction.SegmentTIS{Cap: top, By: correction.ByRun, Geometric: true, Eps: 1e-8}
	default:
		p.Weights = &correction.TokenTIS{Cap: top}
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
	c.takeTruncated(v, "max_len_mask")
	rollLoss(v, c)
	rollRest(v, c)
	if p.Weights == nil && len(p.Masks) == 0 && v.given("train_infer_correction") {
		c.Off = "neither is_weight nor a filter is enabled"
	}
}
