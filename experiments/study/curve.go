package study

import (
	"slices"
	"strings"

	"driftlab/results/record"
	"driftlab/results/stats"
)

// stepMetrics are the metrics that every step of a run is kept of.
var stepMetrics = append(slices.Clone(kept),
	"gap/released_k3", "actor/ppo_kl", "actor/lr", "actor/skipped_updates", "staleness/tokens/max", "clock/ticks",
	"val/learner/pass_rate", "val/learner/greedy_pass_rate", "val/rollout/pass_rate", "val/learner/response_length", "val/weight_travel",
	"response_length/clip_ratio", "actor/kl_loss", "val/learner/easy/pass_rate", "val/learner/easy/response_length", "val/learner/hard/pass_rate", "val/learner/hard/response_length")

// byLength is in the names of metrics of which every evaluation is kept, too: a distribution of lengths.
const byLength = "_of_length/"

// stepDigits is to how many significant digits.
const stepDigits = 6

// curveOf are the steps of a run.
func curveOf(r *record.Record) []record.CurveColumn {
	list := []record.CurveColumn{}
	names := slices.Clone(stepMetrics)
	for _, c := range r.Columns {
		if strings.Contains(c.Name, byLength) {
			names = append(names, c.Name)
		}
	}
	for _, name := range names {
		c := r.Column(name)
		if c == nil {
			continue
		}
		one := record.CurveColumn{Name: name}
		inRow := true
		for i, v := range c.Value {
			one.Value = append(one.Value, stats.Digits(v, stepDigits))
			inRow = inRow && c.Step[i] == i+1
		}
		if !inRow {
			one.Step = c.Step
		}
		list = append(list, one)
	}
	return list
}
