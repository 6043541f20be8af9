package golden

import (
	"math"
	"slices"
	"strings"
)

// goldenListings are the cases and outputs that are not matched, and why.
var goldenLossListings = slices.Concat(Listings{
	{
		File: "autumn/kpop*.json", Output: "metric",
		Reason: "the divergence of every token, for the logger: the mask that it decides and the weights are matched",
	},
	{
		File: "autumn/bapo*.json", Output: "*", When: func(c *Case) bool { return countTokens(c) == 1 },
		Reason: "verl's masked mean divides by the number of tokens + 1e-8, which shows where there is one token; ours divides by their number",
	},
	{
		File: "autumn/molt_is_correction*.json", Output: "reported_loss",
		Reason: "the mean over all tokens of the terms, for the logger, next to the loss that is differentiated",
	},
	{
		File: "autumn/*_is_correction*.json", Output: "*", When: func(c *Case) bool { return !anyToken(c) },
		Reason: "no valid token: OpenRLHF returns 0/0, molt 0; ours returns 0 and logs no mean over no token",
	},
	{
		File: "autumn/prime_losses*.json", Output: "metrics/is_masked", When: func(c *Case) bool { return c.Params.String("type") == "icepop" },
		Reason: "prime-rl means the share over responses, the loss prime_masked over tokens, as prime-rl did when it had that loss: a response without tokens tells them apart",
	},
	{
		File: "autumn/prime_losses*.json", Output: "grad", When: func(c *Case) bool { return c.Params.String("type") == "ppo" && beyondCap(c) },
		Reason: "a ratio above 1e4 keeps its gradient in prime-rl, though the value is capped there: the loss is then not the one that is differentiated",
	},
	{
		File: "autumn/sao_bpco*.json", Output: "grad", When: func(c *Case) bool { return !finite(c.Outputs.Flat("grad")) },
		Reason: "the reproduction multiplies an infinite ratio by 0 and has NaN; ours leaves the token out",
	},
	{
		File: "autumn/nemo_correction_level*.json", Output: "*", When: func(c *Case) bool { return !c.Params.Bool("token_level_loss") },
		Reason: "NeMo-RL's means divide by a number + 1e-8, also in GSPO's ratio; the matcher holds value and gradient to 1e-7",
	},
	{
		File: "autumn/flash_reinforce*.json", When: (*Case).Raised,
		Reason: "the authors' code raises on a response without tokens and on a ratio that overflows; ours, as miles and molt, keeps the first and clamps the log-ratio at 30",
	},
	{
		File: "autumn/flash_reinforce*.json", Output: "sequence_kl",
		Reason: "the divergence of every response, for the logger: the gate that it decides is matched",
	},
	{
		File: "verl/*.json", Output: "*loss",
		When:   func(c *Case) bool { return !anyToken(c) && isNaN(c, "loss") },
		Reason: "no valid token: verl returns 0/0, a NaN to be logged; we return 0, and both have gradient 0",
	},
	{
		File: "verl/value_loss*.json", Reason: "a critic's clipped regression; the critic here is solved, not trained",
	},
	{
		File: "skyrl/advantages_reductions*.json", Source: "ppo_critic_loss", Reason: "a critic's clipped regression; the critic here is solved, not trained",
	},
	{
		File: "verl/policy_loss_bypass_mode*.json", Output: "loss",
		When:   func(c *Case) bool { return isNaN(c, "loss") },
		Reason: "every token is rejected: verl returns 0/0, a NaN to be logged; we return 0, and both have gradient 0",
	},
	{
		File: "verl/agg_loss*.json", Output: "loss",
		When:   func(c *Case) bool { return !finite(c.Inputs.Flat("loss_mat")) && isNaN(c, "loss") },
		Reason: "NaN or Inf in the padding: verl's seq-mean forms multiply by the mask and let it through; we never read masked tokens",
	},
	{
		File: "verl/policy_loss_*.json", Output: "metrics/actor/pg_clipfrac_lower",
		When: func(c *Case) bool {
			return slices.ContainsFunc([]string{"_cispo ", "_gspo ", "_sapo "}, func(name string) bool { return strings.Contains(c.Source, name) }) &&
				c.Outputs.Sub("metrics").Float("actor/pg_clipfrac_lower") == 0
		},
		Reason: "verl logs a constant 0 for methods that have no lower clip; we log nothing",
	},
	{
		File: "verl/policy_loss_sapo*.json", Output: "metrics/actor/pg_clipfrac",
		When:   func(c *Case) bool { return c.Outputs.Sub("metrics").Float("actor/pg_clipfrac") == 0 },
		Reason: "verl logs a constant 0: SAPO clips nothing; we log nothing",
	},
	{
		File: "papers/ctpo*.json", When: (*Case).Raised,
		Reason: "power 0: the authors' code raises TypeError (torch.exp of a Python float); ours computes bounds that do not grow",
	},
	{
		File: "verl-recipe/gvpo*.json", Output: "loss", When: func(c *Case) bool { return isNaN(c, "loss") },
		Reason: "a response without tokens: verl-recipe divides by its length and gets NaN; ours leaves it out of its group",
	},
	{
		File: "papers/m2po*.json", When: (*Case).Raised, SecondSet: true,
		Reason: "the authors' solver returns a bare number in some branches and their caller raises TypeError; ours returns no clip",
	},
	{
		File: "skyrl/policy_losses*.json", Output: "metrics/clip_ratio",
		When: func(c *Case) bool {
			return slices.Contains([]string{"sapo", "kl_cov", "cross_entropy"}, c.Params.String("policy_loss_type")) &&
				c.Outputs.Sub("metrics").Float("clip_ratio") == 0
		},
		Reason: "SkyRL logs a constant 0 for losses that clip nothing; we log nothing",
	},
	{
		File: "skyrl/policy_losses*.json", Source: "clip_cov", Output: "loss", When: drawn,
		Reason: "the tokens to drop come from torch.randperm, which is not recorded; their number, in clip_ratio, is matched",
	},
	{
		File: "skyrl/policy_losses*.json", Source: "clip_cov", Output: "grad", When: drawn,
		Reason: "the tokens to drop come from torch.randperm, which is not recorded; their number, in clip_ratio, is matched",
	},
	{
		File: "open-instruct/*.json", When: func(c *Case) bool { return c.Params.Float("beta") != 0 && c.Params.Int("kl_estimator") == 3 },
		Reason: "a KL term of the ratio times k1, with a gradient through both; no estimator of ours is that",
	},
	{
		File: "trl/adaptive_entropy*.json", When: func(c *Case) bool { return !c.Params.Bool("use_adaptive_entropy") },
		Reason: "a constant bonus: the term entropy, matched with verl",
	},
	{
		File: "nemo-rl/positive_nll*.json", When: func(c *Case) bool { return c.Params.Float("reference_policy_kl_penalty") != 0 },
		Reason: "a k3 whose weight of 1 is differentiated too, which adds a score-function term; no estimator of ours is that",
	},
}, listOutputs("autumn/flash_reinforce*.json", "radixark/miles",
	"figures of miles for its logger; the weights with the gate applied are matched",
	"tis", "tis_abs", "tis_binary_kl", "tis_seq_reject", "seq_binary_kl",
), listOutputs("autumn/nemo_correction_level*.json", "",
	"a figure for the logger; with GSPO the reference broadcasts [B,1] by [B] and is B times too large",
	"sampling_importance_ratio", "is_oob_ratio",
), listOutputs("autumn/prime_ipo_score_centering*.json", "",
	"figures for the logger: those of the same loss without centering are matched in prime_losses",
	"metrics/is_masked", "metrics/masked_mismatch_kl", "metrics/unmasked_mismatch_kl",
), listOutputs("autumn/prime_losses*.json", "",
	"shares by response for the logger; ours are logged as actor/pg_clipfrac over tokens",
	"metrics/is_clipped", "metrics/ratio_capped",
), listOutputs("autumn/sao_bpco*.json", "eecrazy",
	"figures for the logger: value and gradient are matched",
	"dis_mask_frac", "dis_ratio_mean", "in_region", "ppo_kl", "train_rollout_logprob_abs_diff",
), listOutputs("nemo-rl/*.json", "",
	"figures of NeMo-RL's logger about ratios, on every loss; value, gradient, mismatch and figures of the method itself are matched",
	"probs_ratio*", "kl_penalty", "sampling_importance_ratio",
	"num_valid_samples", "approx_entropy", "is_oob_ratio", "on_policy_distillation/adv_*"),
	listOutputs("verl-recipe/flowrl*.json", "", "means of inputs, or of what is logged under other names", "actor/log_prob", "actor/old_log_prob", "actor/ref_log_prob"),
	listOutputsWhen("nemo-rl/positive_nll*.json", "",
		func(c *Case) bool {
			return !c.Params.Bool("token_level_loss") && math.Abs(c.Outputs.Float("loss")) > 10
		},
		"NeMo-RL adds 1e-8 to the length of each response: a part in 1e8 of a response of one token whose ratio is huge", "loss", "grad"),
	listOutputs("open-instruct/*.json", "",
		"open-instruct's split of the dropped tokens by side and the share of clamped weights; the weights and the mask are matched",
		"val/rho_drop_low_frac", "val/rho_drop_high_frac", "val/rho_clipfrac"),
	listOutputs("papers/vespo*.json", "",
		"tallies of the authors' logging: parameters echoed, splits by sign, counts of noise; the means and ranges of w_seq and phi are matched",
		"metrics/vespo/k_*", "metrics/vespo/lambda_*", "metrics/vespo/log_w_*", "metrics/vespo/*pos*", "metrics/vespo/*neg*",
		"metrics/vespo/*tis*", "metrics/vespo/w_seq_std"),
	listOutputs("areal/grpo_loss*.json", "grpo_loss_fn",
		"a matrix per token for AReaL's logger; value and gradient are matched, and the weights and fractions of rejection in rejection_sampling.json",
		"stats/importance_weight", "stats/sapo_soft_gate", "stats/rs_filtered_fraction"),
	listOutputsWhen("areal/grpo_loss*.json", "grpo_loss_fn",
		func(c *Case) bool {
			return c.Params.Bool("use_sapo_loss") || c.Params.Has("m2_threshold") || c.Params.String("importance_sampling_level") == "sequence"
		},
		"a matrix per token for AReaL's logger; matched for the token-level clip",
		"stats/clip_ratio", "stats/dual_clip_ratio"),
	listOutputsWhen("areal/grpo_loss*.json", "grpo_loss_fn", func(c *Case) bool { return c.Params.Has("m2_threshold") },
		"the weights of rejection sampling under M2PO's mask; matched where there is no such mask", "stats/behave_imp_weight"),
	listOutputs("roll/pg_loss*.json", "",
		"figures of ROLL's logger: ratios and clip fractions averaged over masked positions too, parameters echoed; losses and gradient are matched",
		"metrics/actor/ratio_*", "metrics/actor/ppo_ratio_*",
		"metrics/actor/tis_*", "metrics/actor/topr_*", "metrics/actor/cispo_*", "metrics/actor/kimi15_*", "metrics/actor/is_weight_*"),
	listOutputs("roll/pg_loss*.json", "",
		"statistics of the engine gap that the loss logs on the way; train_infer_correction.json has them, and its owner matches those",
		"metrics/actor/train_infer_*"),
	listOutputsWhen("roll/pg_loss*.json", "", func(c *Case) bool {
		return c.Params.String("loss_agg_mode") == "token-mean" && len(c.Params.Sub("train_infer_correction")["filters"].([]any)) > 0
	}, "ROLL's token-mean forgets the mask, so its filters have no effect; ours have, as the filters' documentation says",
		"loss", "grad", "metrics/actor/pg_loss@sum", "metrics/actor/total_loss@sum"),
	listOutputs("trl/*.json", "_compute_loss",
		"the mean of the entropies that are given as input, and an echoed coefficient: nothing of ours to compare",
		"metrics/entropy", "metrics/entropy_coef"),
	listOutputsWhen("trl/*.json", "_compute_loss",
		func(c *Case) bool {
			kind := c.Params.String("loss_type")
			return c.Params.String("importance_sampling_level") != "token" || c.Params.Has("delta") || strings.Contains(c.Source, "gmpo") ||
				!slices.Contains([]string{"grpo", "bnpo", "dr_grpo", "dapo"}, kind)
		},
		"clip fractions of TRL's logger for other losses than the token-level clip, where they are matched; value, gradient, masks and weights are matched",
		"metrics/clip_ratio/*", "metrics/cispo_clip_ratio"),
	Listings{{
		File: "trl/grpo_loss_types*.json",
		When: func(c *Case) bool {
			return c.Params.String("loss_type") == "luspo" && c.Params.String("importance_sampling_level") == "token"
		},
		Reason: "at level token TRL averages LUSPO over padding too and lets a gradient into masked tokens; ours offers LUSPO's sequence form",
	}},
	listOutputs("slime/policy_loss*.json", "",
		"figures of slime's logger about its own weights and masks; the weights and masks themselves are matched through the loss",
		"reported/train_rollout_logprob_abs_diff", "reported/opsm_clipfrac", "reported/ois", "reported/tis*"),
	listOutputsWhen("slime/policy_loss*.json", "",
		func(c *Case) bool {
			return slices.Contains([]string{"gspo", "cispo"}, c.Params.String("advantage_estimator"))
		},
		"slime's clip fraction of other losses than PPO, where it is matched", "reported/pg_clipfrac"),
	listOutputsWhen("slime/policy_loss*.json", "",
		func(c *Case) bool { return !c.Inputs.Has("entropy") },
		"the entropies behind this figure are not among the inputs; matched where they are", "reported/entropy_loss"),
	listOutputs("slime/policy_loss*.json", "",
		"statistics of the correction, which mis_weights.json has and whose owner accounts for them", "reported/mis_*"),
)

