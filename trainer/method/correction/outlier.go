package correction

import (
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/trace"
)

// Outlier drops a whole response if any of its tokens has an extreme ratio: it finds
// collapsed responses that a mean would hide. SkyRL suggests 1e-4 and 100; prime-rl's later
// symmetric veto is the same rule.
type Outlier struct {
	// Low is the lower bound, 0 for none.
	Low float64 `yaml:"low" default:"1e-4" range:"[0,high]"`
	// High is the upper bound, .inf for none.
	High float64 `yaml:"high" default:"100" range:"(0,inf]"`
}

var outlierSpec = method.Spec{
	Name: "outlier", Aliases: []string{"outlier_mask"}, Unit: method.Sequence,
	Does:    "Drops a response if any of its tokens has a ratio beyond an extreme bound on either side.",
	When:    "Use it to reject responses with broken tokens, which a mean over the response would hide.",
	Source:  "SkyRL outlier_token_is_threshold",
	Formula: "keep_i = 1[no t: ρ_t < low or ρ_t > high]",
	Needs:   batch.Columns{batch.LogpRoll, batch.Anchor},
}

// Reject clears responses with an outlier.
func (m *Outlier) Reject(keep []bool, in *Input) error {
	for i := range in.Len() {
		from, to := in.Span(i)
		for n := from; n < to; n++ {
			if in.Mask[n] && !within(in.ratio(in.LogRatio[n]), m.Low, m.High) {
				reject(keep, in, from, to)
				break
			}
		}
	}
	return nil
}

func (m *Outlier) rule(in *Input) rule {
	return rule{lines: []trace.Line{trace.Given("low", m.Low), trace.Given("high", m.High), trace.Formula("ρ", in.exp("e"))}, keep: "least(inside(ρ, low, high))"}
}
