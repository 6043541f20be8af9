package tables

import (
	"fmt"

	"driftlab/experiments/measure"
	"driftlab/precision/elementary"
	"driftlab/results/figure"
)

// TurnTable shows the gap of each pair turn by turn. It has no rows where no
// response has a second turn, as for a task without a tool.
func TurnTable(m *measure.Measurement) *figure.Figure {
	t := head("turns")
	for _, p := range m.Pairs {
		for _, g := range p.Turns {
			t.Add(figure.Word(p.Rollout), figure.Word(p.Learner), figure.Word(fmt.Sprint(g.Turn)), figure.Word(fmt.Sprint(g.Sequences)),
				figure.Word(fmt.Sprint(g.Tokens)), figure.Number(elementary.Exp(g.MeanLogp), 3), figure.Number(g.MeanAbsDlogp, 2),
				figure.Number(g.FirstAbsDlogp, 2), figure.Number(g.MaxAbsDlogp, 2), figure.Number(g.K3, 2))
		}
	}
	return t
}
