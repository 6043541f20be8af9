package golden

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"driftlab/precision/elementary"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/correction"
	"driftlab/trainer/method/loss"
	"driftlab/trainer/method/masked"
	"driftlab/trainer/method/trace"
)

// appliedWeights are the weights of the batch, 0 where a mask has rejected the token.
func appliedWeights(b *batch.Batch) []float64 {
	w := make([]float64, b.Tokens())
	for n, active := range b.Active() {
		if active {
			w[n] = 1
			if b.Weight != nil {
				w[n] = b.Weight[n]
			}
		}
	}
	return w
}

// share is the mean of a condition over the tokens of the response mask.
func share(b *batch.Batch, of func(n int) bool) float64 {
	events, all := 0.0, 0.0
	for n, counts := range b.Mask {
		if counts {
			all++
			events += count(of(n))
		}
	}
	return events / max(all, 1)
}

func matchCIS(c *Case, k *Check) {
	b := paperBatch(c)
	m := &correction.CIS{Lambda: c.Params.Float("lam"), Kappa: c.Params.Float("kappa")}
	apply(k, &correction.Pipeline{Weights: m}, b)
	k.Vector("weights", appliedWeights(b))
	k.Scalar("filtered_fraction", share(b, func(n int) bool { return b.Weight[n] != elementary.Exp(b.Anchor[n]-b.LogpRoll[n]) }))
	compared(k, peerLoss("autumn/cis", c.Params, loss.Aggregation{}), b)
}

func matchKPop(c *Case, k *Check) {
	p, b := c.Params, paperBatch(c)
	m := &correction.Band{Level: p.String("level"), Statistic: "binary_kl", Aggregate: p.String("agg"), Floor: 1e-8,
		Low: p.FloatOr("lower", math.Inf(-1)), High: p.Float("upper")}
	apply(k, &correction.Pipeline{Clamp: math.Inf(1), Weights: &correction.TokenTIS{Cap: math.Inf(1)}, Masks: []correction.Masking{m}}, b)
	k.Mask("kept_mask", b.LossMask)
	k.Vector("behave_imp_weight", appliedWeights(b))
	k.Scalar("filtered_fraction", share(b, func(n int) bool { return !b.LossMask[n] }))
	compared(k, peerLoss("autumn/kpop", p, loss.Aggregation{Pre: true}), b)
}

// matchOpenRLHF reads OpenRLHF's is_correction, and that of molt, where seq is the product and geo the mean.
func matchOpenRLHF(c *Case, k *Check) {
	p, b := c.Params, paperBatch(c)
	level, gating := p.String("is_correction_level"), p.String("is_correction_gating")
	bounds := c.Params.Flat("is_correction_threshold")
	pipeline := &correction.Pipeline{Clamp: math.Inf(1), Weights: &correction.TokenTIS{Cap: math.Inf(1)}}
	switch p.String("is_correction_mode") {
	case "clip", "trunc":
		pipeline.Weights = &correction.TokenTIS{Floor: max(bounds[0], 0), Cap: bounds[1]}
	default:
		m := &correction.Band{Level: "sequence", Statistic: map[string]string{"ratio": "ratio", "binary_kl": "roll_binary_kl", "tv": "tv"}[gating],
			Aggregate: "mean", Floor: 1e-6, Low: bounds[0], High: bounds[1]}
		if level == "token" {
			m.Level = "token"
		}
		if level == "seq" && gating == "ratio" && p.Has("loss_agg_mode") {
			m.Aggregate = "sum"
		}
		pipeline.Masks = []correction.Masking{m}
	}
	apply(k, pipeline, b)
	agg := loss.Aggregation{Pre: true}
	if p.Has("loss_agg_mode") {
		agg.Mode = p.String("loss_agg_mode")
	}
	l := &loss.PPOClip{EpsLow: p.Float("clip_eps_low"), EpsHigh: p.Float("clip_eps_high"), DualClip: p.FloatOr("dual_clip", 0), LogClamp: 20, Aggregation: agg}
	kl, molt := "ppo_kl", strings.Contains(c.File, "molt")
	if molt {
		kl, l.LogClamp = "policy_kl", 30
	}
	compared(k, l, b)
	tokens, drift, gap, clips, changed := 0.0, 0.0, 0.0, 0.0, 0.0
	clip, _ := clipMasks(k, b, b.Mask, b.Anchor, l.EpsLow, l.EpsHigh, 0)
	for n, counts := range b.Mask {
		if counts {
			tokens++
			drift += b.Anchor[n] - b.Now.Logp[n]
			gap += b.LogpRoll[n] - b.Anchor[n]
			clips += count(clip[n])
			changed += count(!b.LossMask[n] || len(pipeline.Masks) == 0 && b.Weight[n] != elementary.Exp(b.Anchor[n]-b.LogpRoll[n]))
		}
	}
	units := tokens
	if level != "token" { // shares of responses; one without tokens is filtered in OpenRLHF, kept in molt
		units, changed = float64(b.Len()), 0
		for i := range b.Len() {
			lost, all := 0, 0
			for n := range b.Where(i, b.Mask) {
				all++
				lost += int(count(!b.LossMask[n]))
			}
			changed += count(lost > 0 || all == 0 && !molt)
		}
	}
	k.Scalar("is_filter_ratio", changed/units)
	if tokens > 0 {
		k.Scalar(kl, drift/tokens)
		k.Scalar("vllm_kl", gap/tokens)
		k.Scalar("clip_ratio", clips/tokens)
	}
}

