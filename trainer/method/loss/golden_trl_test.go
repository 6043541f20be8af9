package loss

import (
	"math"
	"slices"
	"strings"

	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/correction"
	"driftlab/trainer/method/golden"
)

var trlMatchers = []golden.Matcher{
	{File: "trl/gmpo_gspotoken_a2po*.json", Source: "a2po_trainer", Match: matchA2PO},
	{File: "trl/gmpo_gspotoken_a2po*.json", Match: matchTRL},
	{File: "trl/grpo_*.json", Match: matchTRL},
	{File: "trl/adaptive_entropy*.json", Match: matchAdaptiveEntropy},
	{File: "trl/iw_opd*.json", Match: matchIWOPD},
}

// trlAggregation reads the reduction that goes with a loss type.
func trlAggregation(p golden.Values) Aggregation {
	switch kind := p.String("loss_type"); kind {
	case "grpo", "sapo":
		return Aggregation{Mode: "grpo"}
	case "dr_grpo":
		return Aggregation{Mode: "dr_grpo", Horizon: p.Int("max_completion_length")}
	case "luspo":
		return Aggregation{Mode: "seq-all-token-sum"}
	}
	return Aggregation{}
}

// trlLoss builds the loss of a type at a level.
func trlLoss(c *golden.Case, agg Aggregation) Loss {
	p, kind, level := c.Params, c.Params.String("loss_type"), c.Params.String("importance_sampling_level")
	low, high := p.Float("epsilon_low"), p.Float("epsilon_high")
	switch {
	case strings.Contains(c.Source, "gmpo_trainer"):
		return &GMPO{EpsLow: low, EpsHigh: high, Clip: "token", Normalise: true}
	case kind == "cispo":
		return &CISPO{Cap: high, Level: level, Anchor: Old, Aggregation: agg}
	case kind == "sapo":
		return &SAPO{TauPos: p.Float("sapo_temperature_pos"), TauNeg: p.Float("sapo_temperature_neg"), Level: level, Anchor: Old, Aggregation: agg}
	case kind == "vespo":
		return &VESPO{KPos: p.Float("vespo_k_pos"), LambdaPos: p.Float("vespo_lambda_pos"), KNeg: p.Float("vespo_k_neg"),
			LambdaNeg:       p.Float("vespo_lambda_neg"),
			SequenceWeights: strings.HasPrefix(p.String("vllm_importance_sampling_mode"), "sequence"), Aggregation: agg}
	case kind == "luspo":
		return &LUSPO{EpsLow: low, EpsHigh: high}
	case level == "sequence_token":
		return &GSPOToken{RatioMask: "post", EpsLow: low, EpsHigh: high, Aggregation: agg}
	case level == "sequence":
		return &GSPO{EpsLow: low, EpsHigh: high, Aggregation: agg}
	}
	return &PPOClip{EpsLow: low, EpsHigh: high, Delta: p.FloatOr("delta", 0), Aggregation: agg}
}

