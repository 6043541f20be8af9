package foreign

import (
	"fmt"
	"math"

	"driftlab/trainer/method/correction"
)

// areal: actor.rejection_sampling beside the decoupled loss.
var areal = framework{
	name:     "areal",
	sections: []section{{"rejection_sampling", []string{"level", "action", "metric", "agg", "upper", "lower"}}},
	loose:    []string{"use_decoupled_loss", "recompute_logprob", "eps_clip_higher", "c_clip", "prox_logp_method", "behave_imp_weight_cap", "behave_imp_weight_mode", "actor.eps_clip"},
	own:      []string{"behave_imp_weight"},
	read:     readAReaL,
}

func readAReaL(v *values, c *Config) {
	p := &correction.Pipeline{Clamp: math.Inf(1)}
	c.Pipeline = p
	rejects := v.has("level") || v.has("action") || v.has("metric") || v.has("upper")
	if !v.truth("use_decoupled_loss", v.block) {
		if rejects {
			c.Off = "rejection_sampling is set without use_decoupled_loss: AReaL leaves it out"
		}
		return
	}
	low := v.number("actor.eps_clip", 0.2)
	c.Loss = fmt.Sprintf("{name: decoupled_ppo, eps_low: %v, eps_high: %v, dual_clip: %v, behave: none, log_clamp: 0, prox: %s}", low,
		v.number("eps_clip_higher", low), v.number("c_clip", 0), v.choice("prox_logp_method", "recompute", "recompute", "loglinear", "linear", "rollout"))
	for _, key := range []string{"behave_imp_weight_cap", "behave_imp_weight_mode"} {
		if v.has(key) {
			v.fault(v.by[key], "AReaL removed it: say it under rejection_sampling")
		}
	}
	level, metric := v.choice("level", "token", "token", "sequence"), v.choice("metric", "ratio", "ratio", "kl_k1", "kl_k2", "kl_k3", "binary_kl")
	lower, upper := v.number("lower", math.Inf(-1)), v.number("upper", 5)
	top, floor := math.Inf(1), 0.0
	switch {
	case !rejects:
	case metric == "binary_kl":
		c.note("metric binary_kl is not in a recipe: nothing is masked")
	case v.choice("action", "mask", "mask", "clamp") == "clamp":
		top, floor = upper, max(lower, 0)
	default:
		m := &correction.Band{Level: level, Statistic: arealStatistics[metric], Aggregate: "mean", Low: lower, High: upper}
		if level == "sequence" {
			m.Aggregate = v.choice("agg", "mean", "mean", "sum", "max")
		}
		if metric == "ratio" {
			m.Low = max(lower, 0)
		}
		p.Masks = []correction.Masking{m}
	}
	p.Weights = &correction.TokenTIS{Cap: top, Floor: floor}
	if rejects && level == "sequence" && metric == "ratio" {
		p.Weights = &correction.GeometricTIS{Cap: top, Floor: floor}
	}
}

// arealStatistics are the metrics by their names here; its k3 is that of the inverse ratio.
var arealStatistics = map[string]string{"ratio": "ratio", "kl_k1": "k1", "kl_k2": "k2", "kl_k3": "k3_inverse"}