// listOutputs lists several outputs for one reason.
func listOutputs(file, source, reason string, outputs ...string) Listings {
	return listOutputsWhen(file, source, nil, reason, outputs...)
}

// listOutputsWhen is listOutputs for the cases that fulfil the condition.
func listOutputsWhen(file, source string, when func(*Case) bool, reason string, outputs ...string) Listings {
	rows := make(Listings, len(outputs))
	for i, o := range outputs {
		rows[i] = Listing{File: file, Source: source, Output: o, Reason: reason, When: when}
	}
	return rows
}

// drawn reports whether SkyRL's clip_cov draws a part of the candidates.
func drawn(c *Case) bool { return c.Params.Sub("clip_cov").Float("clip_ratio") < 1 }

// anyToken reports whether the mask of a verl case has a valid token.
func anyToken(c *Case) bool { return countTokens(c) != 0 }

// countTokens is the number of valid tokens of the case, -1 where it has no mask.
func countTokens(c *Case) int {
	for _, key := range []string{"response_mask", "loss_mask", "mask"} {
		if c.Inputs.Has(key) {
			valid := 0
			for _, m := range c.Inputs.Flat(key) {
				if m != 0 {
					valid++
				}
			}
			return valid
		}
	}
	return -1
}

// beyondCap reports whether the ratio of a valid token to the rollout is above the cap of prime-rl's losses.
func beyondCap(c *Case) bool {
	logp, roll, mask := c.Inputs.Flat("logp"), c.Inputs.Flat("rollout_logp"), c.Inputs.Flat("mask")
	for n, m := range mask {
		if m != 0 && math.Exp(logp[n]-roll[n]) > c.Params.Float("max_importance_ratio") {
			return true
		}
	}
	return false
}

// isNaN reports whether the output is there and is NaN.
func isNaN(c *Case, output string) bool {
	return c.Outputs.Has(output) && math.IsNaN(c.Outputs.Float(output))
}

// finite reports whether every number is.
func finite(x []float64) bool {
	for _, v := range x {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return false
		}
	}
	return true
}
