package correction

import (
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
)

// SequenceTIS is sequence-level truncated importance sampling: every token of a
// response carries the response's weight. Without truncation it is the exact correction.
// The product grows or shrinks exponentially with length, so long responses have a weight
// of the cap or near zero.
type SequenceTIS struct {
	// Cap is the upper truncation; below 1 it would rescale on-policy data. verl takes 2, SkyRL 5, VCPO 8.
	Cap float64 `yaml:"cap" default:"2" range:"[1,inf]"`
	// Floor is the lower truncation, 0 for none.
	Floor float64 `yaml:"floor" range:"[0,1]"`
}

var sequenceTisSpec = method.Spec{
	Name: "sequence_tis", Aliases: []string{"seq_tis"}, Unit: method.Sequence,
	Does:     "Multiplies the loss of a response by the truncated product of its token ratios: sequence-level truncated importance sampling (TIS).",
	When:     "Use it if the weight should be unbiased up to the cap; in long responses most weights are truncated or near zero.",
	Source:   "verl rollout_corr_helper rollout_is=sequence; SkyRL; VCPO (arXiv 2602.17616)",
	Formula:  "w_i = min(max(exp(clamp(Σ_t (old_t − roll_t), ±20)), floor), cap)",
	Gradient: "constant: d loss/d logp_t is multiplied by w_i",
	Needs:    batch.Columns{batch.LogpRoll, batch.Anchor},
}

// Weigh fills one weight per response.
func (m *SequenceTIS) Weigh(w *Weights, in *Input) error {
	for i := range in.Len() {
		from, to := in.Span(i)
		sum, _ := in.spanSum(from, to)
		r := in.ratio(sum)
		w.spread(in, from, to, r, truncate(r, m.Floor, m.Cap))
	}
	return nil
}

// Level is sequence.
func (*SequenceTIS) Level() method.Unit { return method.Sequence }

// Bounds are floor and cap.
func (m *SequenceTIS) Bounds() (low, high float64) { return m.Floor, m.Cap }

func (*SequenceTIS) rule(in *Input) rule {
	return rule{raw: in.exp("Σ(e)"), applied: "clip(ρ, low, high)"}
}