// matchNeMoLevel reads NeMo-RL's is_correction_level next to PPO's clip and GSPO.
func matchNeMoLevel(c *Case, k *Check) {
	p, b := c.Params, paperBatch(c)
	samples := 0.0
	for i, whole := range c.Inputs.Flat("sample_mask") {
		samples += whole
		from, to := b.Span(i)
		for n := from; n < to; n++ {
			b.Mask[n] = b.Mask[n] && whole != 0
		}
	}
	limit := p.FloatOr("truncated_importance_sampling_ratio", math.Inf(1))
	pipeline := &correction.Pipeline{Clamp: math.Inf(1)}
	switch p.String("is_correction_level") {
	case "token":
		pipeline.Weights = &correction.TokenTIS{Cap: limit}
	case "sequence":
		pipeline.Weights = &correction.SequenceTIS{Cap: limit}
	case "sequence_mean":
		pipeline.Weights = &correction.GeometricTIS{Cap: limit}
	}
	apply(k, pipeline, b)
	agg, name := loss.Aggregation{}, "nemo-rl/ppo"
	if !p.Bool("token_level_loss") {
		agg.Mode = "seq-sum-token-mean"
	}
	if p.Bool("sequence_level_importance_ratios") {
		name = "nemo-rl/gspo"
	}
	out := evaluate(k, peerLoss(name, p, agg), b)
	if tokens := float64(tokensOf(b)); p.Bool("token_level_loss") && tokens > 0 { // NeMo-RL's masked mean has tokens + 1e-8 below
		scale(out, tokens/(tokens+1e-8))
	}
	if !p.Bool("token_level_loss") {
		// Its means divide by a number + 1e-8 three times, of tokens in the ratio and in the loss, and of samples.
		near := func(got, want float64) bool { return math.Abs(got-want) <= 1e-7*max(math.Abs(want), 1e-3) }
		ok := near(out.Loss/samples, c.Outputs.Float("loss"))
		for n, want := range c.Outputs.Flat("grad") {
			ok = ok && near(out.DLogp[n]/samples, want)
		}
		if !ok {
			k.Fail("loss %g, gradient %g", out.Loss/samples, out.DLogp)
		}
	}
	valueAndGradient(k, out)
}

func matchBAPO(c *Case, k *Check) {
	b := paperBatch(c)
	if c.Inputs.Has("rollout_is_weights") {
		b.Weight = c.Inputs.Flat("rollout_is_weights")
	}
	out := compared(k, peerLoss("autumn/bapo", c.Params, modeOf(c)), b)
	for _, name := range []string{"pg_clipfrac", "ppo_kl", "pg_clipfrac_lower", "bapo_clip_low", "bapo_clip_high", "bapo_pos_neg_ratio"} {
		value, ok := out.Metric("actor/" + name)
		if !ok {
			value = math.Inf(1) // the ratio, without negative contributions
		}
		k.Scalar(name, value)
	}
}

