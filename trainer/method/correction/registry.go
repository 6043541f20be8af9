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

// about is the text of the methods: what each does, when to use it, and its source.
//
//go:embed methods.txt
var about string

// Weightings lists the weightings a recipe can name under correction.weights.
var Weightings = method.Table[Weighting]{
	{Spec: noneSpec, New: func() Weighting { return method.New[None]() }},
	{Spec: tokenTisSpec, New: func() Weighting { return method.New[TokenTIS]() }},
	{Spec: sequenceTisSpec, New: func() Weighting { return method.New[SequenceTIS]() }},
	{Spec: geometricTisSpec, New: func() Weighting { return method.New[GeometricTIS]() }},
	{Spec: segmentTisSpec, New: func() Weighting { return method.New[SegmentTIS]() }},
	{Spec: tokenMisSpec, New: func() Weighting { return method.New[TokenMIS]() }},
	{Spec: sequenceMisSpec, New: func() Weighting { return method.New[SequenceMIS]() }},
	{Spec: icepopSpec, New: func() Weighting { return method.New[IcePop]() }},
	{Spec: cisSpec, New: func() Weighting { return method.New[CIS]() }},
}.Filled(method.Spec{Group: "correction weight", Gradient: "constant: d loss/d logp_t is multiplied by w_t"}, examples, about)

// Masks lists the rejection rules a recipe can name under correction.masks.
var Masks = method.Table[Masking]{
	{Spec: geometricSpec, New: func() Masking { return method.New[Geometric]() }},
	{Spec: sequenceMaskSpec, New: func() Masking { return method.New[SequenceMask]() }},
	{Spec: tokenMaskSpec, New: func() Masking { return method.New[TokenMask]() }},
	{Spec: segmentMaskSpec, New: func() Masking { return method.New[SegmentMask]() }},
	{Spec: outlierSpec, New: func() Masking { return method.New[Outlier]() }},
	{Spec: vetoSpec, New: func() Masking { return method.New[Veto]() }},
	{Spec: opsmSpec, New: func() Masking { return method.New[OPSM]() }},
	{Spec: tvDivergenceSpec, New: func() Masking { return method.New[TVDivergence]() }},
	{Spec: estrSpec, New: func() Masking { return method.New[ESTR]() }},
	{Spec: lastVersionSpec, New: func() Masking { return method.New[LastVersion]() }},
	{Spec: truncatedSpec, New: func() Masking { return method.New[Truncated]() }},
	{Spec: trmSpec, New: func() Masking { return method.New[TRM]() }},
	{Spec: bandSpec, New: func() Masking { return method.New[Band]() }},
	{Spec: randomMaskSpec, New: func() Masking { return method.New[RandomMask]() }},
	{Spec: failureTokensSpec, New: func() Masking { return method.New[FailureTokens]() }},
	{Spec: tailMaskSpec, New: func() Masking { return method.New[TailMask]() }},
	rejection("token_k1", "k1_t", method.Token,
		"Keeps tokens whose log-ratio k1 = log(mu/old) lies between two bounds, as verl's mode of this name.",
		"Use it to reproduce a verl configuration; token_mask is the same rule on the inverse ratio."),
	rejection("token_k2", "k2_t", method.Token,
		"Keeps tokens whose k2, half the squared log-ratio, is at most high.",
		"Use it for a token criterion that treats both directions of mismatch alike."),
	rejection("token_k3", "k3_t", method.Token,
		"Keeps tokens whose k3, an estimate of the KL divergence that is never negative, is at most high.",
		"Use it for a token criterion that is stricter where old exceeds mu."),
	rejection("seq_sum_k1", "Σ_t k1_t", method.Sequence,
		"Keeps responses whose sum of k1 over tokens lies between two bounds, as verl's mode of this name.",
		"Use it to reproduce a verl configuration; sequence_mask is the same rule on the inverse ratio."),
	rejection("seq_sum_k2", "Σ_t k2_t", method.Sequence,
		"Keeps responses whose sum of k2 over tokens is at most high.",
		"Use it to limit the total squared mismatch of a response; long responses are rejected more often."),
	rejection("seq_sum_k3", "Σ_t k3_t", method.Sequence,
		"Keeps responses whose sum of k3 over tokens is at most high.",
		"Use it to limit the estimated KL divergence of whole responses; long responses are rejected more often."),
	rejection("seq_mean_k1", "Σ_t k1_t/(T_i+1e-8)", method.Sequence,
		"Keeps responses whose mean k1 lies between two bounds, as verl's mode of this name.",
		"Use it to reproduce verl's geometric rejection; the mask geometric is the same rule on the inverse ratio."),
	rejection("seq_mean_k2", "Σ_t k2_t/(T_i+1e-8)", method.Sequence,
		"Keeps responses whose mean k2 is at most high.",
		"Use it to limit the mean squared mismatch per token, whatever the length of the response."),
	rejection("seq_mean_k3", "Σ_t k3_t/(T_i+1e-8)", method.Sequence,
		"Keeps responses whose mean k3 is at most high.",
		"Use it to limit the estimated KL divergence per token, whatever the length of the response."),
	rejection("seq_max_k2", "max_t k2_t", method.Sequence,
		"Keeps responses whose largest k2 is at most high.",
		"Use it to limit the worst token of a response in both directions of mismatch."),
	rejection("seq_max_k3", "max_t k3_t", method.Sequence,
		"Keeps responses whose largest k3 is at most high.",
		"Use it to approximate the mask trm from sampled tokens, where the rollout engine records no distributions."),
}.Filled(method.Spec{Group: "correction mask", Gradient: "constant: rejected tokens have none"}, examples, about)

// rejection is the entry of one of verl's eleven modes.
func rejection(name, statistic string, unit method.Unit, does, when string) method.Entry[Masking] {
	formula := "keep = 1[" + statistic + " ≤ high],  k2 = e²/2, k3 = exp(e) − 1 − e, e = clamp(old − roll, ±20)"
	if name[len(name)-1] == '1' {
		formula = "keep = 1[log low ≤ " + statistic + " ≤ log high],  k1 = roll − old: bounds of the inverse ratio"
	}
	return method.Entry[Masking]{Spec: method.Spec{
		Name: name, Unit: unit, Does: does, When: when,
		Source:  "verl compute_rollout_rejection_mask",
		Formula: formula,
		Needs:   batch.Columns{batch.LogpRoll, batch.Anchor},
	}, New: func() Masking { return newRejection(name) }}
}
