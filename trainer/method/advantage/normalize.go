package advantage

import (
	"errors"
	"math"

	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
)

// Normalize centres and scales rewards at chosen levels: the general form that TRL,
// ROLL and AReaL configure.
//
// TRL has mean group, std group, batch or none, and eps 1e-4; ROLL eps 1e-6; AReaL the
// biased std with eps 1e-5, or none with std none, and a leave-one-out mean. A reward of
// NaN could not be scored: it is left out of mean and std and gets 0 (TRL).
type Normalize struct {
	Asymmetry `yaml:",inline"`
	// Mean is "group", "batch" or "none".
	Mean string `yaml:"mean" default:"group" oneof:"group batch none"`
	// Std is "group", "batch" or "none".
	Std string `yaml:"std" default:"batch" oneof:"group batch none"`
	// Eps is added to the standard deviation.
	Eps float64 `yaml:"eps" default:"1e-6" range:"[0,inf]"`
	// Biased divides the variance by n in place of n−1 (AReaL).
	Biased bool `yaml:"biased"`
	// LeaveOneOut takes the mean of the others (AReaL mean_leave1out).
	LeaveOneOut bool `yaml:"leave_one_out"`
	// Residual takes the standard deviation of what is left after centring, which
	// with group mean and batch std differs from that of the rewards (AReaL).
	Residual bool `yaml:"residual"`

	groups groups
}

var normalizeSpec = method.Spec{
	Name: "normalize", Aliases: []string{"reward_norm"}, Unit: method.Batch,
	Does:    "Centres and scales rewards by a mean and a deviation that are each taken over the group, the batch or not at all.",
	When:    "Use it to reproduce the normalisation settings of TRL, ROLL or AReaL.",
	Source:  "TRL scale_rewards; ROLL reward_norm; AReaL Normalization; group mean and batch std: arXiv 2508.08221",
	Formula: "A_i = (R_i − mean)/(std + eps), mean and std each over group, batch or none",
	Needs:   batch.Columns{batch.Reward, batch.Group},
}

// Estimate fills b.Advantage from Reward.
func (e *Normalize) Estimate(b *batch.Batch) error {
	all, left := b.Reward, 0.0
	if e.Residual && e.Mean == "group" && e.Std == "batch" {
		var err error
		if left, err = e.residual(b); err != nil {
			return err
		}
	}
	return e.groups.outcome(b, e.Asymmetry, func(score, reward []float64, _ []int) error {
		centred, scaled := reward, reward
		if e.Mean == "batch" {
			centred = all
		}
		if e.Std == "batch" {
			scaled = all
		}
		m, n := scoredMean(centred)
		scale := 1.0
		if e.Std != "none" {
			scale = e.deviation(scaled) + e.Eps
			if left > 0 {
				scale = left + e.Eps
			}
		}
		for i, r := range reward {
			switch {
			case math.IsNaN(r):
				continue
			case e.Mean == "none":
				score[i] = r
			case e.LeaveOneOut && n > 1:
				score[i] = r - (float64(m*n)-r)/(n-1)
			case e.LeaveOneOut:
				score[i] = r
			default:
				score[i] = r - m
			}
			if scale > 0 {
				score[i] /= scale
			} else {
				score[i] = 0
			}
		}
		return nil
	})
}

// residual is the standard deviation over the batch of rewards centred in their groups.
func (e *Normalize) residual(b *batch.Batch) (float64, error) {
	if err := errors.Join(b.Require(batch.Reward), e.groups.find(b)); err != nil {
		return 0, err
	}
	sum, n := 0.0, 0.0
	for k := range e.groups.Len() {
		reward := e.groups.gather(b.Reward, e.groups.Rows(k))
		m, _ := scoredMean(reward)
		for _, r := range reward {
			if d := r - m; !math.IsNaN(r) {
				sum, n = sum+float64(d*d), n+1
			}
		}
	}
	if !e.Biased {
		n--
	}
	if n <= 0 {
		return 0, nil
	}
	return math.Sqrt(sum / n), nil
}

// deviation is the standard deviation of the rewards that are not NaN.
func (e *Normalize) deviation(x []float64) float64 {
	m, n := scoredMean(x)
	if !e.Biased {
		n--
	}
	return scoredDeviation(x, m, n)
}
