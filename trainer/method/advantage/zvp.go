package advantage

import (
	"fmt"
	"slices"

	"driftlab/trainer/method/batch"
)

// ZeroVariance learns also from groups whose rewards are all equal, which give
// GRPO nothing: entropy shapes what is left (RL-ZVP).
//
//	mixed group   GRPO
//	all correct   A_t = +scale·H_t
//	all wrong     A_t = −scale·(max_s H_s − H_t)
//
// H is the entropy of the token's distribution, its maximum over the generated
// tokens of the response. A group counts as correct if Correct says so of its
// first response, else, without Correct, if its reward is above threshold.
//
// Source: arXiv 2509.21880, read in a port to NeMo-RL; the last stage of
// CompassMax's zero-variance elimination (arXiv 2512.07710).
type ZeroVariance struct {
	Asymmetry `yaml:",inline"`
	// Scale is alpha. Default 0.1.
	Scale float64 `yaml:"scale"`
	// Threshold separates correct from wrong where there are no labels. Default 0.
	Threshold float64 `yaml:"threshold"`
	// Std divides by the standard deviation in mixed groups. Default true.
	Std bool `yaml:"std"`
	// Eps is added to it. Default 1e-6.
	Eps float64 `yaml:"eps"`

	groups groups
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

// Validate checks scale and eps.
func (e *ZeroVariance) Validate() error {
	if !(e.Scale >= 0) {
		return fmt.Errorf("scale is %v, must not be negative", e.Scale)
	}
	if err := checkEps(e.Eps); err != nil {
		return err
	}
	return e.Asymmetry.Validate()
}
