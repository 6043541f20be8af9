package correction

import (
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
)

// SequenceMIS is sequence-level masked importance sampling: the exact weight of
// the response if it lies in the band, else nothing. With Low at 0 it is the
// one-sided form. It removes the tail that truncation keeps, and with it most long
// responses: acceptance falls with length.
type SequenceMIS struct {
	// Low is the lower bound, 0 for the one-sided form.
	Low float64 `yaml:"low" range:"[0,high]"`
	// High is the upper bound.
	High float64 `yaml:"high" default:"2" range:"(0,inf]"`
}

var sequenceMisSpec = method.Spec{
	Name: "sequence_mis", Aliases: []string{"seq_mis"}, Unit: method.Sequence,
	Does:     "Weights a response by its exact ratio inside the bounds and by 0 outside: sequence-level masked importance sampling (MIS).",
	When:     "Use it to drop responses that truncation would leave at the cap; under large mismatch it drops most long responses.",
	Source:   "When Speed Kills Stability (richardli.xyz/rl-collapse); verl rollout_is=sequence with low_high",
	Formula:  "w_i = W_i·1[low ≤ W_i ≤ high],  W_i = exp(clamp(Σ_t (old_t − roll_t), ±20))",
	Gradient: "constant: d loss/d logp_t is multiplied by w_i",
	Needs:    batch.Columns{batch.LogpRoll, batch.Anchor},
}

// Weigh fills one weight per response.
func (m *SequenceMIS) Weigh(w *Weights, in *Input) error {
	for i := range in.Len() {
		from, to := in.Span(i)
		sum, _ := in.spanSum(from, to)
		r := in.ratio(sum)
		w.spread(in, from, to, r, inside(r, m.Low, m.High))
	}
	return nil
}

// Level is sequence.
func (*SequenceMIS) Level() method.Unit { return method.Sequence }

// Bounds are low and high.
func (m *SequenceMIS) Bounds() (low, high float64) { return m.Low, m.High }

func (*SequenceMIS) rule(in *Input) rule {
	return rule{raw: in.exp("Σ(e)"), applied: "ρ·inside(ρ, low, high)"}
}
