package study

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"driftlab/results/record"
)

// stepMetrics are the metrics that every step of a run is kept of.
var stepMetrics = append(append([]string(nil), kept...),
	"gap/released_k3", "actor/ppo_kl", "actor/lr", "actor/skipped_updates", "staleness/tokens/max", "clock/ticks",
	"val/learner/pass_rate", "val/learner/greedy_pass_rate", "val/rollout/pass_rate", "val/learner/response_length", "val/weight_travel",
	"response_length/clip_ratio", "actor/kl_loss", "val/learner/easy/pass_rate", "val/learner/easy/response_length", "val/learner/hard/pass_rate", "val/learner/hard/response_length")

// byLength is in the names of metrics of which every evaluation is kept, too: a distribution of lengths.
const byLength = "_of_length/"

// stepDigits is to how many significant digits.
const stepDigits = 6

// curveColumn is a metric of a curve, a value for each of its steps; without steps for 1, 2, ... in a row.
type curveColumn struct {
	Name  string        `json:"name"`
	Step  []int         `json:"step,omitempty"`
	Value record.Floats `json:"value"`
}

// curveOf are the steps of a run.
func curveOf(r *record.Record) []curveColumn {
	list := []curveColumn{}
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
		one := curveColumn{Name: name}
		inRow := true
		for i, v := range c.Value {
			one.Value = append(one.Value, digits(v, stepDigits))
			inRow = inRow && c.Step[i] == i+1
		}
		if !inRow {
			one.Step = c.Step
		}
		list = append(list, one)
	}
	return list
}

// curve reads the steps of a cell back: the columns by name, and the last step.
func curve(cell *record.Cell) (columns map[string]*record.Column, last int, err error) {
	var list []curveColumn
	if err := json.Unmarshal(cell.Curve, &list); err != nil {
		return nil, 0, fmt.Errorf("the curve of %s: %w", cell.Key, err)
	}
	columns = map[string]*record.Column{}
	for _, c := range list {
		column := &record.Column{Name: c.Name, Step: c.Step, Value: c.Value}
		if c.Step == nil {
			for i := range c.Value {
				column.Step = append(column.Step, i+1)
			}
		}
		if len(column.Step) != len(c.Value) {
			return nil, 0, fmt.Errorf("the curve of %s: %s has %d values at %d steps", cell.Key, c.Name, len(c.Value), len(c.Step))
		}
		if n := len(column.Step); n > 0 {
			last = max(last, column.Step[n-1])
		}
		columns[c.Name] = column
	}
	return columns, last, nil
}
