package correction

import (
	"cmp"
	"math"
	"slices"

	"driftlab/precision/elementary"
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/trace"
)

// TailMask drops the share of a batch's tokens that the policy has moved farthest
// from the rollout, among those whose advantage has a given sign. It is an
// instrument: with signs negative and positive it asks which side of the tail
// does the damage, on equally many tokens.
//
// The share counts all tokens of the batch. The mask is recomputed at every gradient step.
// Dropped tokens stay in any KL term.
type TailMask struct {
	// Share is the fraction of the batch's tokens to drop.
	Share float64 `yaml:"share" default:"0.005" range:"(0,1]"`
	// Signs says which advantages can be dropped.
	Signs Signs `yaml:"signs" default:"negative" oneof:"negative positive both"`
	// By is the distance: "tv" of the probabilities or "log_ratio".
	By string `yaml:"by" default:"tv" oneof:"tv log_ratio"`

	order []int
}

var tailMaskSpec = method.Spec{
	Name: "tail_mask", Unit: method.Token,
	Does:    "Drops a fixed share of tokens, those that the policy has moved farthest from the rollout, by sign of the advantage.",
	When:    "Use it as an ablation, to see which side of the tail destabilises training.",
	Source:  "an instrument: the ablation by sign of DPPO, arXiv 2602.04879, read through notes",
	Formula: "drop the ⌊share·M⌋ tokens, at least one, with the largest |exp(logp_t) − exp(roll_t)| or |logp_t − roll_t| of those with sign(A_t) in signs",
	Needs:   batch.Columns{batch.LogpRoll, batch.Logp, batch.Advantage},
}

func (*TailMask) atEveryStep() {}

// Reject clears the tail.
func (m *TailMask) Reject(keep []bool, in *Input) error {
	if err := in.Require(batch.Advantage, batch.LogpRoll, batch.Logp); err != nil {
		return err
	}
	distance := in.scratch()
	m.order = m.order[:0]
	all := 0.0
	for n, counts := range in.Mask {
		if !counts {
			continue
		}
		all++
		if !m.Signs.has(in.Advantage[n]) {
			continue
		}
		d := in.clamp(in.LogRatio[n])
		if m.By == "tv" {
			d = elementary.Exp(in.LogpRoll[n]) * elementary.Expm1(d)
		}
		if distance[n] = math.Abs(d); distance[n] > 0 {
			m.order = append(m.order, n)
		}
	}
	slices.SortStableFunc(m.order, func(a, b int) int { return cmp.Compare(distance[b], distance[a]) })
	for _, n := range m.order[:min(len(m.order), max(1, int(m.Share*all)))] {
		keep[n] = false
	}
	return nil
}

// rule has no formula of the decision, which is a rank in the batch.
func (m *TailMask) rule(*Input) rule {
	d := "|e|"
	if m.By == "tv" {
		d = "|exp(logp) - exp(roll)|"
	}
	return rule{lines: []trace.Line{trace.Given("share", m.Share), trace.Formula("d", d)}}
}
