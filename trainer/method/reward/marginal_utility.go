package reward

import (
	"math/rand/v2"

	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/task"
)

// Utility pays every episode of the working what it has done to the policy's own
// value of the response so far. The sum over a response telescopes: value at the
// end of the working minus value of the prompt, whatever happened between. So an
// estimator that sums is left with the outcome as the policy foresaw it, and only
// one that keeps the places learns which episode did it.
//
// The answer itself is no episode of the working: the outcome judges it.
type Utility struct {
	// Coef multiplies the utilities.
	Coef float64 `yaml:"coef" default:"1" range:"[0,1e6]"`
	// Placebo is a control: "none"; "shuffled" permutes the utilities among the
	// episodes of a response, so that their sum stays.
	Placebo string `yaml:"placebo" default:"none" oneof:"none shuffled"`

	coin      rand.PCG
	utilities []float64
}

var utilitySpec = method.Spec{
	Name: "marginal_utility", Aliases: []string{"training_free_prm"}, Unit: method.Token,
	Does: "Rewards each episode of the working by the change of the policy's own value of the response, without a trained reward model.",
	When: "Use it with an advantage that keeps rewards at their tokens; a sum over the response only leaves last value minus first.",
	Source: "process rewards from the policy's own values as a practitioner's account of verl has them; VinePPO, arXiv:2410.01679; " +
		"progress as reward, arXiv:2410.08146",
	Formula: "U_e = V(prefix with episode e) − V(prefix without), on the episode's last token;  R = coef · Σ_e U_e",
	Needs:   batch.Columns{batch.Episode, batch.PrefixValue},
	Example: "V of the prompt and after two episodes: −2.3, −2.3, −0.1\n" +
		"per episode: 0, 2.2\n" +
		"sum: 2.2",
}

// Part implements Shaper.
func (u *Utility) Part(dst []float64, b *batch.Batch, _ []task.Verdict) error {
	clear(dst)
	return u.each(b, func(i, _ int, utility float64) { dst[i] += utility })
}

// Place implements Placer. An episode that ends in the environment's text is
// credited to the generated token before it.
func (u *Utility) Place(dst []float64, b *batch.Batch, _ []task.Verdict) error {
	return u.each(b, func(i, end int, utility float64) {
		from, _ := b.Span(i)
		if at := lastGenerated(b, from, end+1); at >= 0 {
			dst[at] += utility
		}
	})
}

// each calls f with response, last token and utility of every episode but the
// last, which is the answer.
func (u *Utility) each(b *batch.Batch, f func(i, end int, utility float64)) error {
	if err := b.Require(batch.Episode, batch.PrefixValue); err != nil {
		return err
	}
	if u.Placebo == placeboShuffled {
		if err := requirePrompts(b); err != nil {
			return err
		}
	}
	for i := range b.Len() {
		from, to := b.Span(i)
		u.utilities = u.utilities[:0]
		for n := from; n+1 < to; n++ {
			if b.Episode[n+1] != b.Episode[n] {
				u.utilities = append(u.utilities, u.Coef*(b.PrefixValue[n+1]-b.PrefixValue[n]))
			}
		}
		if u.Placebo == placeboShuffled {
			seedFor(&u.coin, b, i)
			shuffle(&u.coin, u.utilities)
		}
		k := 0
		for n := from; n+1 < to; n++ {
			if b.Episode[n+1] != b.Episode[n] {
				f(i, n, u.utilities[k])
				k++
			}
		}
	}
	return nil
}