// lawsOf are the log-softmax rows of logits, [N][V].
func lawsOf(logits [][]float64) [][]float64 {
	rows := make([][]float64, len(logits))
	for n, z := range logits {
		rows[n] = logSoftmax(z, len(z))
	}
	return rows
}

// single are rows of log-probs as a batch has them.
func single(rows ...[]float64) (flat []float32) {
	for _, row := range rows {
		for _, x := range row {
			flat = append(flat, float32(x))
		}
	}
	return flat
}

// matchCentred evaluates a loss with centred scores on distributions, whose rows are log-probs, and
// compares the gradient to the logits. It returns the value, and what is recorded of every token.
func matchCentred(c *Case, k *Check, l loss.Loss, now, old, roll [][]float64, scale float64) (float64, *trace.Trace) {
	k.single = true
	b := Batch([][]float64{c.Inputs.Flat("mask")})
	b.Advantage, b.Vocab = c.Inputs.Flat("adv"), len(now[0])
	b.Now.Dist, b.Old.Dist, b.DistRoll = single(now...), single(old...), single(roll...)
	for n, y := range c.Inputs.Flat("tokens") {
		b.Token = append(b.Token, int32(y))
		b.Now.Logp, b.LogpRoll = append(b.Now.Logp, now[n][int(y)]), append(b.LogpRoll, roll[n][int(y)])
		if old != nil {
			b.Anchor = append(b.Anchor, old[n][int(y)])
		}
	}
	out := evaluate(k, l, b)
	var grad []float64
	for n, row := range now {
		for v, x := range row {
			g := out.DLogp[n] * (count(v == int(b.Token[n])) - math.Exp(x))
			if out.DLogits != nil {
				g += out.DLogits[n*b.Vocab+v]
			}
			grad = append(grad, scale*g)
		}
	}
	k.Vector("grad_logits", grad)
	return scale * out.Loss, explained(k, l, b)
}

func matchCentering(c *Case, k *Check) {
	p := c.Params
	o := &loss.Centering{Weights: p.String("mode"), Cap: p.Float("tis_clip"), Low: p.Float("mis_low"), High: p.Float("mis_high"), Floor: p.Float("eps"),
		Head: len(c.Inputs.Matrix("head_ids")[0])}
	l := &loss.Reinforce{Anchor: loss.Roll, Centering: o, Aggregation: loss.Aggregation{Mode: "token-sum"}}
	now, roll := lawsOf(c.Inputs.Matrix("logits")), lawsOf(c.Inputs.Matrix("sampler_logits"))
	valid := 0.0
	var headP, headQ, ratios []float64
	for n, m := range c.Inputs.Flat("mask") {
		valid += m
		var mp, mq float64
		for _, v := range likeliest(roll[n], o.Head) {
			mp, mq = mp+math.Exp(now[n][v]), mq+math.Exp(roll[n][v])
		}
		headP, headQ = append(headP, m*mp), append(headQ, m*mq)
		ratios = append(ratios, m*max(1-mq, o.Floor)/max(1-mp, o.Floor))
	}
	k.Vector("sc_train_head_mass", headP)
	k.Vector("sc_rollout_head_mass", headQ)
	k.Vector("sc_tail_ratio", ratios)
	value, t := matchCentred(c, k, l, now, nil, roll, 1/max(valid, 1))
	k.Scalar("loss", value)
	k.Vector("sc_importance_weight", terms(t, "w"))
	k.Vector("sc_correction", terms(t, "C"))
	k.Vector("token_loss", terms(t, trace.Value))
}

// likeliest are the likeliest tokens of a row of log-probs, the first of equals.
func likeliest(row []float64, size int) []int {
	var order []int
	for v := range row {
		order = append(order, v)
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(row[b], row[a]) })
	return order[:min(size, len(order))]
}

