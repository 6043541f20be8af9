package golden

// goldenListings are the cases and outputs that are not matched, and why.
var goldenCorrectionListings = Listings{
	{File: "verl/rollout_is_weights*.json", When: (*Case).Raised,
		Reason: "verl divides by zero where every weight is 0; the effective sample size here is 0"},
	{File: "verl/rollout_parse*.json", Source: "compute_rollout_correction_and_rejection_mask", When: (*Case).Raised,
		Reason: "verl raises on a batch without a valid token; here nothing is weighed and the figures are 0"},
	{File: "roll/train_infer_correction*.json", Output: "metrics/*_mask_mean@sum",
		Reason: "ROLL's token-mean forgets the mask: a sum over all positions, padding included, by the number of tokens"},
	{File: "roll/train_infer_correction*.json", Output: "metrics/actor/is_weight_clipfrac@sum",
		Reason: "ROLL's token-mean forgets the mask: a sum over all positions, padding included, by the number of tokens"},
	{File: "slime/mis_weights*.json", Output: "metrics_mean/rs_*",
		Reason: "fractions of the second rule by itself; the masks that both rules leave are matched"},
	{File: "slime/mis_weights*.json", Output: "metrics_mean/is_ratio_*",
		Reason: "figures of the weights after all rules, which are matched one by one"},
	{File: "slime/mis_weights*.json", Output: "metrics_mean/tis_weight_after_bound",
		Reason: "the mean of the weights, which are matched one by one"},
	{File: "slime/mis_weights*.json", Output: "metrics_mean/batch_norm_factor", When: normalisesSequences,
		Reason: "verl divides by the mean over n + 1e-8 tokens, slime over n: the factor agrees to 2e-9 only"},
	{File: "slime/mis_weights*.json", Output: "weights", When: normalisesSequences,
		Reason: "verl divides by the mean over n + 1e-8 tokens, slime over n: the weights agree to 2e-9 only"},
	{File: "slime/advantages_opsm*.json", Source: "compute_opsm_mask", Output: "opsm_clipfrac",
		Reason: "its numerator counts masked-out positions, so that a response can count for more than one"},
}

// normalisesSequences are slime's batch-normalised sequence weights.
func normalisesSequences(c *Case) bool {
	return c.Params.Bool("tis_batch_normalize") && c.Params.String("tis_level") == "sequence"
}
