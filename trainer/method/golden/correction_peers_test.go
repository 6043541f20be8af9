package golden

import (
	"math"
	"slices"
	"strings"

	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/correction"
	"driftlab/trainer/method/masked"
	"driftlab/trainer/method/metrics"
)

// fromLogRatio is a batch whose e is the given matrix.
func fromLogRatio(mask [][]float64, e []float64) *batch.Batch {
	b := Batch(mask)
	b.Anchor, b.LogpRoll = e, make([]float64, len(e))
	return b
}

// verl's functions on a log-ratio: weights, or a rejection mask.
func matchVerlLogRatio(c *Case, k *Check) {
	p, err := verlConfig(c.Params).Pipeline()
	if err != nil {
		k.Error(err)
		return
	}
	b := fromLogRatio(c.Inputs.Matrix("response_mask"), c.Inputs.Flat("log_ratio"))
	if !k.OK(p.Apply(b, correction.AtBatch)) {
		return
	}
	if c.Outputs.Has("rollout_is_weights") {
		k.Vector("rollout_is_weights", b.Weight)
	}
	if c.Outputs.Has("modified_response_mask") {
		k.Mask("modified_response_mask", b.LossMask)
	}
	claimMetrics(c, k, p.Metrics(), "rollout_corr/")
}

// verl's whole correction; in bypass mode it runs on the current log-probs,
// which is what the case calls old_log_prob.
func matchVerlCombined(c *Case, k *Check) {
	config := verlConfig(c.Params)
	config.LossType = "reinforce" // the function computes weights whatever the loss does with them
	p, err := config.Pipeline()
	if !k.OK(err) {
		return
	}
	b := Batch(c.Inputs.Matrix("response_mask"))
	b.LogpRoll, b.Anchor = c.Inputs.Flat("rollout_log_prob"), c.Inputs.Flat("old_log_prob")
	b.Old.Logp = b.Anchor
	m := metrics.OffPolicy(nil, b)
	b.Now.Logp = b.Anchor
	if p.Mode == correction.Bypass {
		b.Anchor = nil
	}
	apply(k, p, b)
	if c.Outputs.Has("rollout_is_weights") {
		k.Vector("rollout_is_weights", b.Weight)
	} else {
		k.Equal("rollout_is_weights", nil)
	}
	k.Mask("modified_response_mask", b.LossMask)
	claimMetrics(c, k, append(m, p.Metrics()...), "")
}

// given are weights that need not come from the log-ratios.
type given struct {
	correction.Weights
	level     method.Unit
	low, high float64
}

func (g *given) Weigh(w *correction.Weights, _ *correction.Input) error {
	copy(w.Raw, g.Raw)
	copy(w.Applied, g.Applied)
	return nil
}
func (g *given) Level() method.Unit          { return g.level }
func (g *given) Bounds() (low, high float64) { return g.low, g.high }

// verl's compute_is_metrics alone.
func matchVerlISMetrics(c *Case, k *Check) {
	w := &given{correction.Weights{Raw: c.Inputs.Flat("raw_rollout_is_weights"), Applied: c.Inputs.Flat("rollout_is_weights")},
		method.Token, c.Params.FloatOr("rollout_is_threshold_lower", 0), c.Params.Float("rollout_is_threshold")}
	e := c.Inputs.Flat("log_ratio_for_metrics")
	b := fromLogRatio(c.Inputs.Matrix("response_mask"), e)
	if c.Params.String("rollout_is") == "sequence" {
		w.level, b.Anchor = method.Sequence, make([]float64, b.Tokens())
		for i, sum := range e { // one sum per response: put it on the first token
			for n := range b.Where(i, b.Mask) {
				b.Anchor[n] = sum
				break
			}
		}
		b.LogpRoll = make([]float64, b.Tokens())
	}
	p := &correction.Pipeline{Weights: w}
	k.OK(p.Apply(b, correction.AtBatch))
	claimMetrics(c, k, p.Metrics(), "rollout_corr/")
}

// corrected applies a pipeline to the batch, and returns the weights before and after truncation, nil if it has none.
func corrected(k *Check, p *correction.Pipeline, b *batch.Batch) (raw, applied []float64) {
	accounts, err := p.Explain(b, correction.AtBatch)
	k.OK(err)
	for _, a := range accounts {
		if _, weights := a.Trace.Tokens[0].Find("ρ"); weights {
			return terms(a.Trace, "ρ"), terms(a.Trace, "w")
		}
	}
	return nil, nil
}

