package golden

import (
	"math"
	"slices"
	"strings"

	"driftlab/trainer/method"
	"driftlab/trainer/method/advantage"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/correction"
	"driftlab/trainer/method/guard"
	"driftlab/trainer/method/loss"
	"driftlab/trainer/method/masked"
	"driftlab/trainer/method/metrics"
)

// rewards fills TokenReward, and Reward as the sum of the whole row, mask or
// not, which is what outcome estimators of verl and SkyRL take.
func rewards(b *batch.Batch, token []float64) {
	b.TokenReward = token
	b.Reward = make([]float64, b.Len())
	for i := range b.Reward {
		from, to := b.Span(i)
		for n := from; n < to; n++ {
			b.Reward[i] += token[n]
		}
	}
}

// estimated runs an estimator on a batch and returns the batch, nil if it failed.
func estimated(k *Check, e advantage.Estimator, b *batch.Batch) *batch.Batch {
	k.OK(method.Check(e))
	if err := e.Estimate(b); err != nil {
		k.Fail("%v", err)
		return nil
	}
	return b
}

func matchVerl(c *Case, k *Check) {
	v := c.Params
	b := Batch(c.Inputs.Matrix("response_mask"))
	rewards(b, c.Inputs.Flat("token_level_rewards"))
	if c.Inputs.Has("index") {
		b.Group = Groups(c.Inputs.Strings("index"))
	}
	std, eps := v.Bool("norm_adv_by_std_in_grpo"), v.FloatOr("epsilon", 1e-6)
	var e advantage.Estimator
	switch f := strings.Fields(c.Source)[1]; strings.TrimPrefix(f, "core_algos.compute_") {
	case "grpo_outcome_advantage", "grpo_vectorized_outcome_advantage":
		e = &advantage.GRPO{Asymmetry: symmetric, Std: std, Eps: eps, Singleton: "raw"}
	case "grpo_passk_outcome_advantage":
		e = &advantage.GRPOPassK{Asymmetry: symmetric, Std: std, Eps: eps}
	case "rloo_outcome_advantage":
		e = &advantage.RLOO{Asymmetry: symmetric, Singleton: "raw"}
	case "rloo_vectorized_outcome_advantage":
		e = &advantage.RLOO{Asymmetry: symmetric, Singleton: "zero"}
	case "opo_outcome_advantage":
		e = &advantage.OPO{Asymmetry: symmetric}
	case "gpg_outcome_advantage":
		e = &advantage.GPG{Asymmetry: symmetric, FNorm: v.FloatOr("f_norm", 1)}
	case "reinforce_plus_plus_outcome_advantage":
		e = &advantage.Reinforce{Asymmetry: symmetric, Gamma: v.Float("gamma"), Whiten: true, Holes: advantage.Carry, CountEps: masked.Epsilon}
	case "reinforce_plus_plus_baseline_outcome_advantage":
		e = &advantage.ReinforceBaseline{Asymmetry: symmetric}
	case "remax_outcome_advantage":
		b.GreedyReward = c.Inputs.Flat("reward_baselines")
		for n, counts := range b.Mask {
			if !counts {
				b.TokenReward[n] = 0
			}
		}
		e = &advantage.ReMax{Asymmetry: symmetric}
	case "gae_advantage_return":
		b.Value = c.Inputs.Flat("values")
		e = &advantage.GAE{Asymmetry: symmetric, Gamma: v.Float("gamma"), Lam: v.Float("lam"), Whiten: true, Holes: advantage.Carry, CountEps: masked.Epsilon}
	case "gdpo_outcome_advantage":
		g := &advantage.GDPO{Asymmetry: symmetric, Weights: v.FlatOr("gdpo_reward_weights"), Std: std, Eps: 1e-6, Whiten: "token"}
		if v.Has("gdpo_reward_keys") {
			for i := range b.Len() {
				var parts []float64
				for _, key := range v.Strings("gdpo_reward_keys") {
					parts = append(parts, c.Inputs.Sub("rewards").Flat(key)[i])
				}
				b.RewardParts = append(b.RewardParts, parts)
			}
		}
		e = g
	case "optimal_token_baseline_advantage", "multi_turn_optimal_token_baseline_advantage":
		b.Old.Logp, b.Old.SumSquares = c.Inputs.Flat("old_log_probs"), c.Inputs.Flat("sum_pi_squared")
		b.Weight = c.Inputs.FlatOr("rollout_is_weights")
		name := "optimal_token_baseline"
		if strings.Contains(f, "multi_turn") {
			name = "tir_" + name
		}
		otb := registered(name).(*advantage.OTB)
		otb.Eps, otb.ZeroTail, otb.Scale = v.Float("epsilon"), v.Bool("handle_zero_tail"), "increment"
		e = otb
	default:
		k.Fail("no estimator for %s", f)
		return
	}
	if _, raises := c.Outputs["error"]; raises {
		k.Error(e.Estimate(b))
		return
	}
	compareEstimates(c, k, estimated(k, e, b))
}