func matchCentredPPO(c *Case, k *Check) {
	p := c.Params
	l := &loss.PPOClip{EpsLow: p.Float("eps_clip_low"), EpsHigh: p.Float("eps_clip_high"), LogClamp: 20, Aggregation: loss.Aggregation{Mode: "token-sum"},
		Centering: &loss.Centering{Weights: "tis", Cap: p.Float("tis_cap"), High: 1, Head: len(c.Inputs.Matrix("head_ids")[0]), Floor: 1e-6}}
	now, old, roll := lawsOf(c.Inputs.Matrix("logits")), lawsOf(c.Inputs.Matrix("old_logits")), lawsOf(c.Inputs.Matrix("sampler_logits"))
	valid, base := 0.0, 0.0
	for _, m := range c.Inputs.Flat("mask") {
		valid += m
	}
	whole, t := matchCentred(c, k, l, now, old, roll, 1/max(valid, 1))
	k.Scalar("loss", whole)
	centre, value := terms(t, "C"), terms(t, trace.Value)
	for n, a := range c.Inputs.Flat("adv") {
		centre[n] *= a
		base += value[n] - centre[n]
	}
	k.Scalar("base_loss", base/max(valid, 1))
	k.Vector("correction", centre)
}

// matchCentredIPO has distributions over a recorded sampling support, on which the policy is renormalised.
func matchCentredIPO(c *Case, k *Check) {
	p := c.Params
	whole := lawsOf(c.Inputs.Matrix("logits"))
	support, logq := c.Inputs.Matrix("support_ids"), c.Inputs.Matrix("sampler_support_logp")
	roll, now := make([][]float64, len(whole)), make([][]float64, len(whole))
	for n, row := range whole {
		roll[n] = slices.Repeat([]float64{math.Inf(-1)}, len(row))
		masked := slices.Clone(roll[n])
		now[n] = row
		for s, id := range support[n] {
			if id >= 0 {
				roll[n][int(id)], masked[int(id)] = logq[n][s], row[int(id)]
				now[n] = masked
			}
		}
		now[n] = lawsOf(now[n : n+1])[0]
	}
	l := peerLoss("autumn/ipo", p, loss.Aggregation{Mode: "token-sum"}).(*loss.IPO)
	if p.Float("score_centering") != 0 {
		l.Centering = new(loss.ExactCentering)
	}
	value, _ := matchCentred(c, k, l, now, nil, roll, 1/p.Float("rl_scale"))
	k.Scalar("loss", value)
}

func matchPrimeLosses(c *Case, k *Check) {
	p, b := c.Params, paperBatch(c)
	agg := loss.Aggregation{Mode: "token-sum"} // the scale is the sum of the weights, which need not be whole
	for n := range b.Advantage {
		b.Advantage[n] *= p.Float("adv_tau")
	}
	b.Weight = c.Inputs.FlatOr("loss_weights")
	if p.String("type") == "ppo" {
		b.Anchor = b.LogpRoll
	}
	out := evaluate(k, peerLoss("autumn/"+p.String("type"), p, agg), b)
	scale(out, 1/p.Float("rl_scale"))
	k.Scaled("loss", out.Loss, largestTerm(out))
	k.Vector("grad", out.DLogp)
	for name := range c.Outputs.Sub("metrics") {
		if value, ok := out.Metric(name); ok {
			k.MetricMean("metrics", name, value)
		}
	}
}

// matchFlash reads FlashREINFORCE's gate, and that of miles.
func matchFlash(c *Case, k *Check) {
	b := paperBatch(c)
	rewards, mean := c.Inputs.Flat("rewards"), 0.0
	for _, r := range rewards {
		mean += r / float64(len(rewards))
	}
	var advantages []float64
	for _, r := range rewards {
		advantages = append(advantages, r-mean)
	}
	b.Advantage = spread(b, advantages)
	m := &correction.Band{Level: "sequence", Statistic: "roll_binary_kl", Aggregate: "mean", Floor: 1e-6, Low: math.Inf(-1),
		High: c.Params.FloatOr("delta", c.Params.FloatOr("tis_binary_kl_threshold", 0))}
	pipeline := &correction.Pipeline{Mode: correction.Bypass, Clamp: 30, Weights: &correction.TokenTIS{Cap: math.Inf(1)}, Masks: []correction.Masking{m}}
	if c.Params.FloatOr("negative_token_fraction", 1) < 1 {
		pipeline.Masks = append(pipeline.Masks, &correction.FailureTokens{Share: c.Params.Float("negative_token_fraction")})
		b.Now.Entropy = c.Inputs.Flat("entropies")
		for _, failed := range c.Inputs.Flat("failures") {
			b.Correct = append(b.Correct, failed == 0)
		}
	}
	apply(k, pipeline, b)
	if c.Outputs.Has("advantages") {
		k.Vector("advantages", advantages)
	}
	compared(k, &loss.Reinforce{Anchor: loss.Roll, Aggregation: loss.Aggregation{Mode: "grpo", Pre: true}}, b)
	if strings.Contains(c.Source, "miles") {
		k.Vector("weights", appliedWeights(b))
		return
	}
	var admitted, all, kept []float64
	rate := 0.0
	for i := range b.Len() {
		tokens, left := 0.0, 0.0
		for n := range b.Where(i, b.Mask) {
			tokens++
			left += count(b.Active()[n] && (b.Gate == nil || b.Gate[n]))
		}
		all, kept, admitted = append(all, tokens), append(kept, left), append(admitted, count(left > 0))
		rate += count(left > 0) / float64(b.Len())
	}
	k.Vector("admitted", admitted)
	k.Scalar("acceptance_rate", rate)
	k.Vector("policy_tokens", all)
	k.Vector("retained_tokens", kept)
}

