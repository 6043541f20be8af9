package golden

import (
	"strings"

	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/loss"
)

// matchKLValue compares the sample estimators of SkyRL, ROLL and AReaL.
func matchKLValue(c *Case, k *Check) {
	name, bounds := c.Params.String("kl_estimator_type"), loss.VerlBounds
	switch {
	case strings.HasPrefix(c.File, "roll/"):
		name, bounds = c.Params.String("kl_penalty"), loss.KLBounds{Value: 10}
	case strings.HasPrefix(c.File, "areal/"):
		name, bounds = c.Params.String("kl_estimator"), loss.KLBounds{}
	}
	e, err := parseEstimator(name)
	if !k.OK(err) {
		return
	}
	logp, ref, mask := c.Inputs.Flat("logp"), c.Inputs.Flat("base_logp"), c.Inputs.FlatOr("mask")
	value, derivative := make([]float64, len(logp)), make([]float64, len(logp))
	for n := range logp {
		if mask != nil && mask[n] == 0 {
			continue
		}
		value[n], derivative[n] = e.At(logp[n]-ref[n], bounds)
		if strings.HasPrefix(c.File, "areal/") && c.Params.Bool("apply_clamp") {
			value[n] = min(max(value[n], -10), 10)
		}
	}
	k.Vector("kl", value)
	if c.Outputs.Has("grad_of_sum") {
		k.Vector("grad_of_sum", derivative)
	}
}

// skyrlLoss builds the registered loss a case calls. Every loss of SkyRL is a sum.
func skyrlLoss(c *Case) loss.Loss {
	name := c.Params.String("policy_loss_type")
	switch {
	case name == "cispo" && c.Params.Sub("cispo").String("cispo_anchor") == "rollout":
		name = "cispo_rollout"
	case name == "dppo" && c.Params.Sub("dppo").String("dppo_type") == "binary_kl":
		name = "dppo_kl"
	}
	return peerLoss("skyrl/"+name, c.Params, loss.Aggregation{Mode: "token-sum"})
}

func matchSkyRLLoss(c *Case, k *Check) {
	b := paperBatch(c)
	pipeline := skyrlPipeline(c.Params.Sub("off_policy_correction"))
	apply(k, pipeline, b)
	out := evaluate(k, skyrlLoss(c), b)
	k.Scaled("loss", out.Loss, largestTerm(out))
	k.Vector("grad", out.DLogp)
	whole := *b // SkyRL measures its clip ratio before the correction drops tokens
	whole.LossMask = nil
	before := evaluate(k, skyrlLoss(c), &whole)
	tokens := float64(tokensOf(&whole))
	for name := range c.Outputs.Sub("metrics") {
		ours := name
		if name == "clip_ratio" {
			ours = "actor/pg_clipfrac"
		}
		value, ok := before.Metric(ours)
		if !ok {
			continue
		}
		if ours == "actor/pg_clipfrac" {
			value *= (tokens + 1e-8) / max(tokens, 1) // SkyRL's mean has no epsilon
		}
		k.Metric("metrics", name, value)
	}
	for _, m := range pipeline.Metrics() {
		if _, ok := c.Outputs.Sub("metrics")[m.Name]; ok {
			k.Metric("metrics", m.Name, m.Value)
		}
	}
}

// matchSkyRLReduction: SkyRL folds the aggregation into the advantages.
func matchSkyRLReduction(c *Case, k *Check) {
	b, mask := paperBatch(c), c.Inputs.Matrix("mask")
	agg, size := loss.Aggregation{}, len(mask)
	switch c.Params.String("loss_reduction") {
	case "token_mean_legacy": // token-mean per micro-batch, then the mean of those
		size = c.Params.Int("micro_batch_size")
	case "sequence_mean":
		agg.Mode = "grpo"
	case "seq_mean_token_sum_norm":
		agg = loss.Aggregation{Mode: "dr_grpo", Horizon: c.Params.Int("max_seq_len")}
	case "prompt_mean":
		agg.Mode, b.Group = "prompt-mean", promptGroups(c)
	}
	scaled := append([]float64{}, c.Outputs.Flat("scaled_advantages")...) // masked entries are not ours to scale
	parts := float64((len(mask) + size - 1) / size)
	for first := 0; first < len(mask); first += size {
		last := min(first+size, len(mask))
		part := Batch(mask[first:last])
		part.Group = b.Group
		rows := make([]float64, part.Len())
		k.OK(agg.RowWeights(rows, part, &batch.Groups{}))
		from, _ := b.Span(first)
		for i, w := range rows {
			for n := part.Offsets[i]; n < part.Offsets[i+1]; n++ {
				if part.Mask[n] {
					scaled[from+n] = b.Advantage[from+n] * w / parts
				}
			}
		}
	}
	k.Vector("scaled_advantages", scaled)
}

// promptGroups numbers the prompts of a case by their first and last rows.
func promptGroups(c *Case) (groups []int) {
	for g, bounds := range c.Params.Matrix("prompt_boundaries") {
		for range int(bounds[1]) - int(bounds[0]) {
			groups = append(groups, g)
		}
	}
	return groups
}

// matchSkyRLMinibatch compares a loss whose weights SkyRL puts into the advantages.
func matchSkyRLMinibatch(c *Case, k *Check) {
	p, b := c.Params, paperBatch(c)
	agg := loss.Aggregation{}
	switch p.String("loss_reduction") {
	case "token_mean_legacy":
		agg.Mode, agg.Horizon = "token-mean-legacy", p.Int("micro_batch_size")
	case "prompt_mean":
		agg.Mode, b.Group = "prompt-mean", promptGroups(c)
	}
	rows := make([]float64, b.Len())
	k.OK(agg.RowWeights(rows, b, &batch.Groups{}))
	scaled := append([]float64{}, b.Advantage...)
	for i, w := range rows {
		from, to := b.Span(i)
		for n := from; n < to; n++ {
			scaled[n] *= w
		}
	}
	k.Vector("advantages", scaled)
	compared(k, &loss.PPOClip{EpsLow: p.Float("eps_clip_low"), EpsHigh: p.Float("eps_clip_high"), Aggregation: agg}, b)
}
