package golden

import (
	"slices"
	"strings"

	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/correction"
	"driftlab/trainer/method/loss"
	"driftlab/trainer/method/trace"
)

// arealBatch reads AReaL's three policies.
func arealBatch(c *Case) *batch.Batch {
	b := paperBatch(c)
	b.Anchor, b.LogpRoll = c.Inputs.FlatOr("prox_logp"), c.Inputs.Flat("behave_logp")
	for _, v := range c.Inputs.FlatOr("versions") {
		b.Version = append(b.Version, int32(v))
	}
	b.LearnerVersion = c.Params.IntOr("current_version", 0)
	return b
}

// clipMasks are the tokens of a mask that PPO's clip and dual clip stop.
func clipMasks(k *Check, b *batch.Batch, mask []bool, anchor []float64, low, high, dualClip float64) (clips, duals []bool) {
	clips, duals = make([]bool, b.Tokens()), make([]bool, b.Tokens())
	one := &batch.Batch{Sampled: batch.Sampled{Offsets: b.Offsets, Mask: mask}, Now: batch.Scored{Logp: b.Now.Logp},
		Corrected: batch.Corrected{Anchor: anchor}, Graded: batch.Graded{Advantage: b.Advantage}}
	at := func(dual float64) *trace.Trace {
		return explained(k, &loss.PPOClip{EpsLow: low, EpsHigh: high, DualClip: dual}, one)
	}
	for n, token := range at(0).Tokens { // a token of the dual clip is clipped before
		clips[n] = token.Branch == trace.ClippedLow || token.Branch == trace.ClippedHigh
	}
	for n, token := range at(dualClip).Tokens {
		duals[n] = token.Branch == trace.DualClipped
	}
	return clips, duals
}

func matchBehaveCap(c *Case, k *Check) {
	p, b := c.Params, arealBatch(c)
	l := &loss.DecoupledPPO{EpsLow: p.Float("eps_clip"), EpsHigh: p.Float("eps_clip_higher"), Prox: "recompute",
		Behave: p.String("behave_imp_weight_mode"), Cap: p.FloatOr("behave_imp_weight_cap", 0), Aggregation: loss.Aggregation{Pre: true}}
	compared(k, l, b)
	weights, kept := noted(k, l, b, "w"), make([]bool, b.Tokens())
	for n, w := range weights {
		kept[n] = w > 0
	}
	k.Vector("behave_imp_weight", weights)
	k.Mask("behave_mask", kept)
	clips, _ := clipMasks(k, b, b.Active(), b.Anchor, l.EpsLow, l.EpsHigh, 0)
	k.Mask("clip_mask", clips)
}

func matchProx(c *Case, k *Check) {
	b := &batch.Batch{
		Now:            batch.Scored{Logp: c.Inputs.Flat("logp")},
		Sampled:        batch.Sampled{LogpRoll: c.Inputs.Flat("behave_logp")},
		LearnerVersion: c.Params.Int("current_version"),
	}
	for _, v := range c.Inputs.Flat("versions") {
		b.Version = append(b.Version, int32(v))
	}
	k.Vector("prox_logp", proximal(k, c.Params.String("method"), b))
}

func matchAReaLLoss(c *Case, k *Check) {
	p, b := c.Params, arealBatch(c)
	agg := loss.Aggregation{Pre: true}
	low := p.Float("eps_clip")
	high, dual := p.FloatOr("eps_clip_higher", low), p.FloatOr("c_clip", 0)
	if p.String("prox_logp_method") == "loglinear" { // the correction needs prox before the loss does
		b.Anchor = proximal(k, "loglinear", b)
		k.Vector("prox_logp_used", b.Anchor)
	}
	if p.Has("rejection_sampling") {
		apply(k, arealPipeline(p.Sub("rejection_sampling")), b)
	}
	var l loss.Loss = &loss.DecoupledPPO{EpsLow: low, EpsHigh: high, DualClip: dual, Prox: "recompute", Behave: "none", Aggregation: agg}
	switch {
	case p.Bool("use_sapo_loss"):
		b.Anchor = b.LogpRoll
		l = &loss.SAPO{TauPos: p.Float("sapo_tau_pos"), TauNeg: p.Float("sapo_tau_neg"), Level: p.String("importance_sampling_level"),
			MeanAdvantage: p.String("importance_sampling_level") == "sequence",
			Anchor:        loss.Old, Aggregation: agg}
	case p.Has("m2_threshold"):
		m := &loss.M2Mask{Threshold: p.Float("m2_threshold"), EpsLow: low, EpsHigh: high, DualClip: dual, Aggregation: agg}
		l = m
		defer func() { // the mask is of all generated tokens
			whole := *b
			whole.LossMask = nil
			kept := slices.Clone(b.Mask)
			for n, rejected := range evaluate(k, m, &whole).Rejected() {
				kept[n] = !rejected
			}
			k.Mask("m2po_mask", kept)
		}()
	case p.String("importance_sampling_level") == "sequence":
		l = &loss.GSPO{EpsLow: low, EpsHigh: high, DualClip: dual, MeanAdvantage: true, Aggregation: agg}
	}
	compared(k, l, b)
	stats := c.Outputs.Sub("stats")
	if _, plain := l.(*loss.DecoupledPPO); plain {
		clips, duals := clipMasks(k, b, b.Active(), b.Anchor, low, high, dual)
		k.MetricVector("stats", "clip_ratio", numbers(clips))
		k.MetricVector("stats", "dual_clip_ratio", numbers(duals))
	}
	if stats.Has("behave_imp_weight") && !p.Has("m2_threshold") {
		weights := append([]float64{}, b.Weight...)
		for n, m := range b.LossMask {
			weights[n] *= count(m)
		}
		k.MetricVector("stats", "behave_imp_weight", weights)
	}
}

