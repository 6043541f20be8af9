package correction

import (
	_ "embed"

	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
)

// examples are the worked examples of the specs: input, parameters, result. A test recomputes them;
// go test -run WorkedExamples -update writes them.
//
//go:embed examples.txt
var examples string

// Weightings lists the weightings a recipe can name under correction.weights.
var Weightings = method.Table[Weighting]{
	{Spec: method.Spec{
		Name: "none", Unit: method.Token,
		Source:   "-",
		Formula:  "w_t = 1",
		Gradient: "constant: nothing to differentiate",
		Needs:    batch.Columns{batch.LogpRoll, batch.Anchor},
	}, New: func() Weighting { return &None{} }},
	{Spec: method.Spec{
		Name: "token_tis", Aliases: []string{"tis"}, Unit: method.Token,
		Source:  "verl rollout_corr_helper rollout_is=token; SkyRL; slime; FlashRL",
		Formula: "w_t = min(max(ρ_t, floor), cap),  ρ_t = exp(clamp(old_t − roll_t, ±20))",
		Needs:   batch.Columns{batch.LogpRoll, batch.Anchor},
	}, New: func() Weighting { return &TokenTIS{Cap: 2} }},
	{Spec: method.Spec{
		Name: "sequence_tis", Aliases: []string{"seq_tis"}, Unit: method.Sequence,
		Source:   "verl rollout_corr_helper rollout_is=sequence; SkyRL; VCPO (arXiv 2602.17616)",
		Formula:  "w_i = min(max(exp(clamp(Σ_t (old_t − roll_t), ±20)), floor), cap)",
		Gradient: "constant: d loss/d logp_t is multiplied by w_i",
		Needs:    batch.Columns{batch.LogpRoll, batch.Anchor},
	}, New: func() Weighting { return &SequenceTIS{Cap: 2} }},
	{Spec: method.Spec{
		Name: "geometric_tis", Aliases: []string{"geo_tis"}, Unit: method.Sequence,
		Source:   "AReaL apply_rejection_sampling (sequence, mean); ROLL weight_type geometric; slime mis.py",
		Formula:  "w_i = min(max(exp(clamp(Σ_t (old_t − roll_t)/max(T_i,1), ±20)), floor), cap)",
		Gradient: "constant: d loss/d logp_t is multiplied by w_i",
		Needs:    batch.Columns{batch.LogpRoll, batch.Anchor},
	}, New: func() Weighting { return &GeometricTIS{Cap: 2} }},
	{Spec: method.Spec{
		Name: "segment_tis", Aliases: []string{"turn_tis"}, Unit: method.Turn,
		Source:   "ROLL compute_train_infer_correction weight_type segment",
		Formula:  "w_k = min(max(exp(clamp(mean_{t∈k}(old_t − roll_t), ±20)), floor), cap); the sum with geometric: false",
		Gradient: "constant: d loss/d logp_t is multiplied by w_k",
		Needs:    batch.Columns{batch.LogpRoll, batch.Anchor, batch.Turn},
	}, New: func() Weighting { return &SegmentTIS{Cap: 2, By: ByTurn, Geometric: true} }},
	{Spec: method.Spec{
		Name: "token_mis", Unit: method.Token,
		Source:  "slime mis.py; two-sided it is IcePop (arXiv 2510.18855)",
		Formula: "w_t = ρ_t·1[low ≤ ρ_t ≤ high]; low 0 is the one-sided form",
		Needs:   batch.Columns{batch.LogpRoll, batch.Anchor},
	}, New: func() Weighting { return &TokenMIS{High: 2} }},
	{Spec: method.Spec{
		Name: "sequence_mis", Aliases: []string{"seq_mis"}, Unit: method.Sequence,
		Source:   "When Speed Kills Stability (richardli.xyz/rl-collapse); verl rollout_is=sequence with low_high",
		Formula:  "w_i = W_i·1[low ≤ W_i ≤ high],  W_i = exp(clamp(Σ_t (old_t − roll_t), ±20))",
		Gradient: "constant: d loss/d logp_t is multiplied by w_i",
		Needs:    batch.Columns{batch.LogpRoll, batch.Anchor},
	}, New: func() Weighting { return &SequenceMIS{High: 2} }},
	{Spec: method.Spec{
		Name: "icepop", Unit: method.Token,
		Source:  "Ring-1T, arXiv 2510.18855; verl decoupled_token_icepop; slime icepop_function",
		Formula: "w_t = ρ_t·1[low ≤ ρ_t ≤ high]; binary: w_t = 1[low ≤ ρ_t ≤ high]",
		Needs:   batch.Columns{batch.LogpRoll, batch.Anchor},
	}, New: func() Weighting { return &IcePop{Low: 0.5, High: 5} }},
}.Filled(method.Spec{Group: "correction weight", Gradient: "constant: d loss/d logp_t is multiplied by w_t"}, examples)

