package golden

import (
	"fmt"
	"slices"

	"driftlab/trainer/method"
	"driftlab/trainer/method/advantage"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/loss"
	"driftlab/trainer/method/trace"
)

// allMatchers are the matchers of all functions. Where two patterns cover a file, the narrower comes first.
var allMatchers = []Matcher{
	{File: "areal/behave_imp_weight_cap*.json", Match: matchBehaveCap},
	{File: "areal/grpo_loss*.json", Source: "compute_prox_logp_approximations", Match: matchProx},
	{File: "areal/grpo_loss*.json", Match: matchAReaLLoss},
	{File: "areal/norm_kl*.json", Source: "Normalization", Match: advantageMatchAReaL},
	{File: "areal/norm_kl*.json", Match: matchKLValue},
	{File: "areal/rejection_sampling*.json", Match: correctionMatchAReaL},
	{File: "autumn/bapo*.json", Match: matchBAPO},
	{File: "autumn/cis*.json", Match: matchCIS},
	{File: "autumn/flash_reinforce*.json", Match: matchFlash},
	{File: "autumn/kpop*.json", Match: matchKPop},
	{File: "autumn/molt_is_correction*.json", Match: matchOpenRLHF},
	{File: "autumn/nemo_correction_level*.json", Match: matchNeMoLevel},
	{File: "autumn/openrlhf_is_correction*.json", Match: matchOpenRLHF},
	{File: "autumn/prime_ipo_score_centering*.json", Match: matchCentredIPO},
	{File: "autumn/prime_losses*.json", Match: matchPrimeLosses},
	{File: "autumn/rspo*.json", Match: matchRSPO},
	{File: "autumn/sao_bpco*.json", Source: "compute_lagae", Match: matchLengthAdaptive},
	{File: "autumn/sao_bpco*.json", Match: matchSAO},
	{File: "autumn/score_centering_ppo*.json", Match: matchCentredPPO},
	{File: "autumn/score_centering_topk*.json", Match: matchCentering},
	{File: "miles/opd_topk*.json", Match: matchOPDTopK},
	{File: "miles/train_rollout_kl*.json", Match: matchRobust},
	{File: "ms-swift/fipo*.json", Match: matchFIPO},
	{File: "ms-swift/real*.json", Match: matchREAL},
	{File: "ms-swift/rlsd_sdar*.json", Source: "compute_sdar_loss", Match: matchSDAR},
	{File: "ms-swift/rlsd_sdar*.json", Source: "apply_rlsd_reweight", Match: matchRLSD},
	{File: "nemo-rl/mopd*.json", Match: matchMOPD},
	{File: "nemo-rl/positive_nll*.json", Match: matchPositiveNLL},
	{File: "nemo-rl/reward_shaping*.json", Match: matchShaping},
	{File: "open-instruct/rho_tv_divergence*.json", Match: matchRho},
	{File: "papers/aspo_archer*.json", Match: matchASPO},
	{File: "papers/ce_gppo*.json", Match: matchCEGPPO},
	{File: "papers/ctpo*.json", Match: matchCTPO},
	{File: "papers/dppo_stable_rl*.json", Match: matchStableRL},
	{File: "papers/gmpo_official*.json", Match: matchGMPOOfficial},
	{File: "papers/m2po*.json", Match: matchM2PO},
	{File: "papers/vcpo_opob*.json", Match: matchOPOB},
	{File: "papers/vespo*.json", Match: matchVESPO},
	{File: "prime-rl/advantages_2026*.json", Match: matchPrime2026},
	{File: "prime-rl/head_*.json", Match: matchPrimeHead},
	{File: "prime-rl/v2025oct_*.json", Match: matchPrimeMasked},
	{File: "prime-rl/v2026feb_*.json", Match: matchPrimeGeo},
	{File: "roll/advantages_kl*.json", Source: "reward_norm", Match: matchROLLNorm},
	{File: "roll/advantages_kl*.json", Source: "compute_approx_kl", Match: matchKLValue},
	{File: "roll/advantages_kl*.json", Match: advantageMatchROLL},
	{File: "roll/gigpo*.json", Match: matchGiGPO},
	{File: "roll/pg_loss*.json", Match: matchROLLLoss},
	{File: "roll/train_infer_correction*.json", Match: correctionMatchROLL},
	{File: "skyrl/advantages_reductions*.json", Source: "compute_advantages_and_returns", Match: advantageMatchSkyRL},
	{File: "skyrl/advantages_reductions*.json", Match: matchSkyRLReduction},
	{File: "skyrl/kl*.json", Match: matchKLValue},
	{File: "skyrl/off_policy_correction*.json", Match: correctionMatchSkyRL},
	{File: "skyrl/policy_losses*.json", Match: matchSkyRLLoss},
	{File: "skyrl/reductions_2026*.json", Source: "apply_overlong_filtering", Match: matchSkyRLOverlong},
	{File: "skyrl/reductions_2026*.json", Source: "minibatch", Match: matchSkyRLMinibatch},
	{File: "slime/advantages_opsm*.json", Source: "compute_opsm_mask", Match: matchSlimeOPSM},
	{File: "slime/advantages_opsm*.json", Match: advantageMatchSlime},
	{File: "slime/mis_weights*.json", Match: correctionMatchSlime},
	{File: "slime/policy_loss*.json", Match: matchSlimeLoss},
	{File: "trl/adaptive_entropy*.json", Match: matchAdaptiveEntropy},
	{File: "trl/advantages*.json", Match: advantageMatchTRL},
	{File: "trl/gmpo_gspotoken_a2po*.json", Source: "a2po_trainer", Match: matchA2PO},
	{File: "trl/gmpo_gspotoken_a2po*.json", Match: lossMatchTRL},
	{File: "trl/grpo_*.json", Match: lossMatchTRL},
	{File: "trl/iw_opd*.json", Match: matchIWOPD},
	{File: "trl/mask_truncated*.json", Match: matchTRLTruncated},
	{File: "verl-recipe/flowrl*.json", Match: matchFlowRL},
	{File: "verl-recipe/gvpo*.json", Match: matchGVPO},
	{File: "verl-recipe/spo*.json", Match: matchSPO},
	{File: "verl/adv_*.json", Match: matchVerl},
	{File: "verl/agg_loss*.json", Match: matchAggLoss},
	{File: "verl/data_metrics*.json", Match: matchData},
	{File: "verl/debug_metrics*.json", Source: "calculate_debug_metrics", Match: matchDebug},
	{File: "verl/debug_metrics*.json", Source: "pearson_correlation_coefficient", Match: matchPearson},
	{File: "verl/debug_metrics*.json", Source: "calculate_log_prob_diff", Match: matchLogProbDiff},
	{File: "verl/entropy*.json", Source: "compute_entropy_loss", Match: matchEntropyLoss},
	{File: "verl/entropy*.json", Source: "entropy_from_logits", Match: matchEntropyRows},
	{File: "verl/entropy*.json", Source: "logprobs_from_logits", Match: matchLogProbs},
	{File: "verl/functional*.json", Source: "masked_", Match: matchFunctional},
	{File: "verl/kl_controller*.json", Match: matchKLController},
	{File: "verl/kl_penalty*.json", Match: matchKLPenalty},
	{File: "verl/offpolicy_metrics*.json", Match: matchOffPolicy},
	{File: "verl/policy_loss_bypass_mode*.json", Match: matchBypass},
	{File: "verl/policy_loss_*.json", Match: matchVerlLoss},
	{File: "verl/presets*.json", Match: matchPreset},
	{File: "verl/rollout_corr_combined*.json", Match: matchVerlCombined},
	{File: "verl/rollout_is_metrics*.json", Match: matchVerlISMetrics},
	{File: "verl/rollout_is_weights*.json", Match: matchVerlLogRatio},
	{File: "verl/rollout_parse*.json", Match: matchParse},
	{File: "verl/rollout_rs_*.json", Match: matchVerlLogRatio},
	{File: "verl/variance_proxy*.json", Match: matchProxy},
}

