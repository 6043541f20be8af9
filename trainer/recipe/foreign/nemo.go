package foreign

import (
	"fmt"
	"math"

	"driftlab/trainer/method/correction"
)

// nemo is NeMo-RL: loss_fn of its GRPO configuration.
var nemo = framework{
	name: "nemo-rl",
	sections: []section{{"loss_fn", []string{"use_importance_sampling_correction", "truncated_importance_sampling_type", "truncated_importance_sampling_ratio",
		"truncated_importance_sampling_ratio_min", "sequence_level_importance_ratios", "force_on_policy_ratio", "ratio_clip_min", "ratio_clip_max", "ratio_clip_c",
		"reference_policy_kl_penalty", "reference_policy_kl_type", "kl_input_clamp_value", "kl_output_clamp_value", "use_on_policy_kl_approximation",
		"use_kl_in_reward", "token_level_loss", "disable_ppo_ratio", "positive_example_nll_loss_weight"}}},
	loose: []string{"grpo.seq_logprob_error_threshold"},
	own:   []string{"truncated_importance_sampling"},
	read:  readNeMo,
}

func readNeMo(v *values, c *Config) {
	p := &correction.Pipeline{Clamp: math.Inf(1), Denominator: correction.Pre}
	c.Pipeline = p
	kind := v.choice("truncated_importance_sampling_type", "tis", "tis", "icepop", "seq-mask-tis")
	low, high := v.number("truncated_importance_sampling_ratio_min", 0), v.number("truncated_importance_sampling_ratio", math.Inf(1))
	switch {
	case !v.truth("use_importance_sampling_correction", v.block && v.has("truncated_importance_sampling_ratio")):
		if v.has("truncated_importance_sampling_ratio") {
			c.Off = "use_importance_sampling_correction is not true"
		}
	case kind == "icepop":
		p.Weights = &correction.IcePop{Low: low, High: high}
	case kind == "seq-mask-tis":
		p.Weights = &correction.TokenTIS{Cap: math.Inf(1)}
		p.Masks = []correction.Masking{&correction.Geometric{Low: low, High: high}}
	case v.truth("sequence_level_importance_ratios", false):
		p.Weights = &correction.SequenceTIS{Cap: high, Floor: low}
	default:
		p.Weights = &correction.TokenTIS{Cap: high, Floor: low}
	}
	if v.has("ratio_clip_min") || v.has("ratio_clip_max") {
		c.Loss = fmt.Sprintf("{name: ppo_clip, eps_low: %v, eps_high: %v, dual_clip: %v}",
			v.number("ratio_clip_min", 0.2), v.number("ratio_clip_max", 0.2), v.number("ratio_clip_c", 0))
	}
	if v.truth("force_on_policy_ratio", false) {
		c.note("force_on_policy_ratio true: the old log-probs are the current ones, which a recipe has with one update per step")
	}
	if v.has("grpo.seq_logprob_error_threshold") {
		c.note("grpo.seq_logprob_error_threshold, a bound of the mean of exp|d| per response, is not in a recipe")
	}
}
