package correction

import (
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/trace"
)

// Geometric drops responses whose geometric mean ratio leaves a band. It is a
// mask, not a weight.
//
// Acceptance does not depend on length. A response without a counting token has
// the mean 1 and is kept. SkyRL has the bounds 0.99 and 1.01; verl's seq_mean_k1 is the
// same on the inverse ratio, with 0.999 and 1.001 in its presets.
type Geometric struct {
	// Low is the lower bound.
	Low float64 `yaml:"low" default:"0.99" range:"[0,high]"`
	// High is the upper bound.
	High float64 `yaml:"high" default:"1.01" range:"(0,inf]"`
}

var geometricSpec = method.Spec{
	Name: "geometric", Aliases: []string{"geo_mask"}, Unit: method.Sequence,
	Does:    "Drops responses whose geometric mean ratio old/mu leaves a band.",
	When:    "Use it to reject responses by their mean mismatch per token; a narrow band rejects short responses more often.",
	Source:  "When Speed Kills Stability (Geo-RS); SkyRL sequence_mask_metric geometric",
	Formula: "keep_i = 1[low ≤ exp(Σ_t (old_t − roll_t)/max(T_i,1)) ≤ high]",
	Needs:   batch.Columns{batch.LogpRoll, batch.Anchor},
}

// Reject clears responses outside the band.
func (m *Geometric) Reject(keep []bool, in *Input) error {
	for i := range in.Len() {
		if !within(in.geometricMean(i), m.Low, m.High) {
			from, to := in.Span(i)
			reject(keep, in, from, to)
		}
	}
	return nil
}

func (m *Geometric) rule(in *Input) rule {
	return rule{lines: []trace.Line{trace.Given("low", m.Low), trace.Given("high", m.High), trace.Formula("S", in.exp("mean(e)"))}, keep: "inside(S, low, high)"}
}