// compareEstimates compares advantages and returns, unless the estimator failed.
func compareEstimates(c *Case, k *Check, b *batch.Batch) {
	if b == nil {
		return
	}
	if b.Return == nil { // an outcome estimator returns its advantages twice
		b.Return = b.Advantage
	}
	k.Vector("advantages", masking(c, "advantages", b.Mask, b.Advantage))
	k.Vector("returns", masking(c, "returns", b.Mask, b.Return))
}

// verl's masked reductions, which package masked follows.
func matchFunctional(c *Case, k *Check) {
	x := c.Inputs.Flat("values")
	b := Batch(c.Inputs.Matrix("mask"))
	var sums, means []float64
	for i := range b.Len() {
		from, to := b.Span(i)
		sums = append(sums, masked.Sum(x[from:to], b.Mask[from:to]))
		means = append(means, masked.Mean(x[from:to], b.Mask[from:to]))
	}
	k.Scalar("masked_sum", masked.Sum(x, b.Mask))
	k.Vector("masked_sum_rows", sums)
	k.Scalar("masked_mean", masked.Mean(x, b.Mask))
	k.Vector("masked_mean_rows", means)
	mean := masked.Mean(x, b.Mask)
	white := slices.Clone(x)
	masked.Whiten(white, b.Mask)
	k.Vector("masked_whiten", masking(c, "masked_whiten", b.Mask, white))
	for n := range white {
		white[n] += mean
	}
	k.Vector("masked_whiten_noshift", masking(c, "masked_whiten_noshift", b.Mask, white))
}

// outcomes is a batch of one-token responses with the given rewards in groups of size.
func outcomes(reward []float64, size int) *batch.Batch {
	b := &batch.Batch{
		Sampled: batch.Sampled{Offsets: []int{0}},
		Graded:  batch.Graded{Reward: reward},
	}
	for i := range reward {
		b.Offsets, b.Mask, b.Group = append(b.Offsets, i+1), append(b.Mask, true), append(b.Group, i/max(size, 1))
	}
	return b
}

func level(v Values, key string) string {
	if !v.Has(key) {
		return "none"
	}
	return v.String(key)
}

func advantageMatchAReaL(c *Case, k *Check) {
	v := c.Params
	e := &advantage.Normalize{Asymmetry: symmetric, Mean: level(v, "mean_level"), Std: level(v, "std_level"), Eps: v.FloatOr("eps", 1e-5),
		Biased: !v.Bool("std_unbiased"), Residual: true, LeaveOneOut: v.Bool("mean_leave1out")}
	if out := estimated(k, e, outcomes(c.Inputs.Flat("rewards"), v.IntOr("group_size", len(c.Inputs.Flat("rewards"))))); out != nil {
		k.Vector("normalized", out.Advantage)
	}
}

