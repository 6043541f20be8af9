package advantage

import (
	"slices"

	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
)

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

var rlZvpSpec = method.Spec{
	Name: "rl_zvp", Aliases: []string{"zero_variance"}, Unit: method.Group,
	Does:    "Uses token entropy as the advantage in groups with equal rewards, and grpo in all others.",
	When:    "Use it if many groups have zero advantage under grpo.",
	Source:  "arXiv 2509.21880 (a NeMo-RL port); CompassMax, arXiv 2512.07710",
	Formula: "mixed group: GRPO; all correct: A_t = scale·H_t; all wrong: A_t = −scale·(max H − H_t)",
	Needs:   batch.Columns{batch.Reward, batch.EntropyOld, batch.Group},
	Reconstruction: "read from a port; the maximum of H runs over the response's generated tokens. Of CompassMax's stages this is the fourth. " +
		"The first is rollout.dynamic_sampling with refuse solved, by the group at hand and not by a running pass rate (0.95) of its prompt. " +
		"The second, more responses to a prompt whose group has no variance, is not modelled: all groups have one size. " +
		"Of the third, length penalties and the penalty for repetition are parts of the reward",
}

// Estimate fills b.Advantage from Reward and Entropy.
func (e *ZeroVariance) Estimate(b *batch.Batch) error {
	if err := b.Require(batch.EntropyOld); err != nil {
		return err
	}
	one := GRPO{Std: e.Std, Eps: e.Eps, Singleton: "zero"}
	err := e.groups.outcome(b, symmetric, func(score, reward []float64, _ []int) error {
		one.normalise(score, reward)
		return nil
	})
	if err != nil {
		return err
	}
	for k := range e.groups.Len() {
		rows := e.groups.Rows(k)
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
	from, to := b.Span(i)
	largest := 0.0
	for n := range b.Where(i, b.Mask) {
		largest = max(largest, b.Old.Entropy[n])
	}
	for n := from; n < to; n++ {
		switch {
		case !b.Mask[n]:
		case correct:
			b.Advantage[n] = e.Scale * b.Old.Entropy[n]
		default:
			b.Advantage[n] = -e.Scale * (largest - b.Old.Entropy[n])
		}
	}
}
