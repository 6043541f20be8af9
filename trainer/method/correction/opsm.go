package correction

import (
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/trace"
)

// OPSM is DeepSeek-V3.2's off-policy sequence masking: responses with a
// negative advantage that the current policy has left are dropped from the
// policy term.
//
// It is a one-sided geometric mask on pi/mu, recomputed at every gradient step. Dropped
// tokens stay in the denominators and in any KL term. A = 0 is kept. The factored form
// computes D as the engine's part, mean(roll − old), plus the staleness, mean(old − logp);
// the two forms agree to rounding.
type OPSM struct {
	// Delta is the largest mean log-ratio mu/pi a response may have: the paper gives no
	// value, TRL suggests 0.5, slime 1e-4.
	Delta float64 `yaml:"delta" default:"0.5" range:"[0,inf]"`
	// Factored splits D into engine and staleness.
	Factored bool `yaml:"factored"`
	// Signs says which advantages can be dropped: negative (the paper),
	// positive or both (controls).
	Signs Signs `yaml:"signs" default:"negative" oneof:"negative positive both"`
}

var opsmSpec = method.Spec{
	Name: "opsm", Unit: method.Sequence,
	Does:     "Drops responses with a negative advantage whose mean log-ratio mu/new exceeds delta: off-policy sequence masking (OPSM).",
	When:     "Use it if stale or mismatched responses with a negative advantage destabilise training.",
	Source:   "DeepSeek-V3.2, arXiv 2512.02556; TRL get_off_policy_mask; slime compute_opsm_mask",
	Formula:  "D_i = Σ_t (roll_t − logp_t)/max(T_i,1); drop iff A < 0 and D_i > delta",
	Gradient: "constant: dropped tokens have none from the policy term, KL terms keep theirs",
	Needs:    batch.Columns{batch.LogpRoll, batch.Logp, batch.Advantage},
}

// Signs names a set of advantage signs.
type Signs string

// The sets of signs.
const (
	Negative Signs = "negative"
	Positive Signs = "positive"
	Both     Signs = "both"
)

// has reports whether the advantage's sign is in the set; Both includes zero.
func (s Signs) has(advantage float64) bool {
	switch s {
	case Negative:
		return advantage < 0
	case Positive:
		return advantage > 0
	}
	return true
}

func (*OPSM) atEveryStep() {}

// Reject clears tokens of the chosen sign in responses whose D exceeds delta.
// The sign is read per token, so a process reward may drop part of a response.
func (m *OPSM) Reject(keep []bool, in *Input) error {
	if err := in.Require(batch.Advantage, batch.LogpRoll, batch.Logp); err != nil {
		return err
	}
	if m.Factored {
		if err := in.Require(batch.Anchor); err != nil {
			return err
		}
	}
	for i := range in.Len() {
		from, to := in.Span(i)
		engine, stale, count := 0.0, 0.0, 0
		for n := range in.Where(i, in.Mask) {
			count++
			if m.Factored {
				engine += in.LogpRoll[n] - in.Anchor[n]
				stale += in.Anchor[n] - in.Now.Logp[n]
			} else {
				engine += in.LogpRoll[n] - in.Now.Logp[n]
			}
		}
		length := float64(max(count, 1))
		if !(engine/length+stale/length > m.Delta) {
			continue
		}
		for n := from; n < to; n++ {
			if in.Mask[n] && m.Signs.has(in.Advantage[n]) {
				keep[n] = false
			}
		}
	}
	return nil
}

func (m *OPSM) rule(in *Input) rule {
	return rule{lines: []trace.Line{trace.Given("δ", m.Delta),
		{Name: "A", Value: func(n int) float64 { return in.Advantage[n] }},
		{Name: "droppable", Value: func(n int) float64 { return count(m.Signs.has(in.Advantage[n])) }},
		trace.Formula("D", "-mean(e)")}, keep: "not(above(D, δ)·droppable)"}
}

// count is 1 for true.
func count(condition bool) float64 {
	if condition {
		return 1
	}
	return 0
}