// proximal is the proximal policy of DecoupledPPO on every token, generated or not.
func proximal(k *Check, prox string, b *batch.Batch) []float64 {
	n := len(b.Now.Logp)
	all := &batch.Batch{Sampled: batch.Sampled{Offsets: []int{0, n}, Mask: slices.Repeat([]bool{true}, n), LogpRoll: b.LogpRoll, Version: b.Version},
		Now: b.Now, LearnerVersion: b.LearnerVersion, Graded: batch.Graded{Advantage: make([]float64, n)}}
	all.Anchor = b.Anchor
	return noted(k, &loss.DecoupledPPO{Prox: prox, Behave: "none"}, all, "prox")
}

func matchROLLLoss(c *Case, k *Check) {
	p, b := c.Params, paperBatch(c)
	b.LogpRoll, b.Reward = c.Inputs.FlatOr("infer_logp"), c.Inputs.Flat("scores")
	if b.LogpRoll == nil {
		b.LogpRoll = b.Anchor
	}
	b.Turn = make([]int32, b.Tokens())
	for n := 1; n < len(b.Turn); n++ { // a segment is a run of mask 1
		b.Turn[n] = b.Turn[n-1]
		if b.Mask[n] != b.Mask[n-1] {
			b.Turn[n]++
		}
	}
	apply(k, rollPipeline(p.Sub("train_infer_correction")), b)
	agg := loss.Aggregation{Mode: p.String("loss_agg_mode"), Pre: true}
	switch agg.Mode {
	case "seq-mean-token-mean": // rows before the filters, a row's tokens after them
		agg.Pre, agg.PreRows = false, true
	case "seq-mean-token-sum-norm": // ROLL divides by the width alone
		agg.Mode = "token-sum-norm"
	}
	out := evaluate(k, rollLoss(p, agg), b)
	pg := out.Loss
	if p.Bool("use_kl_loss") {
		kl := klTerm(loss.K3, p.Float("kl_loss_coef"), loss.KLBounds{Value: 10}, agg)
		k.OK(kl.AddLoss(out, b))
	}
	matchROLLFigures(k, b, agg)
	scale(out, rollEpsilon(b, agg))
	k.Scaled("loss", out.Loss, largestTerm(out))
	k.Vector("grad", out.DLogp)
	k.Metric("metrics", "actor/pg_loss@sum", pg*rollEpsilon(b, agg))
	k.Metric("metrics", "actor/total_loss@sum", out.Loss)
}

// matchROLLFigures compares the divergences ROLL logs: k3 to the reference, k2
// and k1 to old.
func matchROLLFigures(k *Check, b *batch.Batch, agg loss.Aggregation) {
	for _, figure := range []struct {
		name string
		e    loss.Estimator
		ref  []float64
	}{{"actor/kl_loss@sum", loss.K3, b.Ref.Logp}, {"actor/approxkl@sum", loss.K2, b.Anchor}, {"actor/policykl@sum", loss.K1, b.Anchor}} {
		one, logged := *b, &loss.Grad{}
		one.Ref.Logp = figure.ref
		logged.Reset(b.Tokens())
		k.OK(klTerm(figure.e, 1, loss.KLBounds{Value: 10}, agg).AddLoss(logged, &one))
		k.Metric("metrics", figure.name, logged.Loss*rollEpsilon(b, agg))
	}
}

// rollEpsilon is the factor by which ROLL's 1e-8 in the number of rows changes a mean.
func rollEpsilon(b *batch.Batch, agg loss.Aggregation) float64 {
	rows, tokens := 0.0, 0.0
	for i := range b.Len() {
		from, to := b.Span(i)
		length := 0.0
		for _, m := range b.Mask[from:to] {
			length += count(m)
		}
		rows += count(length > 0)
		tokens += length
	}
	switch {
	case strings.HasPrefix(agg.Mode, "seq-mean"):
		return rows / (rows + 1e-8)
	case agg.Mode == "token-mean":
		return tokens / (tokens + 1e-8)
	}
	return 1
}

