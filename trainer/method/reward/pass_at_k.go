package reward

import (
	"fmt"
	"math/rand/v2"

	"driftlab/results/stats/passk"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/task"
)

// PassAtK rewards each response so that the plain policy gradient, without
// baseline, raises the chance that at least one of K responses is correct. A
// wrong response earns what its group would have earned without it: the more
// of them are right, the less another right one matters.
type PassAtK struct {
	// K is the number of attempts, at least 1 and at most the group's size.
	K int `yaml:"k" default:"4" range:"[1,inf]"`
	// Until is the training step, counted from 0, from which on K is 1, the exact reward:
	// training returns to pass@1. 0 is never.
	Until int `yaml:"until" range:"[0,1e6]"`

	groups batch.Groups
}

// Part implements Shaper. A group with fewer than K responses is an error.
func (p *PassAtK) Part(dst []float64, b *batch.Batch, verdicts []task.Verdict) error {
	if err := b.Require(batch.Group); err != nil {
		return err
	}
	p.groups.Find(b.Group)
	attempts := p.K
	if p.Until > 0 && b.Step >= p.Until {
		attempts = 1
	}
	for rows := range p.groups.All() {
		n, c := len(rows), correctOf(verdicts, rows)
		if n < p.K {
			return fmt.Errorf("reward: pass_at_k with k = %d needs groups of at least that many responses, group %d has %d", p.K, b.Group[rows[0]], n)
		}
		for _, i := range rows {
			dst[i] = float64(attempts)
			if !verdicts[i].Correct {
				dst[i] *= passk.Unbiased(n-1, c, attempts-1)
			}
		}
	}
	return nil
}

// GroupMax gives every response the best result among K siblings sampled one
// after the other: 1 if any of them is correct. A block's reward is one sample of
// pass@K, so the policy gradient raises pass@K as that of PassAtK does, with more
// noise: a wrong response shares what a lucky sibling earned.
type GroupMax struct {
	// K is the size of a block, at least 1 and at most the group's size. The last
	// block of a group is smaller where K does not divide it.
	K int `yaml:"k" default:"4" range:"[1,inf]"`

	groups batch.Groups
}

// Part implements Shaper.
func (m *GroupMax) Part(dst []float64, b *batch.Batch, verdicts []task.Verdict) error {
	return eachGroup(&m.groups, b, func(rows []int) {
		for len(rows) > 0 {
			block := rows[:min(m.K, len(rows))]
			rows = rows[len(block):]
			best := float64(min(correctOf(verdicts, block), 1))
			for _, i := range block {
				dst[i] = best
			}
		}
	})
}

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
