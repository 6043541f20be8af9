package table

import (
	"fmt"
	"slices"

	"driftlab/results/figure"
)

// strain says by its letter what a stressor does to a run; its dose says how much.
var strain = map[string]string{
	"A": "coarse rollouts, learning from negatives alone: %s",
	"B": "rollouts %s updates old, learning from negatives alone",
	"C": "rollouts %s updates old",
	"D": "a coarse router in the rollout engine: %s",
	"E": "%s updates a batch",
	"F": "rollouts cut at top-p %s",
	"G": "nothing but %s rollouts",
}

// described says what a stressor is, by its place.
func (r *Ranking) described(stressor int) string {
	row := r.row(stressor)
	if text, ok := strain[row.Letter]; ok {
		return fmt.Sprintf(text, row.Dose)
	}
	return row.Dose
}

// answers says what to switch on under each stressor: what no method loses there, and
// what the one brings that the screen had in front. The stage's own seeds had no part in
// choosing it, so that its figure is not the luck of the best of many. It is nil before
// the stage can tell, and without a screen.
func (r *Ranking) answers(screen *Ranking) *figure.Figure {
	list := r.Methods
	bare := slices.IndexFunc(list, func(m Standing) bool { return m.Method == control })
	if screen == nil || screen.Stage.Name == r.Stage.Name || !r.Stage.tells() || bare < 0 {
		return nil
	}
	t := &figure.Figure{Kind: figure.Table, Title: "Which method for which stressor", Columns: []figure.Column{{Name: "stressor"}, {Name: "what it is"}, number("none"), {Name: "in front in the screen"}, number("with it"), number("over none"), {Name: "95 %"}, number("better"), number("worse")},
		Note: fmt.Sprintf("None and with it: mean pass rate of the whole run minus that of the matched run. The method was chosen by the screen, on other seeds; over none is what it brings here (↑ told better). "+
			"Better, worse: of %d methods those told from none under this stressor, at 5 %% over the whole table.", len(list)-1)}
	for j, stressor := range r.Stressors {
		k := slices.Index(screen.Stressors, stressor)
		if k < 0 {
			continue
		}
		front := -1
		highest := 0.0
		for _, c := range screen.Methods {
			i := slices.IndexFunc(list, func(m Standing) bool { return m.Method == c.Method })
			if i >= 0 && i != bare && (front < 0 || c.AUC[k] > highest) {
				front, highest = i, c.AUC[k]
			}
		}
		if front < 0 {
			continue
		}
		better, worse := 0, 0
		for i := range list {
			if g := list[i].gain(j); g.Better() {
				better++
			} else if g.Worse() {
				worse++
			}
		}
		gain := list[front].gain(j)
		over := signed(gain.Estimate)
		if gain.Better() {
			over = over.As(figure.Good)
		}
		t.Add(figure.Word(stressor), figure.Word(r.described(j)), signed(list[bare].AUC[j]), figure.Word(list[front].Method), list[front].cell(j), over, between(gain.Interval), count(better), count(worse))
	}
	return t
}
