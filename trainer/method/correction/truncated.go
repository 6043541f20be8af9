package correction

import (
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/trace"
)

// Truncated drops the responses that did not end with the stop token.
//
// They still count in the baseline of their group. ROLL also masks a response that ends
// exactly at the limit; open-instruct removes truncated responses before it computes
// advantages. A batch of truncated responses alone has a loss of 0.
type Truncated struct{}

var truncatedSpec = method.Spec{
	Name: "truncated", Aliases: []string{"mask_truncated_completions", "overlong_filtering"}, Unit: method.Sequence,
	Does:    "Drops responses that were cut at the length limit; they still count in the baseline of their group.",
	When:    "Use it if a cut response says nothing about its reasoning, so that its reward of 0 should not be learned from.",
	Source:  "DAPO overlong filtering, arXiv 2503.14476; TRL mask_truncated_completions, SkyRL apply_overlong_filtering, NeMo-RL overlong_filtering",
	Formula: "keep = 1[the response ended with the stop token]",
	Needs:   batch.Columns{batch.Finished},
}

// Reject clears the responses that were cut.
func (*Truncated) Reject(keep []bool, in *Input) error {
	if err := in.Require(batch.Finished); err != nil {
		return err
	}
	for i, finished := range in.Finished {
		if !finished {
			from, to := in.Span(i)
			reject(keep, in, from, to)
		}
	}
	return nil
}

func (*Truncated) rule(in *Input) rule {
	cut := make([]float64, in.Tokens())
	for i, finished := range in.Finished {
		for n := range in.Where(i, in.Mask) {
			cut[n] = count(!finished)
		}
	}
	return rule{lines: []trace.Line{{Name: "cut", Value: func(n int) float64 { return cut[n] }}}, keep: "not(cut)"}
}
