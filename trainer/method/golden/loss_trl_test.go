package golden

import (
	"math"
	"slices"
	"strings"

	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/correction"
	"driftlab/trainer/method/loss"
)

// trlAggregation reads the reduction that goes with a loss type.
func trlAggregation(p Values) loss.Aggregation {
	switch kind := p.String("loss_type"); kind {
	case "grpo", "sapo":
		return loss.Aggregation{Mode: "grpo"}
	case "dr_grpo":
		return loss.Aggregation{Mode: "dr_grpo", Horizon: p.Int("max_completion_length")}
	case "luspo":
		return loss.Aggregation{Mode: "seq-all-token-sum"}
	}
	return loss.Aggregation{}
}

// trlLoss builds the loss of a type at a level.
func trlLoss(c *Case, agg loss.Aggregation) loss.Loss {
	name := c.Params.String("loss_type")
	if strings.Contains(c.Source, "gmpo_trainer") {
		name = "gmpo"
	} else if !slices.Contains([]string{"cispo", "sapo", "vespo", "luspo"}, name) {
		name = "token"
		if level := c.Params.String("importance_sampling_level"); strings.HasPrefix(level, "sequence") {
			name = level
		}
	}
	l := peerLoss("trl/"+name, c.Params, agg)
	if v, ok := l.(*loss.VESPO); ok {
		v.SequenceWeights = strings.HasPrefix(c.Params.String("vllm_importance_sampling_mode"), "sequence")
	}
	return l
}

// trlWeights reads the vLLM importance sampling.
func trlWeights(p Values) correction.Weighting {
	low, high := p.FloatOr("vllm_importance_sampling_clip_min", 0), p.FloatOr("vllm_importance_sampling_clip_max", math.Inf(1))
	switch p.String("vllm_importance_sampling_mode") {
	case "token_truncate":
		return &correction.TokenTIS{Cap: high, Floor: low}
	case "token_mask":
		return &correction.TokenMIS{Low: low, High: high}
	case "sequence_truncate":
		return &correction.SequenceTIS{Cap: high, Floor: low}
	case "sequence_mask":
		return &correction.SequenceMIS{Low: low, High: high}
	}
	panic("no mode " + p.String("vllm_importance_sampling_mode"))
}

func lossMatchTRL(c *Case, k *Check) {
	p, b := c.Params, paperBatch(c)
	if tokens := c.Inputs.FlatOr("adv_tok"); tokens != nil {
		b.Advantage = tokens
	}
	trlCorrect(c, k, b)
	agg := trlAggregation(p)
	l := trlLoss(c, agg)
	out := evaluate(k, l, b)
	if _, ok := l.(*loss.GMPO); ok { // TRL counts a response without a kept token as -A·exp(0), a constant
		for i, a := range c.Inputs.Flat("adv_seq") {
			from, to := b.Span(i)
			kept := 0.0
			for n := from; n < to; n++ {
				kept += count(b.Mask[n] && (b.Gate == nil || b.Gate[n]))
			}
			if kept == 0 {
				out.Loss -= a / float64(b.Len())
			}
		}
	}
	if c.Outputs.Has("phi_seq") {
		phi := slices.Clone(c.Outputs.Flat("phi_seq")) // without a token it is of no use
		for n, x := range noted(k, l, b, "φ") {
			if b.Active()[n] {
				phi[rowOf(b, n)] = x
			}
		}
		k.Vector("phi_seq", phi)
	}
	if beta := p.Float("beta"); beta != 0 {
		if strings.Contains(c.Source, "gmpo_trainer") { // its KL is a mean of row means
			agg = loss.Aggregation{Mode: "grpo"}
		}
		var kl loss.KL = klTerm(loss.K3, beta, loss.KLBounds{}, agg)
		if p.Bool("use_bias_correction_kl") {
			kl = &loss.UnbiasedKL{Coef: beta, In: loss.InLoss, Anchor: loss.Old, Level: p.String("importance_sampling_level"), Aggregation: agg}
		}
		k.OK(kl.AddLoss(out, b))
		logged := &loss.Grad{} // TRL logs the mean over tokens, whatever the reduction of the loss
		logged.Reset(b.Tokens())
		switch term := kl.(type) {
		case *loss.KLTerm:
			term.Aggregation = loss.Aggregation{}
		case *loss.UnbiasedKL:
			term.Aggregation = loss.Aggregation{}
		}
		k.OK(kl.AddLoss(logged, b))
		value, _ := logged.Metric("actor/kl_loss")
		k.Metric("metrics", "kl", value)
	}
	if accum := p.Float("current_gradient_accumulation_steps"); accum != 1 && p.String("loss_type") != "dapo" {
		scale(out, 1/accum)
	}
	if stats := c.Outputs.Sub("metrics"); stats.Has("policy_loss") {
		k.Metric("metrics", "policy_loss", out.Loss)
	}
	if coef := p.Float("entropy_coef"); coef != 0 { // the entropies of the case carry no gradient
		sum := 0.0
		for n, m := range b.Mask {
			if m {
				sum += b.Now.Entropy[n]
			}
		}
		out.Loss -= coef * sum / float64(tokensOf(b))
	}
	k.Scaled("loss", out.Loss, largestTerm(out))
	k.Vector("grad", out.DLogp)
	lossMetrics(c, k, out)
	if p, ok := l.(*loss.PPOClip); ok && p.Delta == 0 {
		trlClips(c, k, b)
	}
}

