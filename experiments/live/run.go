package live

import (
	"fmt"

	"driftlab/results/figure"
	"driftlab/results/record"
)

// curves are what is drawn of a run, as far as it records it.
var curves = []struct {
	name, metric, title, label string
	log                        bool
}{
	{"pass-rate", "val/learner/pass_rate", "Pass rate on held-out prompts", "pass rate", false},
	{"score", "critic/score/mean", "Training reward, batch by batch", "mean reward", false},
	{"k3", "gap/k3", "Mismatch between rollout policy and learner", "k3, nats", true},
}

// Run are the figures of a run so far.
func Run(title string, r *record.Record) []figure.Figure {
	var list []figure.Figure
	for _, c := range curves {
		column := r.Column(c.metric)
		if column == nil || len(column.Value) == 0 {
			continue
		}
		p := figure.Figure{Kind: figure.Lines, Name: c.name, Title: c.title, X: figure.Axis{Label: "step"}, Y: figure.Axis{Label: c.label, Log: c.log}}
		if !c.log {
			p.Y.High = 1
		}
		s := figure.Series{Name: title, Method: figure.Own, Y: column.Value}
		for _, step := range column.Step {
			s.X = append(s.X, float64(step))
		}
		p.Series = append(p.Series, s)
		last := len(column.Value) - 1
		p.Note = fmt.Sprintf("%s: %s at step %d, from %s.", title, threeDigits(column.Value[last]), column.Step[last], threeDigits(column.Value[0]))
		list = append(list, p)
	}
	return list
}
