package correction

import (
	"driftlab/precision/elementary"
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/trace"
)

// Veto drops a whole response if its worst token's ratio is below a threshold.
//
// The comparison is strict and made on the log-ratio without the clamp, so
// thresholds below e^-20 work. A response without a counting token is kept. verl and slime
// compare old with rollout; prime-rl, at the time of INTELLECT-3 (1e-5), the current policy
// with the rollout's, which bypass mode does.
type Veto struct {
	// Threshold is the smallest ratio a token may have, in (0, 1]. Default 1e-4
	// (slime's example, prime-rl's first default).
	Threshold float64 `yaml:"threshold" default:"1e-4" range:"(0,1]"`
}

var vetoSpec = method.Spec{
	Name: "veto", Aliases: []string{"token_veto", "wtrs"}, Unit: method.Sequence,
	Does:    "Drops a response if the smallest ratio of its tokens is below a threshold.",
	When:    "Use it in addition to another correction, against tokens that the trainer finds nearly impossible.",
	Source:  "verl rollout_token_veto_threshold (former); slime rs_veto_threshold; INTELLECT-3, arXiv 2512.16144",
	Formula: "keep_i = 1[min_t (old_t − roll_t) ≥ log threshold]",
	Needs:   batch.Columns{batch.LogpRoll, batch.Anchor},
}

// Reject clears responses with a token below the threshold.
func (m *Veto) Reject(keep []bool, in *Input) error {
	floor := elementary.Log(m.Threshold)
	for i := range in.Len() {
		from, to := in.Span(i)
		for n := from; n < to; n++ {
			if in.Mask[n] && !(in.LogRatio[n] >= floor) {
				reject(keep, in, from, to)
				break
			}
		}
	}
	return nil
}

func (m *Veto) rule(*Input) rule {
	threshold := elementary.Log(m.Threshold)
	return rule{lines: []trace.Line{trace.Given("θ", threshold), trace.Formula("S", "least(e)")}, keep: "not(above(θ, S))"}
}
