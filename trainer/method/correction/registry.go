package correction

import (
	_ "embed"

	"driftlab/trainer/method"
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
	{Spec: method.Spec{Name: "none"}, New: func() Weighting { return method.New[None]() }},
	{Spec: method.Spec{Name: "token_tis"}, New: func() Weighting { return method.New[TokenTIS]() }},
	{Spec: method.Spec{Name: "sequence_tis"}, New: func() Weighting { return method.New[SequenceTIS]() }},
	{Spec: method.Spec{Name: "geometric_tis"}, New: func() Weighting { return method.New[GeometricTIS]() }},
	{Spec: method.Spec{Name: "segment_tis"}, New: func() Weighting { return method.New[SegmentTIS]() }},
	{Spec: method.Spec{Name: "token_mis"}, New: func() Weighting { return method.New[TokenMIS]() }},
	{Spec: method.Spec{Name: "sequence_mis"}, New: func() Weighting { return method.New[SequenceMIS]() }},
	{Spec: method.Spec{Name: "icepop"}, New: func() Weighting { return method.New[IcePop]() }},
	{Spec: method.Spec{Name: "cis"}, New: func() Weighting { return method.New[CIS]() }},
}.Filled(method.Spec{Group: "correction weight", Gradient: "constant: d loss/d logp_t is multiplied by w_t"}, examples, about)

// Masks lists the rejection rules a recipe can name under correction.masks.
var Masks = method.Table[Masking]{
	{Spec: method.Spec{Name: "geometric"}, New: func() Masking { return method.New[Geometric]() }},
	{Spec: method.Spec{Name: "sequence_mask"}, New: func() Masking { return method.New[SequenceMask]() }},
	{Spec: method.Spec{Name: "token_mask"}, New: func() Masking { return method.New[TokenMask]() }},
	{Spec: method.Spec{Name: "segment_mask"}, New: func() Masking { return method.New[SegmentMask]() }},
	{Spec: method.Spec{Name: "outlier"}, New: func() Masking { return method.New[Outlier]() }},
	{Spec: method.Spec{Name: "veto"}, New: func() Masking { return method.New[Veto]() }},
	{Spec: method.Spec{Name: "opsm"}, New: func() Masking { return method.New[OPSM]() }},
	{Spec: method.Spec{Name: "tv_divergence"}, New: func() Masking { return method.New[TVDivergence]() }},
	{Spec: method.Spec{Name: "estr"}, New: func() Masking { return method.New[ESTR]() }},
	{Spec: method.Spec{Name: "last_version"}, New: func() Masking { return method.New[LastVersion]() }},
	{Spec: method.Spec{Name: "truncated"}, New: func() Masking { return method.New[Truncated]() }},
	{Spec: method.Spec{Name: "trm"}, New: func() Masking { return method.New[TRM]() }},
	{Spec: method.Spec{Name: "band"}, New: func() Masking { return method.New[Band]() }},
	{Spec: method.Spec{Name: "random_mask"}, New: func() Masking { return method.New[RandomMask]() }},
	{Spec: method.Spec{Name: "failure_tokens"}, New: func() Masking { return method.New[FailureTokens]() }},
	{Spec: method.Spec{Name: "tail_mask"}, New: func() Masking { return method.New[TailMask]() }},
	rejection("token_k1"),
	rejection("token_k2"),
	rejection("token_k3"),
	rejection("seq_sum_k1"),
	rejection("seq_sum_k2"),
	rejection("seq_sum_k3"),
	rejection("seq_mean_k1"),
	rejection("seq_mean_k2"),
	rejection("seq_mean_k3"),
	rejection("seq_max_k2"),
	rejection("seq_max_k3"),
}.Filled(method.Spec{Group: "correction mask", Gradient: "constant: rejected tokens have none"}, examples, about)

// rejection is the entry of one of verl's eleven modes.
func rejection(name string) method.Entry[Masking] {
	return method.Entry[Masking]{Spec: method.Spec{Name: name}, New: func() Masking { return newRejection(name) }}
}
