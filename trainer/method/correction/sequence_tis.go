package correction

import "driftlab/trainer/method"

// SequenceTIS is sequence-level truncated importance sampling: every token of a
// response carries the response's weight.
//
//	w_i = min(max(exp(clamp(Σ_t e_t)), floor), cap)
//
// Without truncation it is the exact correction. The product grows or shrinks
// exponentially with length, so long responses sit at the cap or near zero.
//
// Source: verl rollout_corr_helper (rollout_is=sequence), SkyRL.
type SequenceTIS struct {
	// Cap is the upper truncation, at least 1. Default 2 (verl); SkyRL 5, VCPO 8.
	Cap float64 `yaml:"cap"`
	// Floor is the lower truncation, 0 for none. Default 0.
	Floor float64 `yaml:"floor"`
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

// Validate checks floor and cap.
func (m *SequenceTIS) Validate() error { return checkCap(m.Floor, m.Cap) }

func (*SequenceTIS) rule(in *Input) rule {
	return rule{raw: in.exp("Σ(e)"), applied: "clip(ρ, low, high)"}
}
