package golden

import (
	"math"

	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/correction"
	"driftlab/trainer/method/loss"
	diagnose "driftlab/trainer/method/metrics"
)

// The corrections that some reference implementations apply inside their losses.

// apply runs a pipeline at both moments of a step.
func apply(k *Check, p *correction.Pipeline, b *batch.Batch) {
	for _, s := range []correction.Stage{correction.AtBatch, correction.AtStep} {
		if !k.OK(p.Apply(b, s)) {
			return
		}
	}
}

// skyrlPipeline reads SkyRL's off_policy_correction, as a recipe does.
func skyrlPipeline(v Values) *correction.Pipeline {
	r, err := recipeOf("skyrl", under("trainer", "algorithm", "off_policy_correction")(v))
	if err != nil {
		panic(err)
	}
	return r.Correction.Pipeline()
}

// arealPipeline reads AReaL's rejection_sampling, as a recipe does.
func arealPipeline(v Values) *correction.Pipeline {
	r, err := recipeOf("areal", map[string]any{"actor": map[string]any{"use_decoupled_loss": true, "rejection_sampling": map[string]any(v)}})
	if err != nil {
		panic(err)
	}
	return r.Correction.Pipeline()
}

// rollPipeline reads ROLL's train_infer_correction, as a recipe does, which has one filter: each is read by itself.
func rollPipeline(v Values) *correction.Pipeline {
	read := func(filters ...any) *correction.Pipeline {
		r, err := recipeOf("roll", under("train_infer_correction")(Values{"is_weight": v["is_weight"], "filters": filters}))
		if err != nil {
			panic(err)
		}
		return r.Correction.Pipeline()
	}
	p := read()
	for _, filter := range v["filters"].([]any) {
		p.Masks = append(p.Masks, read(filter).Masks...)
	}
	return p
}

// rollBand is the rule at one of ROLL's levels.
func rollBand(level, statistic string, low, high float64) *correction.Band {
	m := &correction.Band{Level: level, Statistic: statistic, Aggregate: "mean", Eps: 1e-8, Low: low, High: high}
	switch level {
	case "geometric":
		m.Level = "sequence"
	case "sequence":
		m.Aggregate = "sum"
	}
	return m
}

// slimePipeline reads slime's corrections.
func slimePipeline(v Values) *correction.Pipeline {
	p := &correction.Pipeline{}
	switch {
	case !v.Bool("use_tis"):
	case v.String("custom_tis_function_path") == "icepop":
		p.Clamp = math.Inf(1)
		p.Weights = &correction.IcePop{Low: v.Float("tis_clip_low"), High: v.Float("tis_clip")}
	case v.String("custom_tis_function_path") == "mis":
		slimeMIS(p, v)
	default:
		p.Clamp = math.Inf(1)
		p.Weights = &correction.TokenTIS{Cap: v.Float("tis_clip"), Floor: v.Float("tis_clip_low")}
	}
	return p
}

// slimeMIS reads slime's custom truncation and rejection, and the bounds beyond which slime counts weights.
func slimeMIS(p *correction.Pipeline, v Values) (low, high float64) {
	high = v.Float("tis_upper_bound")
	low = v.FloatOr("tis_lower_bound", 1/high)
	floor, limit := 0.0, high
	reject := func(level string, low, high float64) {
		switch level {
		case "token":
			p.Masks = append(p.Masks, &correction.TokenMask{Low: low, High: high})
		case "sequence":
			p.Masks = append(p.Masks, &correction.SequenceMask{Low: low, High: high})
		default:
			p.Masks = append(p.Masks, &correction.Geometric{Low: low, High: high})
		}
	}
	switch v.String("tis_mode") {
	case "clip":
		floor = low
	case "mask":
		limit = math.Inf(1)
		reject(v.String("tis_level"), low, high)
	}
	if v.Bool("use_rs") {
		high := v.FloatOr("rs_upper_bound", high)
		reject(v.String("rs_level"), v.FloatOr("rs_lower_bound", v.FloatOr("tis_lower_bound", 1/high)), high)
		if threshold := v.FloatOr("rs_veto_threshold", 0); threshold > 0 {
			p.Masks = append(p.Masks, &correction.Veto{Threshold: threshold})
		}
	}
	switch v.String("tis_level") {
	case "token":
		p.Weights = &correction.TokenTIS{Cap: limit, Floor: floor}
	case "sequence":
		p.Weights = &correction.SequenceTIS{Cap: limit, Floor: floor}
	case "geometric":
		p.Weights = &correction.GeometricTIS{Cap: limit, Floor: floor}
	}
	p.BatchNormalize = v.Bool("tis_batch_normalize")
	return low, high
}

// matchBypass runs verl's bypass mode: its old_log_prob is the rollout's, and
// weights and masks are computed against the current log-probs.
func matchBypass(c *Case, k *Check) {
	p, v := c.Params, c.Params.Sub("rollout_correction")
	config := verlConfig(v)
	config.Bypass, config.LossType = true, "reinforce" // weights and their metrics are computed for either loss
	pipeline, err := config.Pipeline()
	if !k.OK(err) {
		return
	}
	b := verlBatch(c)
	b.LogpRoll, b.Old.Logp, b.Weight = b.Anchor, b.Now.Logp, nil
	offPolicy := diagnose.OffPolicy(nil, b)
	b.Anchor = nil // the pipeline makes it LogpRoll
	apply(k, pipeline, b)
	agg := verlAggregation(p.String("loss_agg_mode"), p.Sub("global_batch_info"))
	var l loss.Loss = &loss.Reinforce{Anchor: loss.Roll, Aggregation: agg}
	if v.String("loss_type") == "ppo_clip" {
		b.Weight = nil // the ratio of the clip contains it
		l = &loss.PPOClip{EpsLow: p.Float("clip_ratio_low"), EpsHigh: p.Float("clip_ratio_high"), DualClip: p.Float("clip_ratio_c"), LogClamp: 20, Aggregation: agg}
	}
	out := evaluate(k, l, b)
	k.Scaled("loss", out.Loss, largestTerm(out))
	k.Vector("grad_log_prob", out.DLogp)
	lossMetrics(c, k, out)
	for _, m := range append(offPolicy, pipeline.Metrics()...) {
		if _, ok := c.Outputs.Sub("metrics")[m.Name]; ok {
			k.Metric("metrics", m.Name, m.Value)
		}
	}
}
