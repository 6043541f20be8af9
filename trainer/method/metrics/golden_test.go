package metrics

import (
	"strings"
	"testing"

	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/golden"
)

func TestGolden(t *testing.T) {
	golden.Run(t, "trainer/method/metrics", []golden.Matcher{
		{File: "verl/offpolicy_metrics*.json", Match: matchOffPolicy},
		{File: "verl/debug_metrics*.json", Source: "calculate_debug_metrics", Match: matchDebug},
		{File: "verl/debug_metrics*.json", Source: "pearson_correlation_coefficient", Match: matchPearson},
		{File: "verl/debug_metrics*.json", Source: "calculate_log_prob_diff", Match: matchLogProbDiff},
		{File: "verl/data_metrics*.json", Match: matchData},
		{File: "verl/variance_proxy*.json", Match: matchProxy},
		{File: "miles/train_rollout_kl*.json", Match: matchRobust},
	}, goldenListings)
}

// claim compares every metric the case has, with or without a prefix of ours.
func claim(c *golden.Case, k *golden.Check, got []batch.Metric, prefix string) {
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

func matchOffPolicy(c *golden.Case, k *golden.Check) {
	b := golden.Batch(c.Inputs.Matrix("response_mask"))
	b.LogpRoll = c.Inputs.FlatOr("rollout_log_prob")
	if !c.Inputs.Has("old_log_prob") { // the figures of a gradient step
		b.Old.Logp = c.Inputs.Flat("log_prob")
		claim(c, k, OffPolicy(nil, b), "")
		return
	}
	b.Old.Logp = c.Inputs.Flat("old_log_prob")
	claim(c, k, OffPolicy(nil, b), "rollout_corr/")
}

// matchRobust: the peer's caller divides by the number of responses.
func matchRobust(c *golden.Case, k *golden.Check) {
	b := golden.Batch(c.Inputs.Matrix("mask"))
	b.LogpRoll, b.Old.Logp = c.Inputs.Flat("rollout_logp"), c.Inputs.Flat("old_logp")
	for _, m := range Peer(nil, b, "miles") {
		k.Scalar(m.Name, m.Value*float64(b.Len()))
	}
}

func matchDebug(c *golden.Case, k *golden.Check) {
	b := golden.Batch(c.Inputs.Matrix("response_mask"))
	b.LogpRoll, b.Old.Logp = c.Inputs.Flat("rollout_log_probs"), c.Inputs.Flat("old_log_probs")
	claim(c, k, probabilities(nil, b), "")
}

func matchPearson(c *golden.Case, k *golden.Check) {
	b := golden.Batch(c.Inputs.Matrix("mask"))
	x, y := c.Inputs.Flat("tensor1"), c.Inputs.Flat("tensor2")
	var p pair
	for n, counts := range b.Mask {
		if counts {
			p.add(x[n], y[n])
		}
	}
	k.Scalar("r", p.pearson())
}

// verl's calculate_log_prob_diff is |e| per token; ours only sums it up, so the
// column is rebuilt here from one-token gaps.
func matchLogProbDiff(c *golden.Case, k *golden.Check) {
	b := golden.Batch(c.Inputs.Matrix("mask"))
	x, y := c.Inputs.Flat("log_probs1"), c.Inputs.Flat("log_probs2")
	var got []float64
	for n, counts := range b.Mask {
		if counts {
			g := Compare(&batch.Batch{
				Sampled: batch.Sampled{Offsets: []int{0, 1}, Mask: []bool{true}, LogpRoll: y[n : n+1]},
				Old:     batch.Scored{Logp: x[n : n+1]},
			})
			got = append(got, g.MaxAbsDlogp)
		}
	}
	k.Vector("diff", got)
}

func matchData(c *golden.Case, k *golden.Check) {
	mask := c.Inputs.Matrix("response_mask")
	b := golden.Batch(mask)
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
	limit := Limits{Response: len(mask[0])}
	for _, row := range c.Inputs.Matrix("prompt_mask") {
		n := 0
		for _, x := range row {
			n += int(x)
		}
		b.Prompt = append(b.Prompt, make([]int32, n))
		limit.Prompt = len(row)
	}
	claim(c, k, data(nil, b, limit), "")
}

func matchProxy(c *golden.Case, k *golden.Check) {
	b := golden.Batch(c.Inputs.Matrix("response_mask"))
	b.Old.SumSquares, b.Old.Logp = c.Inputs.Flat("sum_pi_squared"), c.Inputs.Flat("old_log_probs")
	b.Advantage, b.Weight = c.Inputs.Flat("advantages"), c.Inputs.FlatOr("rollout_is_weights")
	claim(c, k, VarianceProxy(nil, b, c.Params.FloatOr("gradient_norm", -1)), "")
}