func matchROLLNorm(c *Case, k *Check) {
	v := c.Params
	e := &advantage.Normalize{Asymmetry: symmetric, Mean: level(v, "norm_mean_type"), Std: level(v, "norm_std_type"), Eps: 1e-6}
	if out := estimated(k, e, outcomes(c.Inputs.Flat("rewards"), v.Int("n_sample"))); out != nil {
		k.Vector("normalized", out.Advantage)
	}
}

func advantageMatchROLL(c *Case, k *Check) {
	v := c.Params
	b := Batch(c.Inputs.Matrix("mask"))
	rewards(b, slices.Clone(c.Inputs.Flat("token_level_rewards")))
	if v.Bool("whiten_rewards") {
		masked.Whiten(b.TokenReward, b.Mask)
	}
	var e advantage.Estimator
	if v.String("adv_estimator") == "gae" {
		b.Value = c.Inputs.Flat("values")
		e = &advantage.GAE{Asymmetry: symmetric, Gamma: v.Float("gamma"), Lam: v.Float("lambd"), Whiten: v.Bool("whiten_advantages"), Holes: advantage.Through, CountEps: masked.Epsilon}
	} else {
		e = &advantage.Reinforce{Asymmetry: symmetric, Gamma: v.Float("gamma"), Whiten: v.Bool("whiten_advantages"), Holes: advantage.Through, CountEps: masked.Epsilon}
	}
	out := estimated(k, e, b)
	if out == nil {
		return
	}
	if top := v.FloatOr("advantage_clip", 0); top > 0 {
		for n, a := range out.Advantage {
			out.Advantage[n] = min(max(a, -top), top)
		}
	}
	compareEstimates(c, k, out)
}

func advantageMatchSkyRL(c *Case, k *Check) {
	v := c.Params
	b := Batch(c.Inputs.Matrix("mask"))
	rewards(b, c.Inputs.Flat("token_level_rewards"))
	b.Group = Groups(c.Inputs.Strings("group"))
	var e advantage.Estimator
	switch v.String("adv_estimator") {
	case "grpo":
		e = &advantage.GRPO{Asymmetry: symmetric, Std: v.Bool("grpo_norm_by_std"), Eps: v.Float("epsilon"), Singleton: "raw"}
	case "rloo":
		e = &advantage.RLOO{Asymmetry: symmetric, Singleton: "zero"}
	case "maxrl":
		e = &advantage.MaxRL{Asymmetry: symmetric, Eps: v.Float("epsilon")}
	case "reinforce++":
		e = &advantage.Reinforce{Asymmetry: symmetric, Gamma: v.Float("gamma"), Whiten: true, Holes: advantage.Reset}
	case "gae":
		b.Value = c.Inputs.Flat("values")
		e = &advantage.GAE{Asymmetry: symmetric, Gamma: v.Float("gamma"), Lam: v.Float("lambd"), Whiten: true, Holes: advantage.Through}
	}
	compareEstimates(c, k, estimated(k, e, b))
}