// trlClips compares TRL's clip fractions: by sign over tokens, and the extremes
// of the means over each response's tokens.
func trlClips(c *Case, k *Check, b *batch.Batch) {
	clips, _ := clipMasks(k, b, b.Active(), b.Anchor, c.Params.Float("epsilon_low"), c.Params.Float("epsilon_high"), 0)
	low, high, tokens := 0.0, 0.0, float64(tokensOf(b))
	lowest, highest := math.Inf(1), math.Inf(-1)
	for i := range b.Len() {
		from, to := b.Span(i)
		rowLow, rowHigh, length := 0.0, 0.0, 0.0
		for n := from; n < to; n++ {
			rowLow += count(clips[n] && b.Advantage[n] < 0)
			rowHigh += count(clips[n] && b.Advantage[n] > 0)
			length += count(b.Mask[n])
		}
		low, high = low+rowLow, high+rowHigh
		if length > 0 {
			lowest, highest = min(lowest, rowLow/length), max(highest, rowHigh/length)
		}
	}
	k.Metric("metrics", "clip_ratio/low_mean", low/tokens)
	k.Metric("metrics", "clip_ratio/high_mean", high/tokens)
	k.Metric("metrics", "clip_ratio/region_mean", (low+high)/tokens)
	k.Metric("metrics", "clip_ratio/low_min", lowest)
	k.Metric("metrics", "clip_ratio/high_max", highest)
}

// trlCorrect applies what TRL does around its losses and compares each part.
func trlCorrect(c *Case, k *Check, b *batch.Batch) {
	p := c.Params
	sampling := b.LogpRoll
	b.LogpRoll = b.Anchor
	if sampling != nil {
		b.LogpRoll = sampling
	}
	pipeline := &correction.Pipeline{Denominator: correction.Pre, Clamp: math.Inf(1)}
	if p.Bool("use_vllm") && p.Bool("vllm_importance_sampling_correction") {
		pipeline.Weights = trlWeights(p)
	}
	if p.Has("off_policy_mask_threshold") {
		pipeline.Masks = append(pipeline.Masks, &correction.OPSM{Delta: p.Float("off_policy_mask_threshold"), Signs: correction.Negative})
	}
	apply(k, pipeline, b)
	if c.Outputs.Has("importance_sampling_ratio") {
		compareWeights(c, k, b)
	}
	if c.Outputs.Has("off_policy_mask") {
		compareRows(c, k, b)
	}
	if p.Float("top_entropy_quantile") < 1 {
		gate := b.Gate
		b.Gate = nil
		top := &loss.TopEntropy{Share: p.Float("top_entropy_quantile")}
		k.OK(top.Prepare(b))
		open := make([]bool, b.Tokens())
		for n := range open {
			open[n] = b.Mask[n] && b.Gate[n]
		}
		if c.Outputs.Has("entropy_mask") {
			k.Mask("entropy_mask", open)
		}
		for n := range gate {
			b.Gate[n] = b.Gate[n] && gate[n]
		}
	}
}