// matchSAO reads the loss of SAO; BPCO's advantages are of package advantage.
func matchSAO(c *Case, k *Check) {
	b := paperBatch(c)
	l := loss.NewSAO()
	l.EpsLow, l.EpsHigh = c.Params.Float("eps_low"), c.Params.Float("eps_high")
	l.Aggregation = loss.Aggregation{Mode: "seq-sum-token-mean"}
	compared(k, l, b)
}

// matchRSPO reads the router-shift ratio of two forms, and the loss of the first.
func matchRSPO(c *Case, k *Check) {
	p, b := c.Params, paperBatch(c)
	old, now := c.Inputs.Flat("old_router_logits"), c.Inputs.Flat("router_logits")
	shape := c.Inputs["router_logits"].([]any)[0].([]any)[0].([]any)
	experts := len(shape[0].([]any))
	b.Layers, b.TopK = len(shape), p.Int("top_k")
	for at := 0; at < len(old); at += experts {
		law, moved := lawsOf([][]float64{old[at : at+experts]})[0], lawsOf([][]float64{now[at : at+experts]})[0]
		for _, e := range slices.Sorted(slices.Values(likeliest(law, b.TopK))) {
			b.Old.Routes = append(b.Old.Routes, uint8(e))
			b.Old.RouterLogp, b.Now.RouterLogp = append(b.Old.RouterLogp, law[e]), append(b.Now.RouterLogp, moved[e])
		}
	}
	form := map[string]string{"v2": "mean", "fork_product": "product", "fork_geo": "geometric"}[p.String("form")]
	l := &loss.RSPO{EpsLow: p.FloatOr("eps_low", 0.2), EpsHigh: p.FloatOr("eps_high", 0.2), Form: form, Floor: p.FloatOr("gamma_min", 0), Threshold: p.FloatOr("threshold", 0),
		Aggregation: loss.Aggregation{Mode: "seq-sum-token-mean"}}
	out := evaluate(k, l, b)
	all := *b // γ of every token, the masked ones too
	all.Mask = slices.Repeat([]bool{true}, b.Tokens())
	raw, gamma, deviation := noted(k, l, &all, "γ"), make([]float64, b.Tokens()), make([]float64, b.Tokens())
	rejected := make([]bool, b.Tokens())
	for n := range raw {
		deviation[n], gamma[n] = -elementary.Log(raw[n]), max(raw[n], l.Floor)
		if form != "mean" && !b.Mask[n] {
			gamma[n] = 0
		}
	}
	copy(rejected, out.Rejected())
	k.Vector("gamma", gamma)
	if form != "mean" {
		k.Mask("clip_mask", rejected)
		k.Scalar("clipfrac", share(b, func(n int) bool { return rejected[n] })*float64(tokensOf(b))/(float64(tokensOf(b))+1e-8))
		return
	}
	k.Vector("gamma_raw", raw)
	k.Vector("deviation", deviation)
	k.Scalar("floor_fraction", share(b, func(n int) bool { return raw[n] < l.Floor }))
	rows := 0.0
	for i := range b.Len() {
		from, to := b.Span(i)
		rows += count(masked.Count(b.Mask[from:to]) > 0)
	}
	scale(out, 1/max(rows, 1))
	valueAndGradient(k, out)
}
