package advantage

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/masked"
)

// GRPO is group relative policy optimisation's advantage: the response's reward
// relative to its group.
//
// A group with equal rewards gets exactly 0. A reward of NaN could not be scored: it is
// left out of mean and std and gets 0 (TRL).
type GRPO struct {
	Asymmetry `yaml:",inline"`
	// Std divides by the group's standard deviation.
	Std bool `yaml:"std" default:"true"`
	// Eps is added to the standard deviation: 1e-6 in verl, SkyRL and ROLL, 1e-4 in TRL.
	Eps float64 `yaml:"eps" default:"1e-6" range:"[0,inf]"`
	// Singleton is "raw" (mean 0, std 1, so divided by 1+eps: verl, SkyRL) or "zero" for a group of one.
	Singleton string `yaml:"singleton" default:"raw" oneof:"raw zero"`

	groups groups
}

// Estimate fills b.Advantage from Reward.
func (e *GRPO) Estimate(b *batch.Batch) error {
	return e.groups.outcome(b, e.Asymmetry, func(score, reward []float64, _ []int) { e.normalise(score, reward) })
}

// normalise fills the advantages of one group.
func (e *GRPO) normalise(score, reward []float64) {
	centre, scored := scoredMean(reward)
	scale := 1.0
	switch {
	case len(reward) == 1 && e.Singleton == "zero":
		return
	case len(reward) == 1:
		centre = 0
		if e.Std {
			scale = 1 + e.Eps
		}
	case constant(reward):
		return
	case e.Std:
		scale = scoredDeviation(reward, centre, scored-1) + e.Eps
	}
	for i, r := range reward {
		if !math.IsNaN(r) {
			score[i] = (r - centre) / scale
		}
	}
}

// GRPOPassK rewards only the best response of a group, by its lead over the
// second best. A tie at the top gives 0 to every response; a group of one is an error.
type GRPOPassK struct {
	Asymmetry `yaml:",inline"`
	// Std divides by the group's standard deviation.
	Std bool `yaml:"std" default:"true"`
	// Eps is added to the standard deviation.
	Eps float64 `yaml:"eps" default:"1e-6" range:"[0,inf]"`

	groups groups
}

// Estimate fills b.Advantage from Reward.
func (e *GRPOPassK) Estimate(b *batch.Batch) error {
	var alone error
	err := e.groups.outcome(b, e.Asymmetry, func(score, reward []float64, rows []int) {
		if len(reward) < 2 {
			alone = cmp.Or(alone, fmt.Errorf("advantage: grpo_passk needs two responses per group, response %d is alone", rows[0]))
			return
		}
		best, second := 0, 1
		if reward[1] > reward[0] {
			best, second = 1, 0
		}
		for i := 2; i < len(reward); i++ {
			switch {
			case reward[i] > reward[best]:
				best, second = i, best
			case reward[i] > reward[second]:
				second = i
			}
		}
		scale := 1.0
		if e.Std {
			scale = deviation(reward) + e.Eps
		}
		if lead := reward[best] - reward[second]; lead > 0 {
			score[best] = lead / scale
		}
	})
	return cmp.Or(alone, err)
}

// RLOO is REINFORCE with a leave-one-out baseline. For a group of one verl's loop form
// returns the raw reward, its vectorised form and SkyRL 0.
type RLOO struct {
	Asymmetry `yaml:",inline"`
	// Singleton is "zero" or "raw" for a group of one.
	Singleton string `yaml:"singleton" default:"zero" oneof:"zero raw"`

	groups groups
}

// Estimate fills b.Advantage from Reward.
func (e *RLOO) Estimate(b *batch.Batch) error {
	one := GRPO{Singleton: e.Singleton}
	return e.groups.outcome(b, e.Asymmetry, func(score, reward []float64, _ []int) {
		one.normalise(score, reward)
		if n := float64(len(reward)); n > 1 {
			for i, centred := range score {
				score[i] = n / (n - 1) * centred
			}
		}
	})
}

// OPO is on-policy optimisation with the baseline that is optimal if a
// response's score norm grows with its length: the length-weighted mean.
//
// A group of one has no baseline and keeps its reward. The weights include the response
// itself, which biases the gradient by terms of order 1/G.
type OPO struct {
	Asymmetry `yaml:",inline"`

	groups groups
}

// Estimate fills b.Advantage from Reward.
func (e *OPO) Estimate(b *batch.Batch) error {
	return e.groups.outcome(b, e.Asymmetry, func(score, reward []float64, rows []int) {
		sum, lengths := 0.0, 0.0
		for i, r := range reward {
			from, to := b.Span(rows[i])
			length := float64(masked.Count(b.Mask[from:to]))
			sum, lengths = sum+float64(length*r), lengths+length
		}
		baseline := 0.0
		switch {
		case len(reward) == 1:
		case constant(reward):
			baseline = reward[0]
		case lengths > 0:
			baseline = sum / lengths
		}
		for i, r := range reward {
			score[i] = r - baseline
		}
	})
}

