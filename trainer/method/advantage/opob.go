package advantage

import (
	"math"
	"slices"

	"driftlab/precision/elementary"
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
)

// OPOB is VCPO's optimal off-policy baseline: the constant that minimises the
// variance of the importance-weighted gradient of a group.
//
// n is the norm of the score, ScoreNorm, not of the reward-weighted gradient; w is the
// importance weight of the response, not clipped. The baseline includes the response
// itself, so the gradient is biased by terms of order 1/G. A group of one would always get
// 0; its baseline is 0. For VCPO's scope minibatch run it over one group.
type OPOB struct {
	Asymmetry `yaml:",inline"`
	// Eps is added to the sum of the weights.
	Eps float64 `yaml:"eps" default:"1e-8" range:"[0,inf]"`
	// Weighted includes w².
	Weighted bool `yaml:"weighted" default:"true"`
	// Cap truncates w in the baseline, .inf for none.
	Cap float64 `yaml:"cap" default:"inf" range:"(0,inf]"`
	// LengthNorm divides the weights by L².
	LengthNorm bool `yaml:"length_norm"`
	// Aggregate is "mean", "median" or "winsorized" (rewards cut to the weighted
	// 5% and 95% quantiles).
	Aggregate string `yaml:"aggregate" default:"mean" oneof:"mean median winsorized"`
	// Std divides A by the group's standard deviation plus 1e-6.
	Std bool `yaml:"std"`

	groups groups
	weight []float64
	order  []int
}

var opobSpec = method.Spec{
	Name: "opob", Aliases: []string{"vcpo"}, Unit: method.Group,
	Does:    "Subtracts the constant that minimises the variance of a group's importance-weighted gradient.",
	When:    "Use it for off-policy data with importance weights; it needs the score norm of each response.",
	Source:  "arXiv 2602.17616; mit-han-lab/vcpo",
	Formula: "A_i = R_i − Σ_j w_j²·n_j²·R_j/(Σ_j w_j²·n_j² + eps)",
	Needs:   batch.Columns{batch.Reward, batch.ScoreNorm, batch.LogpOld, batch.LogpRoll, batch.Group},
}

// Estimate fills b.Advantage from Reward, ScoreNorm, LogpOld and LogpRoll.
func (e *OPOB) Estimate(b *batch.Batch) error {
	if err := b.Require(batch.ScoreNorm); err != nil {
		return err
	}
	if e.Weighted {
		if err := b.Require(batch.LogpOld, batch.LogpRoll); err != nil {
			return err
		}
	}
	return e.groups.outcome(b, e.Asymmetry, func(score, reward []float64, rows []int) error {
		baseline := e.baseline(b, reward, rows)
		scale := 1.0
		if e.Std {
			scale = deviation(reward) + 1e-6
		}
		for i, r := range reward {
			score[i] = (r - baseline) / scale
		}
		return nil
	})
}

// baseline is b of the group of these responses.
func (e *OPOB) baseline(b *batch.Batch, reward []float64, rows []int) float64 {
	if len(reward) == 1 {
		return 0
	}
	e.weight = batch.Zeroed(e.weight, len(reward))
	total := 0.0
	for i, row := range rows {
		w := b.ScoreNorm[row] * b.ScoreNorm[row]
		sum, length := 0.0, 0.0
		for n := range b.Where(row, b.Mask) {
			length++
			if e.Weighted {
				sum += b.Old.Logp[n] - b.LogpRoll[n]
			}
		}
		ratio := min(elementary.Exp(sum), e.Cap)
		w *= ratio * ratio
		if e.LengthNorm {
			w /= max(length, 1) * max(length, 1)
		}
		e.weight[i] = w
		total += w
	}
	if constant(reward) {
		return reward[0]
	}
	low, high := math.Inf(-1), math.Inf(1)
	switch e.Aggregate {
	case "median":
		return e.quantile(reward, 0.5*total)
	case "winsorized":
		low, high = e.quantile(reward, 0.05*total), e.quantile(reward, 0.95*total)
	}
	sum := 0.0
	for i, r := range reward {
		sum += float64(min(max(r, low), high) * e.weight[i])
	}
	if total == 0 { // no response weighs anything, and eps may be 0
		return 0
	}
	return sum / (total + e.Eps)
}

// quantile is the smallest reward up to which the weights add up to cut; 0 if
// all weights are.
func (e *OPOB) quantile(reward []float64, cut float64) float64 {
	if cut == 0 {
		return 0
	}
	e.order = e.order[:0]
	for i := range reward {
		e.order = append(e.order, i)
	}
	slices.SortStableFunc(e.order, func(i, j int) int {
		switch {
		case reward[i] < reward[j]:
			return -1
		case reward[i] > reward[j]:
			return 1
		}
		return 0
	})
	sum := 0.0
	for _, i := range e.order {
		sum += e.weight[i]
		if sum >= cut {
			return reward[i]
		}
	}
	return reward[e.order[len(e.order)-1]]
}