// slime folds a KL penalty into the reward, and whitens after the estimator.
func advantageMatchSlime(c *Case, k *Check) {
	v := c.Params
	b := ragged(c, "mask")
	logp, ref := cut(c, "logp"), cut(c, "ref_logp")
	kind := loss.Estimator(v.String("kl_loss_type"))
	if kind == "low_var_kl" {
		kind = loss.K3
	}
	kl := make([]float64, b.Tokens())
	if v.Float("kl_coef") != 0 {
		for n := range kl {
			kl[n], _ = kind.At(logp[n]-ref[n], loss.KLBounds{})
		}
	}
	b.Reward = c.Inputs.Flat("rewards")
	b.TokenReward = make([]float64, b.Tokens())
	var e advantage.Estimator
	switch v.String("advantage_estimator") {
	case "grpo":
		b.Group = make([]int, b.Len())
		e = &advantage.Normalize{Asymmetry: symmetric, Mean: "none", Std: "none"}
	case "reinforce_plus_plus", "ppo":
		ppo := v.String("advantage_estimator") == "ppo"
		for i := range b.Len() {
			from, to := b.Span(i)
			last := to - 1
			for n := from; n < to; n++ {
				if ppo || b.Mask[n] {
					b.TokenReward[n] = -v.Float("kl_coef") * kl[n]
				}
				if !ppo && b.Mask[n] {
					last = n
				}
			}
			if !ppo {
				for last = to - 1; !b.Mask[last]; last-- {
				}
			}
			b.TokenReward[last] += b.Reward[i]
		}
		e = &advantage.Reinforce{Asymmetry: symmetric, Gamma: v.Float("gamma"), Holes: advantage.Through}
		if ppo {
			b.Value = cut(c, "values")
			e = &advantage.GAE{Asymmetry: symmetric, Gamma: v.Float("gamma"), Lam: v.Float("lambd"), Holes: advantage.Through}
		}
	case "reinforce_plus_plus_baseline":
		for i := range b.Len() {
			from, to := b.Span(i)
			for n := from; n < to; n++ {
				b.TokenReward[n] = b.Reward[i] - v.Float("kl_coef")*kl[n]
			}
		}
		e = &advantage.Reinforce{Asymmetry: symmetric, Gamma: 0, Holes: advantage.Through}
	}
	out := estimated(k, e, b)
	if out == nil {
		return
	}
	if out.Return == nil {
		out.Return = slices.Clone(out.Advantage)
	}
	if v.Bool("normalize_advantages") {
		masked.WhitenWith(out.Advantage, b.Mask, 0)
	}
	k.Vector("kl", masking(c, "kl", b.Mask, kl))
	compareEstimates(c, k, out)
}

func advantageMatchTRL(c *Case, k *Check) {
	v := c.Params
	parts, weights := c.Inputs.Matrix("rewards_per_func"), v.Flat("reward_weights")
	b := outcomes(make([]float64, len(parts)), v.Int("num_generations"))
	var e advantage.Estimator
	if v.String("multi_objective_aggregation") == "normalize_then_sum" {
		b.RewardParts = parts
		e = &advantage.GDPO{Asymmetry: symmetric, Weights: weights, Std: true, Eps: v.Float("std_eps"), Whiten: "sequence"}
	} else {
		for i, row := range parts {
			scored := 0
			for j, r := range row {
				if !math.IsNaN(r) {
					scored++
					b.Reward[i] += weights[j] * r
				}
			}
			if scored == 0 {
				b.Reward[i] = math.NaN()
			}
		}
		e = &advantage.Normalize{Asymmetry: symmetric, Mean: "group", Std: v.String("scale_rewards"), Eps: v.Float("std_eps")}
	}
	if out := estimated(k, e, b); out != nil {
		k.Vector("advantages", out.Advantage)
	}
}

func matchOPOB(c *Case, k *Check) {
	v := c.Params
	b := Batch(c.Inputs.Matrix("mask"))
	b.Old.Logp, b.LogpRoll, b.ScoreNorm = c.Inputs.Flat("old_logp"), c.Inputs.Flat("rollout_logp"), c.Inputs.Flat("grad_norm_unscaled")
	b.Anchor = b.Old.Logp
	b.Reward, b.Group = c.Inputs.Flat("rewards"), Groups(c.Inputs.Strings("group"))
	if v.String("scope") == "minibatch" {
		b.Reward, b.Group = c.Inputs.Flat("adv_seq"), make([]int, b.Len())
	}
	e := &advantage.OPOB{Asymmetry: symmetric, Eps: v.Float("eps"), Weighted: v.Bool("use_is_weights"), Cap: math.Inf(1),
		LengthNorm: v.Bool("normalize_by_length"), Aggregate: strings.TrimSuffix(v.String("agg_mode"), "_mean")}
	if v.Bool("use_clipped_is_ratios") {
		e.Cap = v.Float("rollout_is_threshold")
	}
	out := estimated(k, e, b)
	if out == nil {
		return
	}
	names := c.Inputs.Strings("group")
	for i, r := range b.Reward { // the baseline is what is missing from the reward
		for n := range b.Where(i, b.Mask) {
			k.Metric("baseline_by_group", names[i], r-out.Advantage[n])
			break
		}
	}
	matchEffective(k, v.Float("rollout_is_threshold"), b)
}

