package experiments

import (
	"slices"
	"strconv"
	"strings"

	"driftlab/results/record"
)

// curveMetrics are the columns of the curves: what the arms differ by. The first is
// evaluated at a step, the others are means over the steps since the one before.
var curveMetrics = []struct{ column, metric string }{
	{"pass_rate", judged},
	{"reward", "critic/score/mean"},
	{"k3", "gap/k3"},
	{"engine_k3", "gap/engine_k3"},
	{"lag_k3", "gap/lag_k3"},
	{"entropy", "actor/entropy"},
	{"length", "response_length/mean"},
	{"clipped", "actor/pg_clipfrac"},
	{"masked", "correction/seq_masked_fraction"},
	{"grad_norm", "actor/grad_norm"},
	{"flipped_tokens", "routes/flip_token"},
}

// Curves are all runs by evaluation, as comma-separated values: a line for each arm,
// seed and evaluated step. What was not measured is left empty.
func (h *HeadlineResult) Curves() []byte {
	out := []byte("arm,seed,step")
	for _, c := range curveMetrics {
		out = append(append(out, ','), c.column...)
	}
	out = append(out, '\n')
	for i, arm := range h.Arms {
		for _, run := range h.Runs[i] {
			out = appendCurve(out, arm.Name, run)
		}
	}
	return out
}

// appendCurve appends the lines of a run.
func appendCurve(out []byte, arm string, run *record.Record) []byte {
	evaluated := run.Column(judged)
	if evaluated == nil {
		return out
	}
	before := 0
	for at, step := range evaluated.Step {
		out = append(out, arm+","+strconv.FormatUint(run.Seed, 10)+","+strconv.Itoa(step)...)
		for i, c := range curveMetrics {
			out = append(out, ',')
			if i == 0 {
				out = strconv.AppendFloat(out, evaluated.Value[at], 'g', -1, 64)
			} else if mean, ok := meanBetween(run.Column(c.metric), before, step); ok {
				out = append(out, strings.Replace(strconv.FormatFloat(mean, 'g', 4, 64), "e-0", "e-", 1)...)
			}
		}
		out, before = append(out, '\n'), step
	}
	return out
}

// meanBetween is the mean of a column over the steps after one, up to another.
func meanBetween(c *record.Column, after, to int) (mean float64, ok bool) {
	if c == nil {
		return 0, false
	}
	first, _ := slices.BinarySearch(c.Step, after+1)
	end, _ := slices.BinarySearch(c.Step, to+1)
	sum := 0.0
	for _, v := range c.Value[first:end] {
		sum += v
	}
	return sum / float64(end-first), end > first
}
