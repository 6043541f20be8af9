package correction

import (
	"math"
	"strings"

	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/golden"
	"driftlab/trainer/method/masked"
	"driftlab/trainer/method/metrics"
)

// fromLogRatio is a batch whose e is the given matrix.
func fromLogRatio(mask [][]float64, e []float64) *batch.Batch {
	b := golden.Batch(mask)
	b.Anchor, b.LogpRoll = e, make([]float64, len(e))
	return b
}

// verl's functions on a log-ratio: weights, or a rejection mask.
func matchVerlLogRatio(c *golden.Case, k *golden.Check) {
	p, err := verlConfig(c.Params).Pipeline()
	if err != nil {
		k.Error(err)
		return
	}
	b := fromLogRatio(c.Inputs.Matrix("response_mask"), c.Inputs.Flat("log_ratio"))
	if err := p.Apply(b, AtBatch); err != nil {
		k.Fail("%v", err)
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
func matchVerlCombined(c *golden.Case, k *golden.Check) {
	config := verlConfig(c.Params)
	config.LossType = "reinforce" // the function computes weights whatever the loss does with them
	p, err := config.Pipeline()
	if err != nil {
		k.Fail("%v", err)
		return
	}
	b := golden.Batch(c.Inputs.Matrix("response_mask"))
	b.LogpRoll, b.Anchor = c.Inputs.Flat("rollout_log_prob"), c.Inputs.Flat("old_log_prob")
	b.Old.Logp = b.Anchor
	m := metrics.OffPolicy(nil, b)
	b.Now.Logp = b.Anchor
	if p.Mode == Bypass {
		b.Anchor = nil
	}
	for _, s := range []Stage{AtBatch, AtStep} {
		if err := p.Apply(b, s); err != nil {
			k.Fail("%v", err)
			return
		}
	}
	if c.Outputs.Has("rollout_is_weights") {
		k.Vector("rollout_is_weights", b.Weight)
	} else {
		k.Equal("rollout_is_weights", nil)
	}
	k.Mask("modified_response_mask", b.LossMask)
	claimMetrics(c, k, append(m, p.Metrics()...), "")
}

// verl's compute_is_metrics alone, on weights that need not come from e.
func matchVerlISMetrics(c *golden.Case, k *golden.Check) {
	low, high := c.Params.FloatOr("rollout_is_threshold_lower", 0), c.Params.Float("rollout_is_threshold")
	e := c.Inputs.Matrix("log_ratio_for_metrics")
	mask := c.Inputs.Matrix("response_mask")
	b := golden.Batch(mask)
	p := &Pipeline{Weights: &IcePop{Low: low, High: high}}
	p.logRatio = make([]float64, b.Tokens())
	if c.Params.String("rollout_is") == "sequence" {
		p.Weights = &SequenceMIS{Low: low, High: high}
		for i := range mask { // one sum per response: put it on the first token
			from, to := b.Span(i)
			for n := from; n < to; n++ {
				if b.Mask[n] {
					p.logRatio[n] = e[i][0]
					break
				}
			}
		}
	} else {
		p.logRatio = c.Inputs.Flat("log_ratio_for_metrics")
	}
	p.weights = Weights{Raw: c.Inputs.Flat("raw_rollout_is_weights"), Applied: c.Inputs.Flat("rollout_is_weights")}
	p.buffer = make([]float64, b.Tokens())
	p.verlWeights(&Input{Batch: b, LogRatio: p.logRatio, Mask: b.Mask})
	claimMetrics(c, k, p.metrics, "rollout_corr/")
}

func matchSkyRL(c *golden.Case, k *golden.Check) {
	v := c.Params
	p := &Pipeline{Order: Sequential, Names: "skyrl"}
	if v.Has("outlier_token_is_threshold_low") || v.Has("outlier_token_is_threshold_high") {
		p.Masks = append(p.Masks, &Outlier{Low: v.FloatOr("outlier_token_is_threshold_low", 0),
			High: v.FloatOr("outlier_token_is_threshold_high", math.Inf(1))})
	}
	if v.Has("token_mask_is_threshold_low") && v.Has("token_mask_is_threshold_high") {
		p.Masks = append(p.Masks, &TokenMask{Low: v.Float("token_mask_is_threshold_low"), High: v.Float("token_mask_is_threshold_high")})
	}
	p.WeightsAfter = len(p.Masks)
	switch v.String("tis_ratio_type") {
	case "token":
		p.Weights = &TokenTIS{Cap: v.Float("token_tis_ratio_clip_high")}
	case "sequence":
		p.Weights = &SequenceTIS{Cap: v.Float("sequence_tis_ratio_clip_high")}
	}
	switch v.String("sequence_mask_metric") {
	case "product":
		p.Masks = append(p.Masks, &SequenceMask{Low: v.Float("product_mask_low"), High: v.Float("product_mask_high")})
	case "geometric":
		p.Masks = append(p.Masks, &Geometric{Low: v.Float("geo_mask_low"), High: v.Float("geo_mask_high")})
	}
	b := golden.Batch(c.Inputs.Matrix("mask"))
	b.LogpRoll, b.Anchor = c.Inputs.Flat("rollout_logp"), c.Inputs.Flat("old_logp")
	if err := p.Apply(b, AtBatch); err != nil {
		k.Fail("%v", err)
		return
	}
	k.Mask("mask", b.LossMask)
	if c.Outputs.Has("enabled") {
		k.Equal("enabled", p.Weights != nil || len(p.Masks) > 0)
	}
	switch w := c.Outputs["weights"].(type) {
	case nil:
		k.Equal("weights", nil)
	case []any:
		if len(w) > 0 && len(w[0].([]any)) == 1 && b.Tokens() != b.Len() { // one per response
			k.Vector("weights", perRow(b, p.weights.Applied))
			break
		}
		k.Vector("weights", masking(c, "weights", p.counted(b), b.Weight))
	}
	claimMetrics(c, k, p.Metrics(), "")
}

// counted is the mask the weights were computed over.
func (p *Pipeline) counted(b *batch.Batch) []bool {
	if p.Order != Sequential {
		return b.Mask
	}
	seen := make([]bool, b.Tokens())
	for n := range seen {
		seen[n] = p.weights.Raw != nil && p.weights.Raw[n] != 0
	}
	return seen
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

// ragged is a batch of matrix rows cut to the case's lengths.
func ragged(c *golden.Case, key string) *batch.Batch {
	m := c.Inputs.Matrix(key)
	for i, n := range c.Inputs.Flat("lengths") {
		m[i] = m[i][:int(n)]
	}
	return golden.Batch(m)
}

func cut(c *golden.Case, key string) []float64 {
	var flat []float64
	lengths := c.Inputs.Flat("lengths")
	for i, row := range c.Inputs.Matrix(key) {
		flat = append(flat, row[:int(lengths[i])]...)
	}
	return flat
}

func matchSlime(c *golden.Case, k *golden.Check) {
	v := c.Params
	p := &Pipeline{BatchNormalize: v.Bool("tis_batch_normalize")}
	m := golden.ReadSlimeMIS(v)
	switch m.Level {
	case "token":
		p.Weights = &TokenTIS{Cap: m.Cap, Floor: m.Floor}
	case "sequence":
		p.Weights = &SequenceTIS{Cap: m.Cap, Floor: m.Floor}
	case "geometric":
		p.Weights = &GeometricTIS{Cap: m.Cap, Floor: m.Floor}
	}
	for _, r := range m.Ranges {
		switch r.Level {
		case "token":
			p.Masks = append(p.Masks, &TokenMask{Low: r.Low, High: r.High})
		case "sequence":
			p.Masks = append(p.Masks, &SequenceMask{Low: r.Low, High: r.High})
		default:
			p.Masks = append(p.Masks, &Geometric{Low: r.Low, High: r.High})
		}
	}
	if m.Veto > 0 {
		p.Masks = append(p.Masks, &Veto{Threshold: m.Veto})
	}
	b := ragged(c, "mask")
	b.LogpRoll, b.Anchor = cut(c, "rollout_logp"), cut(c, "train_logp")
	b.Old.Logp = b.Anchor
	if err := method.Check(p); err != nil {
		k.Fail("%v", err)
	}
	if err := p.Apply(b, AtBatch); err != nil {
		k.Fail("%v", err)
		return
	}
	if !p.BatchNormalize || p.Weights.Level() == method.Token { // the other is listed
		k.Vector("weights", masking(c, "weights", b.Mask, b.Weight))
	}
	k.Mask("modified_mask", b.LossMask)
	matchSlimeFigures(c, k, p, b, m.Low, m.High)
}

// matchSlimeFigures compares the figures slime logs with those of the same
// names here. slime's are means over responses, so each response is taken for a
// batch of its own; and its means divide by n, not by n + 1e-8.
func matchSlimeFigures(c *golden.Case, k *golden.Check, p *Pipeline, b *batch.Batch, low, high float64) {
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
		raw := p.weights.Raw[from:to]
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

func matchSlimeOPSM(c *golden.Case, k *golden.Check) {
	b := ragged(c, "mask")
	b.LogpRoll, b.Now.Logp, b.Advantage = cut(c, "old_logp"), cut(c, "logp"), cut(c, "adv")
	b.Anchor = b.LogpRoll
	p := &Pipeline{Masks: []Masking{&OPSM{Delta: c.Params.Float("opsm_delta"), Signs: Negative}}}
	for _, s := range []Stage{AtBatch, AtStep} {
		if err := p.Apply(b, s); err != nil {
			k.Fail("%v", err)
			return
		}
	}
	k.Vector("mask", masking(c, "mask", b.Mask, numbers(b.Gate)))
}

func matchROLL(c *golden.Case, k *golden.Check) {
	is := c.Params.Sub("is_weight")
	p := &Pipeline{Clamp: math.Inf(1)}
	top := is.FloatOr("upper_bound", math.Inf(1))
	if is.Bool("enabled") {
		switch is.String("weight_type") {
		case "token":
			p.Weights = &TokenTIS{Cap: top}
		case "sequence":
			p.Weights = &SequenceTIS{Cap: top}
		case "geometric":
			p.Weights = &GeometricTIS{Cap: top, Eps: 1e-8}
		case "segment":
			p.Weights = &SegmentTIS{Cap: top, By: ByRun, Geometric: true, Eps: 1e-8}
		}
	}
	for _, f := range c.Params["filters"].([]any) {
		f := golden.Values(f.(map[string]any))
		if !f.Bool("enabled") {
			continue
		}
		for key, statistic := range map[string]string{"ratio": "ratio", "diff": "difference"} { // both must hold: the order does not matter
			if f.Bool(key + "_enabled") {
				m := rollBand(f.String("agg_type"), statistic)
				m.Low, m.High = f.Float(key+"_low"), f.Float(key+"_high")
				p.Masks = append(p.Masks, m)
			}
		}
	}
	b := golden.Batch(c.Inputs.Matrix("mask"))
	b.LogpRoll, b.Anchor = c.Inputs.Flat("infer_logp"), c.Inputs.Flat("old_logp")
	if err := p.Apply(b, AtBatch); err != nil {
		k.Fail("%v", err)
		return
	}
	w := b.Weight
	if w == nil {
		w = ones(b.Tokens())
	}
	k.Vector("weights", masking(c, "weights", b.Mask, w))
	k.Vector("filter_mask", masking(c, "filter_mask", b.Mask, numbers(b.LossMask)))
	if c.Outputs.Sub("metrics").Has("actor/train_infer_final_mask_mean") {
		k.Metric("metrics", "actor/train_infer_final_mask_mean", masked.Mean(numbers(b.LossMask), b.Mask))
	}
	for _, level := range []string{"token", "geometric", "sequence", "segment"} {
		k.Metric("metrics", "actor/train_infer_ratio_"+level+"_mean@sum", rollFigure(p, b, level, "ratio"))
		k.Metric("metrics", "actor/train_infer_diff_"+level+"_mean@sum", rollFigure(p, b, level, "difference"))
	}
}

// rollBand is the rule at one of ROLL's levels.
func rollBand(level, statistic string) *Band {
	m := &Band{Level: level, Statistic: statistic, Aggregate: "mean", Eps: 1e-8}
	switch level {
	case "geometric":
		m.Level = "sequence"
	case "sequence":
		m.Aggregate = "sum"
	}
	return m
}

// rollFigure is the mean over responses of the mean over tokens of what a band
// would test, as ROLL logs it, whether a filter uses it or not.
func rollFigure(p *Pipeline, b *batch.Batch, level, statistic string) float64 {
	m, in := rollBand(level, statistic), &Input{Batch: b, LogRatio: p.logRatio, Mask: b.Mask}
	x := make([]float64, b.Tokens())
	sum, rows := 0.0, 1e-8
	for i := range b.Len() {
		start, to := b.Span(i)
		for from := start; from < to; {
			end := m.next(in, from, to)
			value := m.unit(in, from, end)
			for ; from < end; from++ {
				x[from] = value
			}
		}
		if masked.Count(b.Mask[start:to]) > 0 {
			sum, rows = sum+masked.Mean(x[start:to], b.Mask[start:to]), rows+1
		}
	}
	return sum / rows
}

func matchAReaL(c *golden.Case, k *golden.Check) {
	v := c.Params
	low, high := v.FloatOr("lower", math.Inf(-1)), v.FloatOr("upper", math.Inf(1))
	statistic := map[string]string{"ratio": "ratio", "kl_k1": "k1", "kl_k2": "k2", "kl_k3": "k3_inverse"}[v.String("metric")]
	ofSequence := v.String("level") == "sequence"
	p := &Pipeline{Clamp: math.Inf(1)}
	top, floor := math.Inf(1), 0.0
	if v.String("action") == "clamp" {
		top, floor = high, max(low, 0)
	} else {
		m := &Band{Level: v.String("level"), Statistic: statistic, Aggregate: "mean", Low: low, High: high}
		if ofSequence {
			m.Aggregate = v.String("agg")
		}
		if statistic == "ratio" {
			m.Low = max(low, 0)
		}
		p.Masks = []Masking{m}
	}
	if ofSequence && statistic == "ratio" {
		p.Weights = &GeometricTIS{Cap: top, Floor: floor}
	} else {
		p.Weights = &TokenTIS{Cap: top, Floor: floor}
	}
	b := golden.Batch(c.Inputs.Matrix("mask"))
	b.LogpRoll, b.Anchor = c.Inputs.Flat("behave_logp"), c.Inputs.Flat("prox_logp")
	if err := p.Apply(b, AtBatch); err != nil {
		k.Fail("%v", err)
		return
	}
	k.Mask("mask", b.LossMask)
	w := append([]float64(nil), b.Weight...)
	changed, valid := 0, 0
	for n, counts := range b.Mask {
		if counts {
			valid++
			if !b.LossMask[n] || v.String("action") == "clamp" && p.weights.Raw[n] != w[n] {
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