// Masks lists the rejection rules a recipe can name under correction.masks.
var Masks = method.Table[Masking]{
	{Spec: method.Spec{
		Name: "geometric", Aliases: []string{"geo_mask"}, Unit: method.Sequence,
		Source:  "When Speed Kills Stability (Geo-RS); SkyRL sequence_mask_metric geometric",
		Formula: "keep_i = 1[low ≤ exp(Σ_t (old_t − roll_t)/max(T_i,1)) ≤ high]",
		Needs:   batch.Columns{batch.LogpRoll, batch.Anchor},
	}, New: func() Masking { return &Geometric{Low: 0.99, High: 1.01} }},
	{Spec: method.Spec{
		Name: "sequence_mask", Aliases: []string{"product"}, Unit: method.Sequence,
		Source:  "SkyRL sequence_mask_metric product; slime rs_level sequence",
		Formula: "keep_i = 1[low ≤ exp(clamp(Σ_t (old_t − roll_t), ±20)) ≤ high]",
		Needs:   batch.Columns{batch.LogpRoll, batch.Anchor},
	}, New: func() Masking { return &SequenceMask{Low: 0.5, High: 2} }},
	{Spec: method.Spec{
		Name: "token_mask", Aliases: []string{"icepop_mask"}, Unit: method.Token,
		Source:  "SkyRL token_mask_is_threshold; slime mis.py; ROLL filters",
		Formula: "keep_t = 1[low ≤ ρ_t ≤ high]",
		Needs:   batch.Columns{batch.LogpRoll, batch.Anchor},
	}, New: func() Masking { return &TokenMask{Low: 0.5, High: 2} }},
	{Spec: method.Spec{
		Name: "segment_mask", Aliases: []string{"turn_mask"}, Unit: method.Turn,
		Source:  "ROLL filters agg_type segment",
		Formula: "keep_k = 1[low ≤ exp(mean_{t∈k}(old_t − roll_t)) ≤ high]",
		Needs:   batch.Columns{batch.LogpRoll, batch.Anchor, batch.Turn},
	}, New: func() Masking { return &SegmentMask{Low: 0.8, High: 1.2, By: ByTurn} }},
	{Spec: method.Spec{
		Name: "outlier", Aliases: []string{"outlier_mask"}, Unit: method.Sequence,
		Source:  "SkyRL outlier_token_is_threshold",
		Formula: "keep_i = 1[no t: ρ_t < low or ρ_t > high]",
		Needs:   batch.Columns{batch.LogpRoll, batch.Anchor},
	}, New: func() Masking { return &Outlier{Low: 1e-4, High: 100} }},
	{Spec: method.Spec{
		Name: "veto", Aliases: []string{"token_veto", "wtrs"}, Unit: method.Sequence,
		Source:  "verl rollout_token_veto_threshold (former); slime rs_veto_threshold; INTELLECT-3, arXiv 2512.16144",
		Formula: "keep_i = 1[min_t (old_t − roll_t) ≥ log threshold]",
		Needs:   batch.Columns{batch.LogpRoll, batch.Anchor},
	}, New: func() Masking { return &Veto{Threshold: 1e-4} }},
	{Spec: method.Spec{
		Name: "opsm", Unit: method.Sequence,
		Source:   "DeepSeek-V3.2, arXiv 2512.02556; TRL get_off_policy_mask; slime compute_opsm_mask",
		Formula:  "D_i = Σ_t (roll_t − logp_t)/max(T_i,1); drop iff A < 0 and D_i > delta",
		Gradient: "constant: dropped tokens have none from the policy term, KL terms keep theirs",
		Needs:    batch.Columns{batch.LogpRoll, batch.Logp, batch.Advantage},
	}, New: func() Masking { return &OPSM{Delta: 0.5, Signs: Negative} }},
	{Spec: method.Spec{
		Name: "trm", Unit: method.Sequence,
		Source:         "arXiv 2512.23075 (read through two notes that quote it)",
		Formula:        "keep_i = 1[max_t KL(mu_t || pi_t) ≤ delta], over the whole vocabulary",
		Needs:          batch.Columns{batch.LogpRoll, batch.Logp, batch.DistRoll, batch.Dist},
		Reconstruction: "read as KL(behaviour || current), rejected responses kept as zeros in the denominators; sampled-token readings: seq_max_k2, seq_max_k3",
	}, New: func() Masking { return &TRM{Delta: 0.05} }},
	{Spec: method.Spec{
		Name: "band", Unit: method.Token,
		Source:  "AReaL apply_rejection_sampling; ROLL compute_train_infer_correction filters",
		Formula: "keep = 1[low ≤ aggregate over level of statistic(old − roll) ≤ high]",
		Needs:   batch.Columns{batch.LogpRoll, batch.Anchor},
	}, New: func() Masking { return &Band{Level: "token", Statistic: "ratio", Aggregate: "mean", High: 2} }},
	{Spec: method.Spec{
		Name: "random_mask", Aliases: []string{"placebo"}, Unit: method.Token,
		Source:  "none: a control arm, to be run at the rate of the mask it is compared with",
		Formula: "keep_t = 1[u_t ≥ rate],  u_t uniform from (seed, step, t): independent of every ratio; with a band, as many as lie outside it",
	}, New: func() Masking { return &RandomMask{Rate: 1e-3} }},
	{Spec: method.Spec{
		Name: "tail_mask", Unit: method.Token,
		Source:  "an instrument: the ablation by sign of DPPO, arXiv 2602.04879, read through notes",
		Formula: "drop the ⌊share·M⌋ tokens, at least one, with the largest |exp(logp_t) − exp(roll_t)| or |logp_t − roll_t| of those with sign(A_t) in signs",
		Needs:   batch.Columns{batch.LogpRoll, batch.Logp, batch.Advantage},
	}, New: func() Masking { return &TailMask{Share: 0.005, Signs: Negative, By: "tv"} }},
	rejection("token_k1", "k1_t", method.Token),
	rejection("token_k2", "k2_t", method.Token),
	rejection("token_k3", "k3_t", method.Token),
	rejection("seq_sum_k1", "Σ_t k1_t", method.Sequence),
	rejection("seq_sum_k2", "Σ_t k2_t", method.Sequence),
	rejection("seq_sum_k3", "Σ_t k3_t", method.Sequence),
	rejection("seq_mean_k1", "Σ_t k1_t/(T_i+1e-8)", method.Sequence),
	rejection("seq_mean_k2", "Σ_t k2_t/(T_i+1e-8)", method.Sequence),
	rejection("seq_mean_k3", "Σ_t k3_t/(T_i+1e-8)", method.Sequence),
	rejection("seq_max_k2", "max_t k2_t", method.Sequence),
	rejection("seq_max_k3", "max_t k3_t", method.Sequence),
}.Filled(method.Spec{Group: "correction mask", Gradient: "constant: rejected tokens have none"}, examples)

// rejection is the entry of one of verl's eleven modes.
func rejection(name, statistic string, unit method.Unit) method.Entry[Masking] {
	formula := "keep = 1[" + statistic + " ≤ high],  k2 = e²/2, k3 = exp(e) − 1 − e, e = clamp(old − roll, ±20)"
	if name[len(name)-1] == '1' {
		formula = "keep = 1[log low ≤ " + statistic + " ≤ log high],  k1 = roll − old: bounds of the inverse ratio"
	}
	return method.Entry[Masking]{Spec: method.Spec{
		Name: name, Unit: unit,
		Source:  "verl compute_rollout_rejection_mask",
		Formula: formula,
		Needs:   batch.Columns{batch.LogpRoll, batch.Anchor},
	}, New: func() Masking { return newRejection(name) }}
}
