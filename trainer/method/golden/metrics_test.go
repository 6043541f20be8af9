package golden

import (
	"math"
	"slices"
	"strings"

	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/metrics"
)

// claim compares every metric the case has, with or without a prefix of ours.
func claim(c *Case, k *Check, got []batch.Metric, prefix string) {
	for _, m := range got {
		name := m.Name
		if _, ok := c.Outputs.Sub("metrics")[name]; !ok {
			name = strings.TrimPrefix(name, prefix)
		}
		if _, ok := c.Outputs.Sub("metrics")[name]; !ok {
			k.Fail("we report %s, the case does not", m.Name)
			continue
		}
		k.Metric("metrics", name, m.Value)
	}
}

// claimStep compares the case's metrics with those of a step, which has others, too, and
// leaves out what is not defined.
func claimStep(c *Case, k *Check, b *batch.Batch, limit metrics.Limits) {
	got := map[string]float64{}
	for _, m := range metrics.Step(nil, b, limit) {
		got[m.Name] = m.Value
	}
	for name := range c.Outputs.Sub("metrics") {
		value, defined := got[name]
		if !defined {
			value = math.NaN()
		}
		k.Metric("metrics", name, value)
	}
}

func matchOffPolicy(c *Case, k *Check) {
	b := Batch(c.Inputs.Matrix("response_mask"))
	b.LogpRoll = c.Inputs.FlatOr("rollout_log_prob")
	if !c.Inputs.Has("old_log_prob") { // the figures of a gradient step
		b.Old.Logp = c.Inputs.Flat("log_prob")
		claim(c, k, metrics.OffPolicy(nil, b), "")
		return
	}
	b.Old.Logp = c.Inputs.Flat("old_log_prob")
	claim(c, k, metrics.OffPolicy(nil, b), "rollout_corr/")
}

// matchRobust: the peer's caller divides by the number of responses.
func matchRobust(c *Case, k *Check) {
	b := Batch(c.Inputs.Matrix("mask"))
	b.LogpRoll, b.Old.Logp = c.Inputs.Flat("rollout_logp"), c.Inputs.Flat("old_logp")
	for _, m := range metrics.Peer(nil, b, "miles") {
		k.Scalar(m.Name, m.Value*float64(b.Len()))
	}
}

func matchDebug(c *Case, k *Check) {
	b := Batch(c.Inputs.Matrix("response_mask"))
	b.LogpRoll, b.Old.Logp = c.Inputs.Flat("rollout_log_probs"), c.Inputs.Flat("old_log_probs")
	claimStep(c, k, b, metrics.Limits{})
}

func matchPearson(c *Case, k *Check) {
	b := Batch(c.Inputs.Matrix("mask"))
	x, y := c.Inputs.Flat("tensor1"), c.Inputs.Flat("tensor2")
	// Those of two log-probs are of their probabilities. The coefficient does not change by a shift.
	shift := 1 - min(slices.Min(x), slices.Min(y))
	for n := range b.Mask {
		b.LogpRoll, b.Old.Logp = append(b.LogpRoll, math.Log(x[n]+shift)), append(b.Old.Logp, math.Log(y[n]+shift))
	}
	r := math.NaN()
	for _, m := range metrics.Step(nil, b, metrics.Limits{}) {
		if m.Name == "training/rollout_actor_probs_pearson_corr" {
			r = m.Value
		}
	}
	k.Scalar("r", r)
}

// verl's calculate_log_prob_diff is |e| per token; ours only sums it up, so the
// column is rebuilt here from one-token gaps.
func matchLogProbDiff(c *Case, k *Check) {
	b := Batch(c.Inputs.Matrix("mask"))
	x, y := c.Inputs.Flat("log_probs1"), c.Inputs.Flat("log_probs2")
	var got []float64
	for n, counts := range b.Mask {
		if counts {
			g := metrics.Compare(&batch.Batch{
				Sampled: batch.Sampled{Offsets: []int{0, 1}, Mask: []bool{true}, LogpRoll: y[n : n+1]},
				Old:     batch.Scored{Logp: x[n : n+1]},
			})
			got = append(got, g.MaxAbsDlogp)
		}
	}
	k.Vector("diff", got)
}

func matchData(c *Case, k *Check) {
	mask := c.Inputs.Matrix("response_mask")
	b := Batch(mask)
	b.TokenReward, b.Advantage, b.Return = c.Inputs.Flat("token_level_rewards"), c.Inputs.Flat("advantages"), c.Inputs.Flat("returns")
	if c.Params.Bool("use_critic") {
		b.Value = c.Inputs.Flat("values")
	}
	for _, row := range c.Inputs.Matrix("token_level_scores") {
		sum := 0.0
		for _, x := range row {
			sum += x
		}
		b.Reward = append(b.Reward, sum)
	}
	limit := metrics.Limits{Response: len(mask[0])}
	for _, row := range c.Inputs.Matrix("prompt_mask") {
		n := 0
		for _, x := range row {
			n += int(x)
		}
		b.Prompt = append(b.Prompt, make([]int32, n))
		limit.Prompt = len(row)
	}
	claimStep(c, k, b, limit)
}

func matchProxy(c *Case, k *Check) {
	b := Batch(c.Inputs.Matrix("response_mask"))
	b.Old.SumSquares, b.Old.Logp = c.Inputs.Flat("sum_pi_squared"), c.Inputs.Flat("old_log_probs")
	b.Advantage, b.Weight = c.Inputs.Flat("advantages"), c.Inputs.FlatOr("rollout_is_weights")
	claim(c, k, metrics.VarianceProxy(nil, b, c.Params.FloatOr("gradient_norm", -1)), "")
}
