package study

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"math"

	"driftlab/results"
	"driftlab/results/record"
	"driftlab/results/stats"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/recipe"
)

// Outcome is what a run came to: that of a sweep's cell, and with the values of
// a cell a row of its tables. It holds nothing that depends on the machine.
type Outcome struct {
	// Status, Reason and Steps are as in record.Summary.
	Status string `json:"status"`
	Reason string `json:"reason,omitempty"`
	Steps  int    `json:"steps"`
	// Metric is the one that the run is judged by.
	Metric string `json:"metric"`
	record.RunOutcome
	// Means are the means of the kept metrics over the steps that have them.
	Means map[string]record.Number `json:"means"`
	// Tokens is what it cost.
	Tokens Tokens `json:"tokens"`
	// Evals are the evaluations by Metric.
	Evals Evals `json:"evals"`
	// Windows are the kept metrics in short.
	Windows Windows `json:"windows"`
	// Trace tells whether two runs trained alike.
	Trace Trace `json:"trace"`
}

// Tokens count what a run cost, whatever the machine.
type Tokens struct {
	// Generated were sampled: those of the trained responses, of greedy baselines,
	// and those that a schedule threw away.
	Generated int64 `json:"generated"`
	// Scored went through a forward pass that nothing but the method asked for: the
	// old policy unless the rollout engine's log-probs stand for it, a reference, a
	// teacher.
	Scored int64 `json:"scored"`
	// Trained went through a gradient, once for every epoch.
	Trained int64 `json:"trained"`
}

// Evals are evaluations: at which steps, and what they found.
type Evals struct {
	Step  []int           `json:"step"`
	Value []record.Number `json:"value"`
}

// windowSteps is how many steps a window takes together.
const windowSteps = 10

// Windows are means of metrics over Every consecutive steps, to three digits.
type Windows struct {
	Every  int                        `json:"every"`
	Values map[string][]record.Number `json:"values"`
}

// kept are the metrics whose means stand in an outcome: what a practitioner logs.
var kept = []string{
	"critic/score/mean", "response_length/mean",
	"gap/k3", "gap/ess_token", "gap/ess_sequence", "gap/dlogp_max", "gap/exact_tv", "gap/exact_tv_p95", "gap/exact_tv_max",
	"gap/k1", "gap/dlogp_mean", "gap/dp_mean", "training/rollout_actor_probs_pearson_corr", "gap/chi2_token_p95",
	"rollout_corr/chi2_token", "rollout_corr/chi2_seq", "routes/flip_token",
	"actor/entropy", "actor/grad_norm", "actor/grad_norm_max", "actor/pg_clipfrac",
	"correction/masked_fraction", "correction/seq_masked_fraction", "staleness/tokens/mean",
}

// outcomeOf condenses the record of a run.
func outcomeOf(c *Cell, r *record.Record) Outcome {
	metric := results.JudgedBy([]*record.Record{r})
	o := Outcome{
		Status: r.Summary.Status, Reason: r.Summary.Reason, Steps: r.Steps,
		Metric: metric, RunOutcome: record.Judge(r, metric),
		Means: map[string]record.Number{}, Tokens: tokensOf(c.Recipe, r), Trace: traceOf(r),
		Windows: Windows{windowSteps, map[string][]record.Number{}},
	}
	if column := r.Column(metric); column != nil {
		o.Evals.Step = column.Step
		for _, v := range column.Value {
			o.Evals.Value = append(o.Evals.Value, record.Number(v))
		}
	}
	for _, name := range kept {
		if column := r.Column(name); column != nil {
			o.Means[name] = record.Number(stats.Digits(stats.Average(column.Value), 6))
			o.Windows.Values[name] = windows(column, r.Steps)
		}
	}
	return o
}

// windows are the means of a column over windows of a run's steps; NaN where one
// has no value.
func windows(c *record.Column, steps int) []record.Number {
	list := make([]record.Number, (steps+windowSteps-1)/windowSteps)
	i := 0
	for w := range list {
		var values []float64
		for ; i < len(c.Step) && c.Step[i] <= (w+1)*windowSteps; i++ {
			if c.Step[i] > 0 {
				values = append(values, c.Value[i])
			}
		}
		list[w] = record.Number(stats.Digits(stats.Average(values), 3))
	}
	return list
}

// tokensOf counts from lengths and from what the recipe makes of a token.
func tokensOf(r recipe.Recipe, run *record.Record) (t Tokens) {
	column := run.Column("response_length/mean")
	if column == nil {
		return t
	}
	passes := int64(0)
	switch r.Anchored() {
	case recipe.AnchorRollout, recipe.AnchorInterpolated:
	default:
		passes++
	}
	if r.KL.Name != "none" || r.Needs(batch.LogpRef) {
		passes++
	}
	read := run.Column("opd/teacher_tokens") // where the teacher reads some responses
	if r.Teacher != "" && read == nil {
		passes++
	}
	for _, length := range column.Value {
		// The mean times its count is whole but for its rounding.
		tokens := int64(math.Round(length * float64(r.Rollout.Prompts*r.Rollout.Group)))
		t.Generated += tokens
		t.Scored += passes * tokens
		t.Trained += int64(r.Learner.Epochs) * tokens
		if r.Needs(batch.GreedyReward) {
			t.Generated += tokens / int64(r.Rollout.Group)
		}
	}
	if read != nil {
		for _, n := range read.Value {
			t.Scored += int64(n)
		}
	}
	if wasted, ok := run.Column("clock/wasted_tokens").Last(); ok {
		t.Generated += int64(wasted)
	}
	return t
}

// Trace is a hash of figures that the weights and samples alone decide. Two runs that trained
// alike have equal traces.
type Trace string

// traceWidth is how many characters a trace has.
const traceWidth = 12

// traced are the figures of a trace: those of the gap, of the sampled responses and
// of the gradient. What a method reports of itself is none of them.
var traced = []string{"critic/score/mean", "response_length/mean", "gap/k1", "gap/k3", "actor/entropy", "actor/grad_norm", "val/weight_travel"}

// traceOf hashes the steps of a run: every step with the hash of those before it, and then three
// bytes of every window. Published traces, which once held those bytes, were shortened to their hash.
func traceOf(r *record.Record) Trace {
	columns := stats.Map(traced, r.Column)
	var text, sum []byte
	for step := 1; step <= r.Steps; step++ {
		for i, c := range columns {
			if v, ok := c.At(step); ok {
				sum = binary.LittleEndian.AppendUint64(append(sum, byte(i)), math.Float64bits(v))
			}
		}
		hash := sha256.Sum256(sum)
		sum = append(sum[:0], hash[:]...)
		if step%windowSteps == 0 || step == r.Steps {
			text = base64.RawURLEncoding.AppendEncode(text, hash[:3])
		}
	}
	if text == nil {
		return "" // the run took no step
	}
	hash := sha256.Sum256(text)
	return Trace(base64.RawURLEncoding.EncodeToString(hash[:traceWidth*3/4]))
}