// matchEffective compares the weights and effective sample sizes that the
// baseline's recipe also returns: they come from correction and guard.
func matchEffective(k *Check, threshold float64, b *batch.Batch) {
	weigh := func(w correction.Weighting) []float64 {
		p := &correction.Pipeline{Weights: w, Clamp: math.Inf(1)}
		if err := p.Apply(b, correction.AtBatch); err != nil {
			k.Fail("%v", err)
			return make([]float64, b.Len())
		}
		rows := make([]float64, b.Len())
		for i := range rows {
			rows[i] = 1 // of an empty response
			for n := range b.Where(i, b.Mask) {
				rows[i] = b.Weight[n]
			}
		}
		return rows
	}
	raw, clipped := weigh(&correction.SequenceTIS{Cap: math.Inf(1)}), weigh(&correction.SequenceTIS{Cap: threshold})
	k.Vector("seq_is", raw)
	k.Vector("seq_is_clipped", clipped)
	k.Vector("geom_mean", weigh(&correction.GeometricTIS{Cap: math.Inf(1), Eps: 1e-8}))
	n := float64(b.Len())
	k.Metric("ess", "ess_ratio", guard.EffectiveShare(b, b.Old.Logp))
	k.Metric("ess", "ess", n*guard.EffectiveShare(b, b.Old.Logp))
	var one batch.Batch // a batch of one-token responses that has the clipped weights
	for i, w := range clipped {
		one.Offsets, one.Mask = append(one.Offsets, i), append(one.Mask, true)
		one.Old.Logp, one.LogpRoll = append(one.Old.Logp, math.Log(w)), append(one.LogpRoll, 0)
	}
	one.Offsets = append(one.Offsets, len(clipped))
	k.Metric("ess", "ess_ratio_clipped", guard.EffectiveShare(&one, one.Old.Logp))
	k.Metric("ess", "ess_clipped", n*guard.EffectiveShare(&one, one.Old.Logp))
	k3 := make([]float64, b.Len())
	for i := range k3 {
		from, to := b.Span(i)
		row := &batch.Batch{
			Sampled: batch.Sampled{Offsets: []int{0, to - from}, Mask: b.Mask[from:to], LogpRoll: b.LogpRoll[from:to]},
			Old:     batch.Scored{Logp: b.Old.Logp[from:to]},
		}
		for _, m := range metrics.OffPolicy(nil, row) {
			if m.Name == "rollout_corr/k3_kl" {
				k3[i] = m.Value
			}
		}
	}
	k.Vector("k3_rollout_old", k3)
}

// matchLengthAdaptive reads the estimator of BPCO: lambda by length, Monte Carlo returns, no whitening.
func matchLengthAdaptive(c *Case, k *Check) {
	e := &advantage.GAE{Asymmetry: symmetric, Gamma: c.Params.Float("gamma"), Alpha: c.Params.Float("alpha"), ReturnLam: 1, Holes: advantage.Carry}
	b := Batch(c.Inputs.Matrix("mask"))
	b.TokenReward, b.Value = c.Inputs.Flat("token_rewards"), c.Inputs.Flat("values")
	if !k.OK(e.Estimate(b)) {
		return
	}
	var lambdas []float64
	for i := range b.Len() {
		from, to := b.Span(i)
		tokens := masked.Count(b.Mask[from:to])
		lambdas = append(lambdas, e.Lambda(tokens))
		for n := from; n < to; n++ {
			if !b.Mask[n] {
				b.Return[n] = 0 // what no token was drawn at has none there
			}
		}
	}
	k.Vector("advantages", b.Advantage)
	k.Vector("returns", b.Return)
	k.Vector("lam", lambdas)
}