// symmetric is the default of every estimator: positive advantages count in full.
var symmetric = *method.New[advantage.Asymmetry]()

// count is 1 for true.
func count(condition bool) float64 {
	if condition {
		return 1
	}
	return 0
}

// klTerm is a KL penalty in the loss.
func klTerm(e loss.Estimator, coef float64, bounds loss.KLBounds, agg loss.Aggregation) *loss.KLTerm {
	k := loss.NewKLTerm(e)
	k.Coef, k.In, k.Bounds, k.Aggregation = coef, loss.InLoss, bounds, agg
	return k
}

// explained is what the evaluation of a loss records of every token.
func explained(k *Check, l loss.Loss, b *batch.Batch) *trace.Trace {
	t, _, err := loss.Explain(l, b, nil)
	if err != nil {
		k.Fail("Explain: %v", err)
		return trace.New(b.Offsets)
	}
	return t
}

// noted is one figure of explained.
func noted(k *Check, l loss.Loss, b *batch.Batch, name string) []float64 {
	return terms(explained(k, l, b), name)
}

// terms is a figure of a trace by token, 0 where it has none.
func terms(t *trace.Trace, name string) []float64 {
	x := make([]float64, len(t.Tokens))
	for n := range x {
		term, _ := t.Tokens[n].Find(name)
		x[n] = float64(term.Value)
	}
	return x
}

