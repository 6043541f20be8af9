package advantage

import (
	"fmt"
	"math"

	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/masked"
)

// GDPO normalises every reward kind in its group before adding them up, so
// that no kind makes the others negligible, then whitens over the batch.
//
// A kind that is constant in a group adds 0, and so does a part of NaN, which
// could not be scored. A response whose parts all could not be scored gets 0 and is left
// out of the batch's mean and deviation (TRL). Without RewardParts the only kind
// is Reward.
type GDPO struct {
	Asymmetry `yaml:",inline"`
	// Weights multiply the kinds, in their order. Empty means 1 each.
	Weights []float64 `yaml:"weights" range:"(-inf,inf)"`
	// Std divides by the group's standard deviation.
	Std bool `yaml:"std" default:"true"`
	// Eps is added to standard deviations.
	Eps float64 `yaml:"eps" default:"1e-6" range:"[0,inf]"`
	// Whiten is "token" (verl), "sequence" (TRL) or "none".
	Whiten string `yaml:"whiten" default:"token" oneof:"token sequence none"`

	groups            groups
	score, kind, part []float64
	scored            []bool // per token: the response has a part that is not NaN
}

// Estimate fills b.Advantage from RewardParts.
func (e *GDPO) Estimate(b *batch.Batch) error {
	kinds := 1
	if b.RewardParts != nil {
		if err := b.Require(batch.RewardParts); err != nil {
			return err
		}
		kinds = 0
		if b.Len() > 0 {
			kinds = len(b.RewardParts[0])
		}
	} else if err := b.Require(batch.Reward); err != nil {
		return err
	}
	if len(e.Weights) != 0 && len(e.Weights) != kinds {
		return fmt.Errorf("advantage: gdpo has %d weights for %d kinds of reward", len(e.Weights), kinds)
	}
	e.score, e.kind, e.part = batch.Zeroed(e.score, b.Len()), batch.Zeroed(e.kind, b.Len()), batch.Zeroed(e.part, b.Len())
	if err := e.groups.find(b); err != nil {
		return err
	}
	one := GRPO{Std: e.Std, Eps: e.Eps, Singleton: "raw"}
	for k := range kinds {
		for i := range e.kind {
			e.kind[i] = part(b, i, k)
		}
		e.groups.each(e.part, e.kind, func(score, reward []float64, _ []int) { one.normalise(score, reward) })
		weight := 1.0
		if len(e.Weights) > 0 {
			weight = e.Weights[k]
		}
		for i, x := range e.part {
			e.score[i] += float64(weight * x)
		}
	}
	e.whiten(b, kinds)
	e.apply(b)
	return nil
}

// whiten turns the scores into advantages, centred and scaled over what could be scored.
func (e *GDPO) whiten(b *batch.Batch, kinds int) {
	e.scored = append(e.scored[:0], b.Mask...)
	for i := range e.score {
		if unscored(b, i, kinds) {
			e.score[i] = math.NaN()
			from, to := b.Span(i)
			clear(e.scored[from:to])
		}
	}
	m, n := scoredMean(e.score)
	s := scoredDeviation(e.score, m, n-1) + e.Eps
	for i, x := range e.score {
		switch {
		case math.IsNaN(x):
			e.score[i] = 0
		case e.Whiten == "sequence":
			e.score[i] = (x - m) / s
		}
	}
	broadcast(b, e.score)
	if e.Whiten == "token" {
		masked.Whiten(b.Advantage, e.scored)
	}
}

// unscored reports whether response i has parts and all of them are NaN.
func unscored(b *batch.Batch, i, kinds int) bool {
	for k := range kinds {
		if !math.IsNaN(part(b, i, k)) {
			return false
		}
	}
	return kinds > 0
}

// part is the reward of kind k of response i; without kinds it is the reward.
func part(b *batch.Batch, i, k int) float64 {
	if b.RewardParts == nil {
		return b.Reward[i]
	}
	return b.RewardParts[i][k]
}
