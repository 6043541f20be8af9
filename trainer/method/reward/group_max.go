package reward

import (
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/task"
)

// GroupMax gives every response the best result among K siblings sampled one
// after the other: 1 if any of them is correct. A block's reward is one sample of
// pass@K, so the policy gradient climbs pass@K as that of PassAtK does, with more
// noise: a wrong response shares what a lucky sibling earned.
type GroupMax struct {
	// K is the size of a block, at least 1 and at most the group's size. The last
	// block of a group is smaller where K does not divide it.
	K int `yaml:"k" default:"4" range:"[1,inf]"`

	groups batch.Groups
}

var groupMaxSpec = method.Spec{
	Name: "group_max", Unit: method.Group,
	Does:    "Gives each response the best result among its block of k siblings, which is one sample of pass@k.",
	When:    "Use it as a simpler and noisier alternative to pass_at_k.",
	Source:  "Pass@k training, arXiv:2508.10751, full sampling",
	Formula: "R_i = 1 if any response of i's block is correct, else 0;  blocks are K responses of the group in a row",
	Needs:   batch.Columns{batch.Group},
	Example: "K = 2, two blocks\n" +
		"no, yes: 1, 1\n" +
		"no, no: 0, 0",
}

// Part implements Shaper.
func (m *GroupMax) Part(dst []float64, b *batch.Batch, verdicts []task.Verdict) error {
	if err := b.Require(batch.Group); err != nil {
		return err
	}
	m.groups.Find(b.Group)
	for k := range m.groups.Len() {
		rows := m.groups.Rows(k)
		for len(rows) > 0 {
			block := rows[:min(m.K, len(rows))]
			rows = rows[len(block):]
			best := 0.0
			for _, i := range block {
				if verdicts[i].Correct {
					best = 1
				}
			}
			for _, i := range block {
				dst[i] = best
			}
		}
	}
	return nil
}
