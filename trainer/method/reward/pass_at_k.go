package reward

import (
	"fmt"

	"driftlab/results/stats/passk"
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/task"
)

// PassAtK rewards each response so that the plain policy gradient, without
// baseline, climbs the chance that at least one of K responses is correct. A
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

var passAtKSpec = method.Spec{
	Name: "pass_at_k", Aliases: []string{"pkpo"}, Unit: method.Group,
	Does:   "Scores responses so that the policy gradient raises the chance that at least one of k responses is correct.",
	When:   "Use it if answers are drawn k times in deployment, or to keep diversity that training for pass@1 loses.",
	Source: "Pass@K Policy Optimization, arXiv:2505.15201, binary rewards",
	Formula: "ρ(n, c, k) = 1 − C(n−c, k)/C(n, k)\n" +
		"R = k if correct, k·ρ(n−1, c, k−1) if not;  n the group's size, c its correct responses",
	Needs: batch.Columns{batch.Group},
	Example: "k = 2, n = 4, c = 1: ρ(3, 1, 1) = 1/3\n" +
		"correct: 2\n" +
		"wrong: 0.666667",
	Reconstruction: "the paper's reward times n, so that the mean over a group has the gradient of pass@k and k = 1 is the exact reward",
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
	for k := range p.groups.Len() {
		rows := p.groups.Rows(k)
		n, c := len(rows), 0
		if n < p.K {
			return fmt.Errorf("reward: pass_at_k with k = %d needs groups of at least that many responses, group %d has %d", p.K, b.Group[rows[0]], n)
		}
		for _, i := range rows {
			if verdicts[i].Correct {
				c++
			}
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