// compareWeights compares the weights, one per token or one per response.
func compareWeights(c *Case, k *Check, b *batch.Batch) {
	want := c.Outputs.Flat("importance_sampling_ratio")
	got := append([]float64{}, want...) // masked entries are 1 in TRL, 0 or unset here
	for i := range b.Len() {
		from, to := b.Span(i)
		for n := from; n < to; n++ {
			if !b.Mask[n] {
				continue
			}
			if len(want) == b.Len() {
				got[i] = b.Weight[n]
			} else {
				got[n] = b.Weight[n]
			}
		}
	}
	k.Vector("importance_sampling_ratio", got)
}

// compareRows compares OPSM's mask, one entry per response.
func compareRows(c *Case, k *Check, b *batch.Batch) {
	got := append([]float64{}, c.Outputs.Flat("off_policy_mask")...)
	for i := range b.Len() {
		for n := range b.Where(i, b.Mask) {
			got[i] = count(b.Gate == nil || b.Gate[n])
		}
	}
	k.Vector("off_policy_mask", got)
}

func matchA2PO(c *Case, k *Check) {
	b := Batch(c.Inputs.Matrix("mask"))
	b.Now.Logp, b.LogpRoll, b.Reward = c.Inputs.Flat("logp"), c.Inputs.Flat("ref_logp"), c.Inputs.Flat("rewards")
	size := c.Params.Int("group_size")
	for i := range b.Reward {
		b.Group = append(b.Group, i/size)
	}
	l := &loss.OAPL{Beta1: c.Params.Float("beta1"), Beta2: c.Params.Float("beta2")}
	out := evaluate(k, l, b)
	// The mean advantage of a group is its mean reward less its value.
	var values []float64
	for i := range b.Reward {
		var group batch.Batch
		rows, mean := []int{}, 0.0
		for j := i / size * size; j < i/size*size+size; j++ {
			rows, mean = append(rows, j), mean+b.Reward[j]/float64(size)
		}
		b.Select(&group, rows)
		advantage, _ := evaluate(k, l, &group).Metric("optimal_advantage")
		values = append(values, mean-advantage)
	}
	k.Vector("v_star", values)
	valueAndGradient(k, out)
	for name, ours := range map[string]string{"implicit_reward": "implicit_reward", "advantage": "optimal_advantage"} {
		value, _ := out.Metric(ours)
		k.Metric("metrics", name, value)
	}
}

// matchIWOPD gives the loss log-probs at the temperature and takes its gradient to the logits.
func matchIWOPD(c *Case, k *Check) {
	p, b := c.Params, Batch(c.Inputs.Matrix("mask"))
	logits, vocab := c.Inputs.Flat("logits"), 5
	for i, x := range logits {
		logits[i] = x / p.Float("temperature")
	}
	dist := logSoftmax(logits, vocab)
	for n, token := range c.Inputs.Flat("tokens") {
		b.Now.Logp = append(b.Now.Logp, dist[n*vocab+int(token)])
	}
	b.Teacher.Logp, b.LogpRoll = c.Inputs.Flat("teacher_logp"), c.Inputs.FlatOr("rollout_logp")
	l := &loss.IWOPD{Gamma: p.Float("iw_opd_gamma"), Student: "now", Aggregation: loss.Aggregation{Tokens: p.IntOr("num_items_in_batch", 0)}}
	if p.Bool("use_rollout_logprobs") {
		l.Student = "roll"
	}
	out := evaluate(k, l, b)
	for n, token := range c.Inputs.Flat("tokens") {
		for a := range vocab {
			at := n*vocab + a
			logits[at] = out.DLogp[n] * (count(a == int(token)) - math.Exp(dist[at])) / p.Float("temperature")
		}
	}
	k.Scalar("loss", out.Loss)
	k.Vector("grad_logits", logits)
	for _, name := range []string{"mean_advantage", "mean_abs_advantage", "mean_weight", "min_weight", "max_weight"} {
		metric(k, out, "iw_opd/"+name, "iw_opd/"+name)
	}
}