// MaxRL divides the centred reward by the group's mean in place of its
// deviation: with 0/1 rewards the expected gradient becomes that of the log of
// the pass rate, to first order, so rare successes count for more. A group of one
// keeps its reward; a group without a success gets 0.
type MaxRL struct {
	Asymmetry `yaml:",inline"`
	// Eps is added to the mean.
	Eps float64 `yaml:"eps" default:"1e-6" range:"[0,inf]"`

	zeroes bool // prime-rl: a group of one, or whose mean is not above 0, gets 0
	groups groups
}

// Estimate fills b.Advantage from Reward.
func (e *MaxRL) Estimate(b *batch.Batch) error {
	return e.groups.outcome(b, e.Asymmetry, func(score, reward []float64, _ []int) {
		switch {
		case e.zeroes && (len(reward) == 1 || mean(reward) <= 0):
		case len(reward) == 1:
			score[0] = reward[0]
		case !constant(reward):
			m := mean(reward)
			for i, r := range reward {
				score[i] = (r - m) / (m + e.Eps)
			}
		}
	})
}

// ZeroVariance learns also from groups whose rewards are all equal, which give
// GRPO nothing: entropy shapes what is left (RL-ZVP).
//
// A group counts as correct if Correct says so of its first response, else, without
// Correct, if its reward is above threshold.
type ZeroVariance struct {
	Asymmetry `yaml:",inline"`
	// Scale is alpha.
	Scale float64 `yaml:"scale" default:"0.1" range:"[0,inf]"`
	// Threshold separates correct from wrong where there are no labels.
	Threshold float64 `yaml:"threshold"`
	// Std divides by the standard deviation in mixed groups.
	Std bool `yaml:"std" default:"true"`
	// Eps is added to it.
	Eps float64 `yaml:"eps" default:"1e-6" range:"[0,inf]"`

	groups groups
}

// Estimate fills b.Advantage from Reward and Entropy.
func (e *ZeroVariance) Estimate(b *batch.Batch) error {
	if err := b.Require(batch.EntropyOld); err != nil {
		return err
	}
	one := GRPO{Std: e.Std, Eps: e.Eps, Singleton: "zero"}
	err := e.groups.outcome(b, symmetric, func(score, reward []float64, _ []int) { one.normalise(score, reward) })
	if err != nil {
		return err
	}
	for rows := range e.groups.All() {
		if slices.ContainsFunc(rows, func(i int) bool { return b.Reward[i] != b.Reward[rows[0]] }) {
			continue
		}
		correct := b.Reward[rows[0]] > e.Threshold
		if len(b.Correct) == b.Len() {
			correct = b.Correct[rows[0]]
		}
		for _, i := range rows {
			e.shape(b, i, correct)
		}
	}
	e.apply(b)
	return nil
}

// shape fills the advantages of response i of a group without variance.
func (e *ZeroVariance) shape(b *batch.Batch, i int, correct bool) {
	largest := 0.0
	for n := range b.Where(i, b.Mask) {
		largest = max(largest, b.Old.Entropy[n])
	}
	for n := range b.Where(i, b.Mask) {
		if correct {
			b.Advantage[n] = e.Scale * b.Old.Entropy[n]
		} else {
			b.Advantage[n] = -e.Scale * (largest - b.Old.Entropy[n])
		}
	}
}

// RAE is role-conditioned advantage estimation for one role: the reward less a moving average
// of the rewards so far, response by response in the order of the batch.
//
// The average starts at 0 and is not corrected for that. A baseline of each role is the
// same estimator on the responses of that role; a recipe has one role.
type RAE struct {
	Asymmetry `yaml:",inline"`
	// Decay is the share of the average that each reward keeps; 0 takes the reward before.
	Decay float64 `yaml:"decay" default:"0.95" range:"[0,1)"`

	baseline float64
	score    []float64
}

// Estimate fills b.Advantage from Reward and moves the baseline.
func (e *RAE) Estimate(b *batch.Batch) error {
	if err := b.Require(batch.Mask, batch.Reward); err != nil {
		return err
	}
	e.score = e.score[:0]
	for _, r := range b.Reward {
		e.score = append(e.score, r-e.baseline)
		e.baseline = float64(e.Decay*e.baseline) + float64((1-e.Decay)*r)
	}
	broadcast(b, e.score)
	e.apply(b)
	return nil
}

// AppendState appends the baseline.
func (e *RAE) AppendState(dst []byte) []byte { return method.AppendState(dst, e.baseline) }

// SetState replaces the baseline by that of AppendState.
func (e *RAE) SetState(state []byte) error { return method.ReadState(state, &e.baseline) }

// outcome is the frame of estimators that give a response one number: per fills
// the scores of a group from its rewards, and every generated token gets its
// response's.
func (g *groups) outcome(b *batch.Batch, a Asymmetry, per func(score, reward []float64, rows []int)) error {
	if err := g.find(b, batch.Reward); err != nil {
		return err
	}
	g.score = batch.Zeroed(g.score, b.Len())
	g.each(g.score, b.Reward, per)
	broadcast(b, g.score)
	a.apply(b)
	return nil
}

// centre is the group's mean as verl's loop form takes it: 0 for a group of
// one, which so keeps its raw reward.
func centre(reward []float64) float64 {
	if len(reward) == 1 {
		return 0
	}
	return mean(reward)
}
