package advantage

import (
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/masked"
)

// Reinforce is the discounted return. Whitened it is REINFORCE++: one scale for the whole
// batch instead of one per group.
type Reinforce struct {
	Asymmetry `yaml:",inline"`
	// Gamma is the discount.
	Gamma float64 `yaml:"gamma" default:"1" range:"[0,1]"`
	// Whiten centres and scales over all generated tokens: reinforce_plus_plus.
	Whiten bool `yaml:"whiten"`
	// Holes is the rule at tokens the policy did not generate.
	Holes Holes `yaml:"holes" default:"carry" oneof:"carry reset through"`
	// CountEps is added to the number of tokens in the whitening's mean: 1e-8 is
	// verl's and ROLL's, 0 SkyRL's and slime's.
	CountEps float64 `yaml:"count_eps" default:"1e-8" range:"[0,inf]"`
}

// Estimate fills b.Return and b.Advantage from TokenReward.
func (e *Reinforce) Estimate(b *batch.Batch) error {
	if err := returns(b, e.Gamma, e.Holes); err != nil {
		return err
	}
	b.Advantage = batch.Zeroed(b.Advantage, b.Tokens())
	for n := range masked.Kept(b.Mask) {
		b.Advantage[n] = b.Return[n]
	}
	if e.Whiten {
		masked.WhitenWith(b.Advantage, b.Mask, e.CountEps)
	}
	e.apply(b)
	return nil
}

// ReinforceBaseline is REINFORCE++ with the group's mean as baseline.
//
// There is no deviation per group: the scale is the batch's. Long responses
// weigh more in mean and deviation, which run over tokens. A group of one has
// mean 0.
type ReinforceBaseline struct {
	Asymmetry `yaml:",inline"`

	groups groups
}

// Estimate fills b.Advantage from Reward.
func (e *ReinforceBaseline) Estimate(b *batch.Batch) error {
	one := GRPO{Singleton: "raw"}
	err := e.groups.outcome(b, symmetric, func(score, reward []float64, _ []int) { one.normalise(score, reward) })
	if err != nil {
		return err
	}
	masked.Whiten(b.Advantage, b.Mask)
	e.apply(b)
	return nil
}

// ReMax subtracts the reward of the greedy response to the same prompt, which
// costs one more rollout per prompt and no critic.
type ReMax struct {
	Asymmetry `yaml:",inline"`
}

// Estimate fills b.Return and b.Advantage from TokenReward and GreedyReward.
func (e *ReMax) Estimate(b *batch.Batch) error {
	if err := b.Require(batch.GreedyReward); err != nil {
		return err
	}
	if err := returns(b, 1, Carry); err != nil {
		return err
	}
	b.Advantage = batch.Zeroed(b.Advantage, b.Tokens())
	for i := range b.Len() {
		for n := range b.Where(i, b.Mask) {
			b.Advantage[n] = b.Return[n] - b.GreedyReward[i]
		}
	}
	e.apply(b)
	return nil
}

// GPG is group policy gradient's advantage: centred by the group, scaled up by
// the share of responses of the batch that scored at all. A group of one has mean 0.
type GPG struct {
	Asymmetry `yaml:",inline"`
	// FNorm divides the advantage.
	FNorm float64 `yaml:"f_norm" default:"1" range:"(0,inf]"`

	groups groups
}

// Estimate fills b.Advantage from Reward.
func (e *GPG) Estimate(b *batch.Batch) error {
	scored := 0
	for _, r := range b.Reward {
		if r != 0 {
			scored++
		}
	}
	alpha := float64(b.Len()) / float64(max(scored, 1))
	one := GRPO{Singleton: "raw"}
	return e.groups.outcome(b, e.Asymmetry, func(score, reward []float64, _ []int) {
		one.normalise(score, reward)
		for i, centred := range score {
			score[i] = alpha * centred / e.FNorm
		}
	})
}

// Holes says what a discounted sum does at tokens the policy did not generate:
// tool output in a response, padding after it.
type Holes string

// The rules for holes.
const (
	// Carry passes the running sum through unchanged (verl).
	Carry Holes = "carry"
	// Reset starts again from 0: tokens before a hole never see a later reward
	// (SkyRL's reinforce++, verl before its fix).
	Reset Holes = "reset"
	// Through treats them as ordinary tokens, reward and discount (ROLL, slime).
	Through Holes = "through"
)

// returns fills b.Return with the discounted reward to come of every token.
func returns(b *batch.Batch, gamma float64, holes Holes) error {
	if err := b.Require(batch.Mask, batch.TokenReward); err != nil {
		return err
	}
	b.Return = batch.Zeroed(b.Return, b.Tokens())
	for i := range b.Len() {
		from, to := b.Span(i)
		running := 0.0
		for n := to - 1; n >= from; n-- {
			next := b.TokenReward[n] + float64(gamma*running)
			switch {
			case b.Mask[n] || holes == Through:
				running = next
			case holes == Reset:
				b.Return[n] = next
				running = 0
				continue
			}
			b.Return[n] = running
		}
	}
	return nil
}