// bonusOf takes an update whose only token has the entropy h, and returns the coefficient of the bonus.
func bonusOf(k *Check, e *loss.AdaptiveEntropy, h float64) float64 {
	const vocab = 1024
	low, high := 1./vocab, 1. // of the first token; the others share the rest
	row := make([]float64, vocab)
	for range 60 {
		p := (low + high) / 2
		q := (1 - p) / (vocab - 1)
		row[0] = math.Log(p)
		for a := range vocab - 1 {
			row[a+1] = math.Log(q)
		}
		if -p*math.Log(p)-(1-p)*math.Log(q) > h {
			low = p
		} else {
			high = p
		}
	}
	b := Batch([][]float64{{1}})
	b.Vocab, b.Now.Dist = vocab, single(row)
	out := &loss.Grad{}
	out.Reset(1)
	k.OK(e.AddLoss(out, b))
	entropy, _ := out.Metric("actor/entropy")
	return -out.Loss / entropy
}

// matchAdaptiveEntropy runs the coefficient over the micro-batches of a case, whose
// entropies are given as they are: the term entropy has their gradient to the logits.
func matchAdaptiveEntropy(c *Case, k *Check) {
	p := c.Params
	if !p.Bool("use_adaptive_entropy") {
		return
	}
	k.single = true
	e := loss.NewAdaptiveEntropy()
	e.Coef, e.Min, e.Max = p.Float("entropy_coef"), p.Float("entropy_coef_min"), p.Float("entropy_coef_max")
	e.Delta, e.Target = p.Float("entropy_coef_delta"), p.Float("entropy_target")
	entropies, micros := c.Inputs.Flat("entropy"), c.Inputs["mask"].([]any)
	steps, at := p.Int("gradient_accumulation_steps"), 0
	var losses, slopes, coefs, lasts []float64
	sum, tokens := 0.0, 0.0
	for m, mask := range micros {
		b := Batch(Values{"mask": mask}.Matrix("mask"))
		if c.Inputs.Has("entropy_mask") {
			for n, kept := range Batch(Values{"mask": c.Inputs["entropy_mask"].([]any)[m]}.Matrix("mask")).Mask {
				b.Mask[n] = b.Mask[n] && kept
			}
		}
		norm := c.Inputs.Flat("normalizer")[m]
		if p.String("loss_type") != "dapo" {
			norm *= max(float64(tokensOf(b)), 1)
		}
		value, coef := c.Inputs.Float("policy_loss"), bonusOf(k, new(*e), 1)
		for n, h := range entropies[at : at+b.Tokens()] {
			w := count(b.Mask[n]) / norm
			value -= coef * w * h
			slopes = append(slopes, -coef*w)
			sum += count(b.Mask[n]) * h
		}
		tokens += float64(tokensOf(b))
		at += b.Tokens()
		losses = append(losses, value)
		if (m+1)%steps == 0 {
			bonusOf(k, e, sum/max(tokens, 1))
			sum, tokens = 0, 0
		}
		var after, last float64
		k.OK(method.ReadState(e.AppendState(nil), &after, &last))
		coefs, lasts = append(coefs, after), append(lasts, last)
	}
	k.Vector("loss", losses)
	k.Vector("grad_entropy", slopes)
	k.Vector("entropy_coef", coefs)
	k.Vector("last_world_entropy", lasts)
}