func correctionMatchSkyRL(c *Case, k *Check) {
	p, b := skyrlPipeline(c.Params), Batch(c.Inputs.Matrix("mask"))
	b.LogpRoll, b.Anchor = c.Inputs.Flat("rollout_logp"), c.Inputs.Flat("old_logp")
	raw, applied := corrected(k, p, b)
	k.Mask("mask", b.LossMask)
	if c.Outputs.Has("enabled") {
		k.Equal("enabled", p.Weights != nil || len(p.Masks) > 0)
	}
	switch w := c.Outputs["weights"].(type) {
	case nil:
		k.Equal("weights", nil)
	case []any:
		if len(w) > 0 && len(w[0].([]any)) == 1 && b.Tokens() != b.Len() { // one per response
			k.Vector("weights", perRow(b, applied))
			break
		}
		counted := make([]bool, b.Tokens())
		for n := range raw {
			counted[n] = raw[n] != 0
		}
		k.Vector("weights", masking(c, "weights", counted, b.Weight))
	}
	claimMetrics(c, k, p.Metrics(), "")
}

// perRow is the weight of each response's first counting token, 1 if none counts.
func perRow(b *batch.Batch, w []float64) []float64 {
	rows := make([]float64, b.Len())
	for i := range rows {
		rows[i] = 1
		from, to := b.Span(i)
		for n := from; n < to; n++ {
			if w[n] != 0 {
				rows[i] = w[n]
				break
			}
		}
	}
	return rows
}

func correctionMatchSlime(c *Case, k *Check) {
	p := &correction.Pipeline{}
	low, high := slimeMIS(p, c.Params)
	b := ragged(c, "mask")
	b.LogpRoll, b.Anchor = cut(c, "rollout_logp"), cut(c, "train_logp")
	b.Old.Logp = b.Anchor
	k.OK(method.Check(p))
	raw, _ := corrected(k, p, b)
	if !p.BatchNormalize || p.Weights.Level() == method.Token { // the other is listed
		k.Vector("weights", masking(c, "weights", b.Mask, b.Weight))
	}
	k.Mask("modified_mask", b.LossMask)
	matchSlimeFigures(c, k, p, b, raw, low, high)
}

// matchSlimeFigures compares the figures slime logs with those of the same
// names here. slime's are means over responses, so each response is taken for a
// batch of its own; and its means divide by n, not by n + 1e-8.
func matchSlimeFigures(c *Case, k *Check, p *correction.Pipeline, b *batch.Batch, raw []float64, low, high float64) {
	if !c.Outputs.Has("metrics_mean") {
		return
	}
	sums := map[string]float64{}
	for i := range b.Len() {
		from, to := b.Span(i)
		if masked.Count(b.Mask[from:to]) == 0 { // its figures are masked means, of nothing: 0, where verl has a perplexity of 1
			continue
		}
		row := &batch.Batch{
			Sampled:   batch.Sampled{Offsets: []int{0, to - from}, Mask: b.Mask[from:to], LogpRoll: b.LogpRoll[from:to]},
			Old:       batch.Scored{Logp: b.Anchor[from:to]},
			Corrected: batch.Corrected{Anchor: b.Anchor[from:to]},
		}
		n := float64(masked.Count(row.Mask))
		exact := (n + masked.Epsilon) / n
		figures := map[string]float64{}
		for _, m := range metrics.OffPolicy(nil, row) {
			figures[strings.TrimPrefix(m.Name, "rollout_corr/")] = m.Value
		}
		for _, name := range []string{"training_log_ppl", "rollout_log_ppl", "kl", "k3_kl", "log_ppl_diff", "log_ppl_abs_diff"} {
			figures[name] *= exact
		}
		figures["chi2_token"] = (figures["chi2_token"]+1)*exact - 1
		figures["training_ppl"], figures["rollout_ppl"] = math.Exp(figures["training_log_ppl"]), math.Exp(figures["rollout_log_ppl"])
		figures["ppl_ratio"] = math.Exp(figures["log_ppl_diff"])
		raw := raw[from:to]
		figures["tis_weight_before_bound"] = masked.Mean(raw, row.Mask) * exact
		below, above := 0.0, 0.0
		for t, counts := range row.Mask {
			if counts && raw[t] < low {
				below++
			} else if counts && raw[t] > high {
				above++
			}
		}
		for _, name := range []string{"tis_mask_fraction_", "tis_clip_fraction_"} {
			figures[name+"low"], figures[name+"high"] = below/n, above/n
		}
		figures["tis_truncate_fraction"] = above / n
		for name, x := range figures {
			sums[name] += x / float64(b.Len())
		}
	}
	for name, x := range sums {
		if c.Outputs.Sub("metrics_mean").Has(name) {
			k.Metric("metrics_mean", name, x)
		}
	}
	for _, m := range p.Metrics() {
		if m.Name == "rollout_corr/rollout_is_batch_norm_factor" && p.Weights.Level() == method.Token {
			k.Metric("metrics_mean", "batch_norm_factor", m.Value*slimeNorm(b))
		}
	}
}

