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
	t := &figure.Figure{
		Kind:  figure.Table,
		Title: "Mismatch by turn: before, between and after tool output",
		Columns: []figure.Column{{Name: "rollout"}, {Name: "learner"}, right("turn", ""), right("responses", ""), right("tokens", ""),
			right("geo-mean p", ""), right("mean |Δ|", ""), right("first token", ""), right("max |Δ|", ""), right("k3", "")},
		Note: "Generated tokens. Turn 0 is before the reply to the first tool call, turn k after the k-th reply. Geo-mean p: exp of the mean log-prob in the rollout engine. First token: mean |Δ| of the turn's first.",
	}
	for _, p := range m.Pairs {
		for _, g := range p.Turns {
			t.Add(figure.Word(p.Rollout), figure.Word(p.Learner), figure.Word(fmt.Sprint(g.Turn)), figure.Word(fmt.Sprint(g.Sequences)),
				figure.Word(fmt.Sprint(g.Tokens)), figure.Number(elementary.Exp(g.MeanLogp), 3), figure.Number(g.MeanAbsDlogp, 2),
				figure.Number(g.FirstAbsDlogp, 2), figure.Number(g.MaxAbsDlogp, 2), figure.Number(g.K3, 2))
		}
	}
	return t
}
