package golden

import (
	"slices"
	"strings"
)

// goldenListings are the cases and outputs that are not matched, and why.
var goldenAdvantageListings = Listings{
	{File: "autumn/sao_bpco*.json", Source: "compute_lagae", Output: "*", When: emptyRow,
		Reason: "a response without tokens has lambda -Inf and NaN advantages in the source; here it has none"},
	{File: "verl/pf_ppo*.json",
		Reason: "policy filtration resamples the batch with PyTorch's generator; it is no advantage estimator and not in the survey"},
	{File: "verl/functional*.json", Source: "get_response_mask",
		Reason: "finds the end of a padded response by its stop token; responses are ragged here and end where they end"},
	{File: "verl/functional*.json", Output: "masked_var_*",
		Reason: "the variance by itself, which nothing here reads; the whitening that divides by it is matched"},
	{File: "verl/adv_*.json", When: raisesOnWhitening,
		Reason: "verl raises where whitening has fewer than two tokens; here such advantages stay raw (gae) or are 0"},
	{File: "verl/adv_*.json", Output: "advantages_float32_internal",
		Reason: "verl's float32 result, kept for information beside the float64 one, which is matched"},
	{File: "areal/norm_kl*.json", Source: "Normalization", Output: "normalized_tok",
		Reason: "normalises a matrix of finished token advantages; estimators here start from rewards"},
	{File: "roll/advantages_kl*.json", Source: "compute_advantage", Output: "metrics/*",
		Reason: "figures of ROLL's clipping of advantages, which is not part of the estimator"},
	{File: "trl/advantages*.json", Output: "is_std_zero",
		Reason: "a figure TRL logs; zero-variance groups are counted by the trainer"},
	{File: "trl/advantages*.json", Output: "std_rewards",
		Reason: "an intermediate figure TRL logs; the advantages it leads to are matched"},
	{File: "roll/gigpo*.json", Output: "critic/reward_clip_frac",
		Reason: "a figure of ROLL's bound on advantages; the bounded advantages are matched"},
	{File: "verl-recipe/spo*.json", Output: "alpha0", Reason: startSPO},
	{File: "verl-recipe/spo*.json", Output: "beta0", Reason: startSPO},
	{File: "verl-recipe/spo*.json", Output: "alpha", When: adaptiveSPO, Reason: forgetSPO},
	{File: "verl-recipe/spo*.json", Output: "beta", When: adaptiveSPO, Reason: forgetSPO},
	{File: "verl-recipe/spo*.json", Output: "rho", Reason: forgetSPO},
	{File: "verl-recipe/spo*.json", Output: "spo/*", Reason: "figures of the update, whose results are matched where rho is constant"},
}

const (
	startSPO  = "the start from eight offline samples of each prompt, which the loop does not draw: the cases are matched from there on"
	forgetSPO = "the adaptive rho scores the prompt's previous response again, which the loop does not keep; with a constant rho the update is matched"
)

// adaptiveSPO are the cases with an adaptive rho.
func adaptiveSPO(c *Case) bool { return c.Params.String("rho_type") == "kl" }

// raisesOnWhitening are the batches with fewer than two tokens.
func raisesOnWhitening(c *Case) bool {
	return c.Raised() && !strings.Contains(c.Source, "passk")
}

// emptyRow reports whether a response of the case has no token.
func emptyRow(c *Case) bool {
	for _, row := range c.Inputs.Matrix("mask") {
		if !slices.Contains(row, 1) {
			return true
		}
	}
	return false
}