// slimeNorm takes verl's 1e-8 out of a mean over tokens.
func slimeNorm(b *batch.Batch) float64 {
	n := float64(masked.Count(b.Mask))
	return (n + masked.Epsilon) / max(n, 1)
}

func matchSlimeOPSM(c *Case, k *Check) {
	b := ragged(c, "mask")
	b.LogpRoll, b.Now.Logp, b.Advantage = cut(c, "old_logp"), cut(c, "logp"), cut(c, "adv")
	b.Anchor = b.LogpRoll
	p := &correction.Pipeline{Masks: []correction.Masking{&correction.OPSM{Delta: c.Params.Float("opsm_delta"), Signs: correction.Negative}}}
	apply(k, p, b)
	k.Vector("mask", masking(c, "mask", b.Mask, numbers(b.Gate)))
}

func correctionMatchROLL(c *Case, k *Check) {
	p, b := rollPipeline(c.Params), Batch(c.Inputs.Matrix("mask"))
	b.LogpRoll, b.Anchor = c.Inputs.Flat("infer_logp"), c.Inputs.Flat("old_logp")
	corrected(k, p, b)
	w := b.Weight
	if w == nil {
		w = slices.Repeat([]float64{1}, b.Tokens())
	}
	k.Vector("weights", masking(c, "weights", b.Mask, w))
	k.Vector("filter_mask", masking(c, "filter_mask", b.Mask, numbers(b.LossMask)))
	if c.Outputs.Sub("metrics").Has("actor/train_infer_final_mask_mean") {
		k.Metric("metrics", "actor/train_infer_final_mask_mean", masked.Mean(numbers(b.LossMask), b.Mask))
	}
	for _, level := range []string{"token", "geometric", "sequence", "segment"} {
		k.Metric("metrics", "actor/train_infer_ratio_"+level+"_mean@sum", rollFigure(k, b, level, "ratio"))
		k.Metric("metrics", "actor/train_infer_diff_"+level+"_mean@sum", rollFigure(k, b, level, "difference"))
	}
}

// rollFigure is the mean over responses of the mean over tokens of what a band
// would test, as ROLL logs it, whether a filter uses it or not.
func rollFigure(k *Check, b *batch.Batch, level, statistic string) float64 {
	figures := *b
	p := &correction.Pipeline{Clamp: math.Inf(1), Masks: []correction.Masking{rollBand(level, statistic, math.Inf(-1), math.Inf(1))}}
	accounts, err := p.Explain(&figures, correction.AtBatch)
	if err != nil {
		k.Fail("%v", err)
		return 0
	}
	x := terms(accounts[0].Trace, "S")
	sum, rows := 0.0, 1e-8
	for i := range b.Len() {
		from, to := b.Span(i)
		if masked.Count(b.Mask[from:to]) > 0 {
			sum, rows = sum+masked.Mean(x[from:to], b.Mask[from:to]), rows+1
		}
	}
	return sum / rows
}

func correctionMatchAReaL(c *Case, k *Check) {
	p, b := arealPipeline(c.Params), Batch(c.Inputs.Matrix("mask"))
	b.LogpRoll, b.Anchor = c.Inputs.Flat("behave_logp"), c.Inputs.Flat("prox_logp")
	raw, _ := corrected(k, p, b)
	k.Mask("mask", b.LossMask)
	w := slices.Clone(b.Weight)
	changed, valid := 0, 0
	for n, counts := range b.Mask {
		if counts {
			valid++
			if !b.LossMask[n] || c.Params.String("action") == "clamp" && raw[n] != w[n] {
				changed++
			}
		}
		if !b.LossMask[n] {
			w[n] = 0
		}
	}
	k.Vector("weights", w)
	k.Scalar("filtered_fraction", float64(changed)/float64(valid))
}