// rowsOf are the rows of a matrix, cut to the lengths of the case's responses if it has any.
func rowsOf(c *Case, v Values, key string) [][]float64 {
	rows := v.Matrix(key)
	for i, n := range c.Inputs.FlatOr("lengths") {
		rows[i] = rows[i][:int(n)]
	}
	return rows
}

// cut is a column of the case's inputs by token, nil if it has none.
func cut(c *Case, key string) []float64 {
	if !c.Inputs.Has("lengths") || !c.Inputs.Has(key) {
		return c.Inputs.FlatOr(key)
	}
	return slices.Concat(rowsOf(c, c.Inputs, key)...)
}

// ragged is a batch of the case's responses.
func ragged(c *Case, mask string) *batch.Batch { return Batch(rowsOf(c, c.Inputs, mask)) }

// paperBatch reads the columns of every folder but verl's. An advantage per
// response is given to each of its tokens.
func paperBatch(c *Case) *batch.Batch {
	b := ragged(c, "mask")
	b.Now.Logp, b.Anchor, b.LogpRoll, b.Ref.Logp = cut(c, "logp"), cut(c, "old_logp"), cut(c, "rollout_logp"), cut(c, "ref_logp")
	b.Now.Entropy, b.Advantage = cut(c, "entropy"), cut(c, "adv")
	b.Advantage = append(b.Advantage, spread(b, c.Inputs.FlatOr("adv_seq"))...)
	return b
}

// spread gives each token the number of its response.
func spread(b *batch.Batch, rows []float64) (x []float64) {
	for i, r := range rows {
		from, to := b.Span(i)
		x = append(x, slices.Repeat([]float64{r}, to-from)...)
	}
	return x
}

// scale multiplies a loss and its gradient.
func scale(out *loss.Grad, by float64) {
	out.Loss *= by
	for n := range out.DLogp {
		out.DLogp[n] *= by
	}
}

// rowOf is the response of token n.
func rowOf(b *batch.Batch, n int) int {
	i, _ := slices.BinarySearch(b.Offsets, n+1)
	return i - 1
}

// valueAndGradient compares what a loss came to.
func valueAndGradient(k *Check, out *loss.Grad) {
	k.Scalar("loss", out.Loss)
	k.Vector("grad", out.DLogp)
}

// compared evaluates a loss and compares what it came to.
func compared(k *Check, l loss.Loss, b *batch.Batch) *loss.Grad {
	out := evaluate(k, l, b)
	valueAndGradient(k, out)
	return out
}

// metric compares a figure of the loss, 0 where it has none, with an output.
func metric(k *Check, out *loss.Grad, output, name string) {
	value, _ := out.Metric(name)
	k.Scalar(output, value)
}

// evaluate runs a loss on a case's batch and reports errors as failures.
func evaluate(k *Check, l loss.Loss, b *batch.Batch) *loss.Grad {
	out := &loss.Grad{}
	k.OK(method.Check(l))
	k.OK(l.Eval(out, b))
	return out
}

// metrics compares every metric of the case that the loss logged.
func lossMetrics(c *Case, k *Check, out *loss.Grad) {
	for name := range c.Outputs.Sub("metrics") {
		if value, ok := out.Metric(name); ok {
			k.Metric("metrics", name, value)
		}
	}
}

// parseEstimator reads an estimator by any of verl's names.
func parseEstimator(name string) (loss.Estimator, error) {
	base, plus := name, ""
	if n := len(name); n > 1 && name[n-1] == '+' {
		base, plus = name[:n-1], "+"
	}
	switch base {
	case "k1", "kl":
		return loss.K1 + loss.Estimator(plus), nil
	case "abs":
		return loss.Abs + loss.Estimator(plus), nil
	case "k2", "mse":
		return loss.K2 + loss.Estimator(plus), nil
	case "k3", "low_var_kl":
		return loss.K3 + loss.Estimator(plus), nil
	}
	return "", fmt.Errorf("unknown KL estimator %q (known: k1, abs, k2, k3, each with or without +)", name)
}