func rollLoss(p Values, agg loss.Aggregation) loss.Loss {
	segment := p.String("ratio_type") == "segment"
	if p.String("pg_variant") != "ppo" {
		l := peerLoss("roll/"+p.String("pg_variant"), p, agg)
		if topr, ok := l.(*loss.TOPR); ok && segment {
			topr.Level, topr.Epsilon = "turn", 1e-8
		}
		return l
	}
	low, high, dual := p.Float("pg_clip"), p.Float("pg_clip"), 0.0
	if p.Bool("use_pg_clip_range") {
		low, high = p.Float("pg_clip_low"), p.Float("pg_clip_high")
	}
	if p.Bool("dual_clip_loss") {
		dual = 1 + 2*p.Float("pg_clip")
	}
	if segment {
		return &loss.STPPO{EpsLow: low, EpsHigh: high, DualClip: dual, TurnRatio: "geo", Gradient: "live", CTN: "none", Epsilon: 1e-8, Aggregation: agg}
	}
	return &loss.PPOClip{EpsLow: low, EpsHigh: high, DualClip: dual, Aggregation: agg}
}

func matchSlimeLoss(c *Case, k *Check) {
	p, b := c.Params, paperBatch(c)
	agg := loss.Aggregation{Mode: "seq-sum-token-mean", Pre: true}
	if p.Bool("calculate_per_token_loss") {
		agg = loss.Aggregation{Mode: "token-sum"}
	}
	if p.Bool("use_rollout_logprobs") {
		b.Anchor = b.LogpRoll
	}
	apply(k, slimePipeline(p), b)
	if p.Bool("use_opsm") { // slime compares with its old log-probs
		whole := *b
		whole.LogpRoll = append([]float64{}, b.Anchor...)
		apply(k, &correction.Pipeline{Denominator: correction.Pre,
			Masks: []correction.Masking{&correction.OPSM{Delta: p.Float("opsm_delta"), Signs: correction.Negative}}}, &whole)
		b.Gate = whole.Gate
	}
	low, high, dual := p.Float("eps_clip"), p.Float("eps_clip_high"), p.FloatOr("eps_clip_c", 0)
	var l loss.Loss = &loss.PPOClip{EpsLow: low, EpsHigh: high, DualClip: dual, Aggregation: agg}
	switch p.String("advantage_estimator") {
	case "gspo":
		l = &loss.GSPO{EpsLow: low, EpsHigh: high, DualClip: dual, Aggregation: agg}
	case "cispo":
		l = &loss.CISPO{EpsLow: low, EpsHigh: high, Level: "token", Anchor: loss.Old, Aggregation: agg}
	}
	out := evaluate(k, l, b)
	k.Metric("reported", "pg_loss", out.Loss)
	if _, ok := l.(*loss.PPOClip); ok {
		clips, _ := clipMasks(k, b, b.Active(), b.Anchor, low, high, dual)
		k.Metric("reported", "pg_clipfrac", reduced(k, b, agg, numbers(clips)))
	}
	staleness := make([]float64, b.Tokens())
	for n := range staleness {
		staleness[n] = b.Anchor[n] - b.Now.Logp[n]
	}
	k.Metric("reported", "ppo_kl", reduced(k, b, agg, staleness))
	if p.Bool("use_kl_loss") {
		k.OK(slimeKL(p, agg).AddLoss(out, b))
		value, _ := out.Metric("actor/kl_loss")
		k.Metric("reported", "kl_loss", value)
	}
	if coef := p.Float("entropy_coef"); coef != 0 { // the entropies of the case carry no gradient
		out.Loss -= coef * reduced(k, b, agg, b.Now.Entropy)
	}
	if b.Now.Entropy != nil {
		k.Metric("reported", "entropy_loss", reduced(k, b, agg, b.Now.Entropy))
	}
	k.Scaled("loss", out.Loss, largestTerm(out))
	k.Metric("reported", "loss", out.Loss)
	padded, width := []float64{}, len(c.Inputs.Matrix("mask")[0])
	if len(c.Outputs.Flat("grad")) == b.Tokens() {
		padded = out.DLogp
	} else {
		for i := range b.Len() {
			from, to := b.Span(i)
			padded = append(padded, out.DLogp[from:to]...)
			padded = append(padded, make([]float64, width-(to-from))...)
		}
	}
	k.Vector("grad", padded)
}

// reduced aggregates a figure per token, as slime does with all it logs.
func reduced(k *Check, b *batch.Batch, agg loss.Aggregation, x []float64) float64 {
	rows, sum := make([]float64, b.Len()), 0.0
	k.OK(agg.RowWeights(rows, b, &batch.Groups{}))
	for i, w := range rows {
		for n := b.Offsets[i]; n < b.Offsets[i+1]; n++ {
			if b.Active()[n] {
				sum += w * x[n]
			}
		}
	}
	return sum
}

func slimeKL(p Values, agg loss.Aggregation) loss.KL {
	coef, kind := p.Float("kl_loss_coef"), p.String("kl_loss_type")
	bound := 0.0
	if kind == "low_var_kl" {
		bound = 10
	}
	if p.Bool("use_unbiased_kl") {
		return &loss.UnbiasedKL{Coef: coef, In: loss.InLoss, Anchor: loss.Old, Level: "token", ValueClamp: bound, Aggregation: agg}
	}
	e, err := parseEstimator(kind)
	if err != nil {
		panic(err)
	}
	return klTerm(e, coef, loss.KLBounds{Value: bound}, agg)
}
