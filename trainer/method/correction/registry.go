package correction

import (
	"embed"

	"driftlab/trainer/method"
)

// texts are methods.txt: what each method does, when to use it, and its source; and examples.txt: worked examples, which a
// test recomputes (go test -run WorkedExamples -update writes them).
//
//go:embed examples.txt methods.txt
var texts embed.FS

// Weightings lists the weightings a recipe can name under correction.weights.
var Weightings = method.Table[Weighting]{
	method.Of[Weighting, None]("none"),
	method.Of[Weighting, TokenTIS]("token_tis"),
	method.Of[Weighting, SequenceTIS]("sequence_tis"),
	method.Of[Weighting, GeometricTIS]("geometric_tis"),
	method.Of[Weighting, SegmentTIS]("segment_tis"),
	method.Of[Weighting, TokenMIS]("token_mis"),
	method.Of[Weighting, SequenceMIS]("sequence_mis"),
	method.Of[Weighting, IcePop]("icepop"),
	method.Of[Weighting, CIS]("cis"),
}.Filled(method.Spec{Group: "correction weight", Gradient: "constant: d loss/d logp_t is multiplied by w_t"}, texts)

// Masks lists the rejection rules a recipe can name under correction.masks.
var Masks = method.Table[Masking]{
	method.Of[Masking, Geometric]("geometric"),
	method.Of[Masking, SequenceMask]("sequence_mask"),
	method.Of[Masking, TokenMask]("token_mask"),
	method.Of[Masking, SegmentMask]("segment_mask"),
	method.Of[Masking, Outlier]("outlier"),
	method.Of[Masking, Veto]("veto"),
	method.Of[Masking, OPSM]("opsm"),
	method.Of[Masking, TVDivergence]("tv_divergence"),
	method.Of[Masking, ESTR]("estr"),
	method.Of[Masking, LastVersion]("last_version"),
	method.Of[Masking, Truncated]("truncated"),
	method.Of[Masking, TRM]("trm"),
	method.Of[Masking, Band]("band"),
	method.Of[Masking, RandomMask]("random_mask"),
	method.Of[Masking, FailureTokens]("failure_tokens"),
	method.Of[Masking, TailMask]("tail_mask"),
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
}.Filled(method.Spec{Group: "correction mask", Gradient: "constant: rejected tokens have none"}, texts)

// rejection is the entry of one of verl's eleven modes.
func rejection(name string) method.Entry[Masking] {
	return method.Entry[Masking]{Spec: method.Spec{Name: name}, New: func() Masking { return newRejection(name) }}
}