// trlWeights reads the vLLM importance sampling.
func trlWeights(p golden.Values) correction.Weighting {
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

func matchTRL(c *golden.Case, k *golden.Check) {
	p, b := c.Params, paperBatch(c)
	if tokens := c.Inputs.FlatOr("adv_tok"); tokens != nil {
		b.Advantage = tokens
	}
	trlCorrect(c, k, b)
	agg := trlAggregation(p)
	l := trlLoss(c, agg)
	out := evaluate(k, l, b)
	if _, ok := l.(*GMPO); ok { // TRL counts a response without a kept token as -A·exp(0), a constant
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
	if v, ok := l.(*VESPO); ok && c.Outputs.Has("phi_seq") {
		f := frame{in: b, active: b.Active(), sg: b.Now.Logp}
		var phi []float64
		for i := range b.Len() {
			x, _ := f.logWeight(i, v.SequenceWeights)
			phi = append(phi, v.phi(max(x, math.Log(1e-8)), f.firstAdvantage(i)))
		}
		k.Vector("phi_seq", phi)
	}
	if beta := p.Float("beta"); beta != 0 {
		if strings.Contains(c.Source, "gmpo_trainer") { // its KL is a mean of row means
			agg = Aggregation{Mode: "grpo"}
		}
		var kl KL = &KLTerm{Coef: beta, In: InLoss, Aggregation: agg, estimator: K3}
		if p.Bool("use_bias_correction_kl") {
			kl = &UnbiasedKL{Coef: beta, In: InLoss, Anchor: Old, Level: p.String("importance_sampling_level"), Aggregation: agg}
		}
		if err := kl.AddLoss(out, b); err != nil {
			k.Fail("%v", err)
		}
		logged := &Grad{} // TRL logs the mean over tokens, whatever the reduction of the loss
		logged.Reset(b.Tokens())
		switch term := kl.(type) {
		case *KLTerm:
			term.Aggregation = Aggregation{}
		case *UnbiasedKL:
			term.Aggregation = Aggregation{}
		}
		if err := kl.AddLoss(logged, b); err != nil {
			k.Fail("%v", err)
		}
		value, _ := logged.Metric("actor/kl_loss")
		k.Metric("metrics", "kl", value)
	}
	if accum := p.Float("current_gradient_accumulation_steps"); accum != 1 && p.String("loss_type") != "dapo" {
		out.Loss /= accum
		for n := range out.DLogp {
			out.DLogp[n] /= accum
		}
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
	metrics(c, k, out)
	if p, ok := l.(*PPOClip); ok && p.Delta == 0 {
		trlClips(c, k, b)
	}
}

// trlClips compares TRL's clip fractions: by sign over tokens, and the extremes
// of the means over each response's tokens.
func trlClips(c *golden.Case, k *golden.Check, b *batch.Batch) {
	clips, _ := clipMasks(b, b.Anchor, 1-c.Params.Float("epsilon_low"), 1+c.Params.Float("epsilon_high"), 0)
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
func trlCorrect(c *golden.Case, k *golden.Check, b *batch.Batch) {
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
		top := &TopEntropy{Share: p.Float("top_entropy_quantile")}
		if err := top.Prepare(b); err != nil {
			k.Fail("%v", err)
		}
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
func compareWeights(c *golden.Case, k *golden.Check, b *batch.Batch) {
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
func compareRows(c *golden.Case, k *golden.Check, b *batch.Batch) {
	got := append([]float64{}, c.Outputs.Flat("off_policy_mask")...)
	for i := range b.Len() {
		from, to := b.Span(i)
		for n := from; n < to; n++ {
			if b.Mask[n] {
				got[i] = count(b.Gate == nil || b.Gate[n])
			}
		}
	}
	k.Vector("off_policy_mask", got)
}

func matchA2PO(c *golden.Case, k *golden.Check) {
	b := golden.Batch(c.Inputs.Matrix("mask"))
	b.Now.Logp, b.LogpRoll, b.Reward = c.Inputs.Flat("logp"), c.Inputs.Flat("ref_logp"), c.Inputs.Flat("rewards")
	size := c.Params.Int("group_size")
	var values []float64
	for i := range b.Reward {
		b.Group = append(b.Group, i/size)
		first := i / size * size
		values = append(values, optimalValue(b.Reward[first:first+size], c.Params.Float("beta1")))
	}
	k.Vector("v_star", values)
	out := evaluate(k, &OAPL{Beta1: c.Params.Float("beta1"), Beta2: c.Params.Float("beta2")}, b)
	k.Scalar("loss", out.Loss)
	k.Vector("grad", out.DLogp)
	for name, ours := range map[string]string{"implicit_reward": "implicit_reward", "advantage": "optimal_advantage"} {
		value, _ := out.Metric(ours)
		k.Metric("metrics", name, value)
	}
}

// matchIWOPD gives the loss log-probs at the temperature and takes its gradient to the logits.
func matchIWOPD(c *golden.Case, k *golden.Check) {
	p, b := c.Params, golden.Batch(c.Inputs.Matrix("mask"))
	logits, vocab := c.Inputs.Flat("logits"), 5
	for i, x := range logits {
		logits[i] = x / p.Float("temperature")
	}
	dist := make([]float64, len(logits))
	for n, token := range c.Inputs.Flat("tokens") {
		row := logits[n*vocab : (n+1)*vocab]
		sum, largest := 0.0, slices.Max(row)
		for _, x := range row {
			sum += math.Exp(x - largest)
		}
		for a, x := range row {
			dist[n*vocab+a] = x - largest - math.Log(sum)
		}
		b.Now.Logp = append(b.Now.Logp, dist[n*vocab+int(token)])
	}
	b.Teacher.Logp, b.LogpRoll = c.Inputs.Flat("teacher_logp"), c.Inputs.FlatOr("rollout_logp")
	l := &IWOPD{Gamma: p.Float("iw_opd_gamma"), Student: "now", Aggregation: Aggregation{Tokens: p.IntOr("num_items_in_batch", 0)}}
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
		value, _ := out.Metric("iw_opd/" + name)
		k.Scalar("iw_opd/"+name, value)
	}
}

// matchAdaptiveEntropy runs the coefficient over the micro-batches of a case, whose
// entropies are given as they are: their gradient to the logits is that of the term entropy.
func matchAdaptiveEntropy(c *golden.Case, k *golden.Check) {
	p := c.Params
	if !p.Bool("use_adaptive_entropy") {
		return
	}
	e := NewAdaptiveEntropy()
	e.Coef, e.Min, e.Max = p.Float("entropy_coef"), p.Float("entropy_coef_min"), p.Float("entropy_coef_max")
	e.Delta, e.Target = p.Float("entropy_coef_delta"), p.Float("entropy_target")
	entropies, micros := c.Inputs.Flat("entropy"), c.Inputs["mask"].([]any)
	steps, at := p.Int("gradient_accumulation_steps"), 0
	var losses, slopes, coefs, lasts []float64
	sum, tokens := 0.0, 0.0
	for m, mask := range micros {
		b := golden.Batch(golden.Values{"mask": mask}.Matrix("mask"))
		if c.Inputs.Has("entropy_mask") {
			for n, kept := range golden.Batch(golden.Values{"mask": c.Inputs["entropy_mask"].([]any)[m]}.Matrix("mask")).Mask {
				b.Mask[n] = b.Mask[n] && kept
			}
		}
		norm := c.Inputs.Flat("normalizer")[m]
		if p.String("loss_type") != "dapo" {
			norm *= max(float64(tokensOf(b)), 1)
		}
		loss := c.Inputs.Float("policy_loss")
		for n, h := range entropies[at : at+b.Tokens()] {
			w := count(b.Mask[n]) / norm
			loss -= e.coefficient() * w * h
			slopes = append(slopes, -e.coefficient()*w)
			sum += count(b.Mask[n]) * h
		}
		tokens += float64(tokensOf(b))
		at += b.Tokens()
		losses = append(losses, loss)
		if (m+1)%steps == 0 {
			e.adapt(sum / max(tokens, 1))
			sum, tokens = 0, 0
		}
		coefs, lasts = append(coefs, e.Coef), append(lasts, e.last)
	}
	k.Vector("loss", losses)
	k.Vector("grad_entropy", slopes)
	k.Vector("entropy_coef", coefs)
	k.Vector("last_world_entropy", lasts)
}
