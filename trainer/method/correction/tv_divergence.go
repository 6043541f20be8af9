package correction

import (
	"math"

	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/trace"
)

// TVDivergence drops the tokens that would widen the gap between old and mu, in
// responses whose mean |ρ − 1| leaves a band: the total variation that the sampled
// tokens estimate.
//
// A token with A = 0 or with equal log-probs is never dropped. A lower bound drops
// responses that are too close to the rollout policy. Dropped tokens stay in the
// denominators. In bypass mode old is mu, and nothing is dropped. open-instruct clamps
// log-ratios at ±10; its configuration demands high > 1, as for ratios, which the mean
// rarely exceeds.
type TVDivergence struct {
	// Low is the lower bound of the mean.
	Low float64 `yaml:"low" range:"[0,high]"`
	// High is the upper bound of the mean. The default is ours.
	High float64 `yaml:"high" default:"0.1" range:"(0,inf]"`
}

var tvDivergenceSpec = method.Spec{
	Name: "tv_divergence", Aliases: []string{"rho_mask_tv_divergence", "vaco"}, Unit: method.Token,
	Does:    "In responses whose mean |old/mu − 1| leaves a band, drops the tokens whose update would move the policy further from mu.",
	When:    "Use it if only updates that widen the mismatch should be masked, and only in responses far from the rollout policy.",
	Source:  "open-instruct rho_mask_tv_divergence, for arXiv 2603.01365 (VACO, not read)",
	Formula: "D_i = Σ_t |ρ_t − 1|/max(T_i,1); drop iff (D_i > high or D_i < low) and (old_t − roll_t)·A_t > 0",
	Needs:   batch.Columns{batch.LogpRoll, batch.Anchor, batch.Advantage},
}

func (*TVDivergence) atEveryStep() {}

// Reject clears the tokens that widen the gap, in responses outside the band.
func (m *TVDivergence) Reject(keep []bool, in *Input) error {
	if err := in.Require(batch.Advantage, batch.LogpRoll, batch.Anchor); err != nil {
		return err
	}
	for i := range in.Len() {
		sum, count := 0.0, 0
		for n := range in.Where(i, in.Mask) {
			sum += math.Abs(in.ratio(in.Anchor[n]-in.LogpRoll[n]) - 1)
			count++
		}
		if within(sum/float64(max(count, 1)), m.Low, m.High) {
			continue
		}
		for n := range in.Where(i, in.Mask) {
			if widens(in, n) {
				keep[n] = false
			}
		}
	}
	return nil
}

// widens reports whether an update with the advantage of token n moves old further from mu.
func widens(in *Input, n int) bool {
	e := in.Anchor[n] - in.LogpRoll[n]
	return e > 0 && in.Advantage[n] > 0 || e < 0 && in.Advantage[n] < 0
}

func (m *TVDivergence) rule(in *Input) rule {
	return rule{lines: []trace.Line{trace.Given("low", m.Low), trace.Given("high", m.High),
		{Name: "ρ", Value: func(n int) float64 { return in.ratio(in.Anchor[n] - in.LogpRoll[n]) }},
		{Name: "A", Value: func(n int) float64 { return in.Advantage[n] }},
		{Name: "widens", Value: func(n int) float64 { return count(widens(in, n)) }},
		trace.Formula("D", "mean(|ρ - 1|)")}, keep: "not(not(inside(D, low, high))·widens)"}
}
