package reward

import (
	"math"

	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/task"
)

// Group compares a response's length with the shortest and the longest of its
// group: short correct ones gain, long ones lose, and a wrong one never gains.
// The reference moves with the policy, so the race has no end of its own.
type Group struct {
	Ramp `yaml:",inline"`
	// Coef is β, the spread of the part over a group.
	Coef float64 `yaml:"coef" default:"0.1" range:"[0,1e6]"`

	groups batch.Groups
}

var groupSpec = method.Spec{
	Name: "length_group", Aliases: []string{"kimi_length"}, Unit: method.Group,
	Does:   "Raises the reward of responses that are short within their group and lowers that of long ones; a wrong response never gains.",
	When:   "Use it to shorten correct answers relative to the current lengths of the policy.",
	Source: "length reward of Kimi k1.5, arXiv:2501.12599; β = 0.1 is ours",
	Formula: "λ = 0.5 − (L − min)/(max − min) over the group, 0 if max = min\n" +
		"R = β·λ if correct, β·min(0, λ) if not",
	Needs: batch.Columns{batch.Group},
	Example: "β = 0.1, lengths 3, 8, 13: λ = 0.5, 0, −0.5\n" +
		"all correct: 0.05, 0, −0.05\n" +
		"all wrong: 0, 0, −0.05",
}

// Part implements Shaper.
func (g *Group) Part(dst []float64, b *batch.Batch, verdicts []task.Verdict) error {
	if err := b.Require(batch.Group); err != nil {
		return err
	}
	coef := g.Coef * g.share(b)
	g.groups.Find(b.Group)
	for k := range g.groups.Len() {
		rows := g.groups.Rows(k)
		shortest, longest := math.Inf(1), 0.0
		for _, i := range rows {
			l := length(b, i)
			shortest, longest = min(shortest, l), max(longest, l)
		}
		for _, i := range rows {
			dst[i] = 0
			if longest == shortest {
				continue
			}
			lambda := 0.5 - (length(b, i)-shortest)/(longest-shortest)
			if !verdicts[i].Correct {
				lambda = min(0, lambda)
			}
			dst[i] = coef * lambda
		}
	}
	return nil
}
