package correction

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"driftlab/precision/elementary"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/trace"
)

// TailMask drops the share of a batch's tokens that the policy has moved farthest
// from the rollout, among those whose advantage has a given sign. It is an
// instrument: with signs negative and positive it asks which side of the tail
// does the damage, on equally many tokens.
//
//	d_t  = |exp(logp_t) − exp(roll_t)| or |logp_t − roll_t|
//	drop the ⌊share·M⌋ tokens with the largest d, at least one, of those with
//	sign(A) in signs and d > 0; M counts all tokens
//
// It is recomputed at every gradient step. Dropped tokens stay in any KL term.
//
// Source: the ablation of DPPO, arXiv 2602.04879, which masks a small share of the
// updates by sign; it was read through notes.
type TailMask struct {
	// Share is the fraction of the batch's tokens to drop. Default 0.005.
	Share float64 `yaml:"share"`
	// Signs says which advantages can be dropped. Default negative.
	Signs Signs `yaml:"signs"`
	// By is the distance: "tv" of the probabilities or "log_ratio". Default tv.
	By string `yaml:"by"`

	order []int
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

// Validate checks share, signs and by.
func (m *TailMask) Validate() error {
	if !(m.Share > 0 && m.Share <= 1) {
		return fmt.Errorf("share is %v, must lie above 0 and at most at 1", m.Share)
	}
	if err := m.Signs.validate(); err != nil {
		return err
	}
	return oneOf("by", m.By, "tv", "log_ratio")
}

// rule has no formula of the decision, which is a rank in the batch.
func (m *TailMask) rule(*Input) rule {
	d := "|e|"
	if m.By == "tv" {
		d = "|exp(logp) - exp(roll)|"
	}
	return rule{given: []trace.Term{given("share", m.Share)}, terms: []trace.Term{formula("d", d)}}
}
