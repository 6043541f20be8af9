package loss

import (
	"math"

	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/golden"
)

var paperMatchers = []golden.Matcher{
	{File: "papers/aspo_archer*.json", Match: matchASPO},
	{File: "papers/ce_gppo*.json", Match: matchCEGPPO},
	{File: "papers/ctpo*.json", Match: matchCTPO},
	{File: "papers/dppo_stable_rl*.json", Match: matchStableRL},
	{File: "papers/gmpo_official*.json", Match: matchGMPOOfficial},
	{File: "papers/m2po*.json", Match: matchM2PO},
	{File: "papers/vespo*.json", Match: matchVESPO},
}

// paperBatch reads the columns of every folder but verl's. An advantage per
// response is given to each of its tokens.
func paperBatch(c *golden.Case) *batch.Batch {
	mask := c.Inputs.Matrix("mask")
	b := golden.Batch(mask)
	b.Now.Logp = c.Inputs.FlatOr("logp")
	b.Anchor = c.Inputs.FlatOr("old_logp")
	b.LogpRoll = c.Inputs.FlatOr("rollout_logp")
	b.Ref.Logp = c.Inputs.FlatOr("ref_logp")
	b.Now.Entropy = c.Inputs.FlatOr("entropy")
	b.Advantage = c.Inputs.FlatOr("adv")
	for i, a := range c.Inputs.FlatOr("adv_seq") {
		for range mask[i] {
			b.Advantage = append(b.Advantage, a)
		}
	}
	return b
}

// truncated is the weight min(exp(old - rollout), cap) that some papers' cases
// are called with.
func truncated(b *batch.Batch, limit float64) []float64 {
	w := make([]float64, b.Tokens())
	for n := range w {
		w[n] = min(math.Exp(b.Anchor[n]-b.LogpRoll[n]), limit)
	}
	return w
}

func matchASPO(c *golden.Case, k *golden.Check) {
	p := c.Params
	l := &ASPO{
		LowEntropyEpsNeg: p.Float("negative_low_entropy_clip_ratio_low"), HighEntropyEpsNeg: p.Float("negative_high_entropy_clip_ratio_low"),
		LowEntropyEpsPos: p.Float("positive_low_entropy_clip_ratio_high"), HighEntropyEpsPos: p.Float("positive_high_entropy_clip_ratio_high"),
		CapNeg: p.Float("negative_clip_ratio_c"), CapPos: p.Float("positive_clip_ratio_c"),
		Quantile: p.Float("token_entropy_quantile"), Aggregation: Aggregation{Mode: p.String("loss_agg_mode")},
	}
	// The authors' fork of verl takes plain means over all rows.
	if mode := map[string]string{"seq-mean-token-sum": "seq-all-token-sum", "seq-mean-token-mean": "grpo"}[l.Aggregation.Mode]; mode != "" {
		l.Aggregation.Mode = mode
	}
	b := paperBatch(c)
	out := evaluate(k, l, b)
	k.Scalar("loss", out.Loss)
	k.Vector("grad", out.DLogp)
	for output, name := range map[string]string{
		"clipfrac_upper": "actor/pg_clipfrac", "clipfrac_lower": "actor/pg_clipfrac_lower",
		"neg_dual": "aspo/neg_dual", "pos_dual": "aspo/pos_dual",
	} {
		value, _ := out.Metric(name)
		k.Scalar(output, value)
	}
	f, err := start(&Grad{}, b, Aggregation{}, batch.Entropy)
	if err != nil {
		k.Fail("%v", err)
	}
	low := make([]bool, b.Tokens())
	for i := range b.Len() {
		threshold := f.entropyQuantile(i, l.Quantile)
		from, to := b.Span(i)
		for n := from; n < to; n++ {
			low[n] = b.Mask[n] && b.Now.Entropy[n] <= threshold
		}
	}
	k.Mask("low_entropy_mask", low)
}

func matchCEGPPO(c *golden.Case, k *golden.Check) {
	p := c.Params
	l := &CEGPPO{EpsLow: p.Float("clip_ratio_low"), EpsHigh: p.Float("clip_ratio_high"), DualClip: p.Float("clip_ratio_c"),
		BetaLow: p.Float("gppo_loss_beta1"), BetaHigh: p.Float("gppo_loss_beta2"), Aggregation: Aggregation{Mode: p.String("loss_agg_mode")}}
	if l.Aggregation.Mode == "seq-mean-token-sum" { // the authors' fork of verl takes plain means over all rows
		l.Aggregation.Mode = "seq-all-token-sum"
	}
	out := evaluate(k, l, paperBatch(c))
	k.Scalar("loss", out.Loss)
	k.Vector("grad", out.DLogp)
	for _, name := range []string{"pg_clipfrac", "ppo_kl", "pg_clipfrac_lower"} {
		value, _ := out.Metric("actor/" + name)
		k.Scalar(name, value)
	}
}

func matchCTPO(c *golden.Case, k *golden.Check) {
	p := c.Params
	l := &CTPO{Low: p.Float("la_clip_low"), High: p.Float("la_clip_high"), Dual: p.Float("la_clip_c"), Power: p.Float("clip_ratio_la_power"),
		Form: "product", Aggregation: Aggregation{Mode: p.String("loss_agg_mode")}}
	if p.String("ratio_mode") == "geomean" {
		l.Form = "geomean"
	}
	if !hasSuffix(c.Source, "_la_impl") {
		l.RatioClip, l.Low, l.High, l.Dual = true, p.Float("clip_ratio_low"), p.Float("clip_ratio_high"), p.Float("clip_ratio_c")
	}
	b := paperBatch(c)
	if p.Has("rollout_is_weights") {
		b.Weight = truncated(b, 2)
	}
	out := evaluate(k, l, b)
	if _, raised := c.Outputs["error"]; raised {
		return // listed
	}
	k.Scalar("loss", out.Loss)
	k.Vector("grad", out.DLogp)
	metrics(c, k, out)
}

func hasSuffix(s, suffix string) bool {
	return len(s) >= len(suffix) && s[len(s)-len(suffix):] == suffix
}

func matchStableRL(c *golden.Case, k *golden.Check) {
	p := c.Params
	l := &DPPO{DeltaLow: p.Float("clip_ratio_low"), DeltaHigh: p.Float("clip_ratio_high"), Cap: p.Float("clip_ratio_c"),
		Anchor: Roll, MaskAnchor: Roll, Aggregation: Aggregation{Mode: p.String("loss_agg_mode")}}
	mode := p.String("loss_mode")
	if hasSuffix(mode, "_recompute") {
		l.MaskAnchor, mode = Old, mode[:len(mode)-len("_recompute")]
	}
	switch mode {
	case "dppo_binary_tv":
		l.outside = outsideTV
	case "dppo_binary_kl":
		l.outside = outsideKL
	case "ppo":
		l.outside = outsideRatio
	case "pg_no_mask":
		l.outside = func(_, _, _, _, _ float64) bool { return false }
	}
	b := paperBatch(c)
	out := evaluate(k, l, b)
	k.Scalar("loss", out.Loss)
	k.Vector("grad", out.DLogp)
	valid := make([]bool, b.Tokens())
	for n, m := range b.Mask {
		valid[n] = m && !l.outside(b.Now.Logp[n], l.MaskAnchor.Of(b)[n], b.Advantage[n], l.DeltaLow, l.DeltaHigh)
	}
	k.Mask("valid_mask", valid)
	// Stable-RL's lower fraction counts masked tokens with A ≤ 0, verl's the capped ones.
	for name, ours := range map[string]string{"actor/pg_clipfrac": "actor/pg_clipfrac", "actor/ppo_kl": "actor/ppo_kl",
		"actor/pg_clipfrac_lower": "dppo/masked_negative"} {
		value, _ := out.Metric(ours)
		k.Metric("metrics", name, value)
	}
}

// matchGMPOOfficial runs one response at a time, as the authors' loop does.
func matchGMPOOfficial(c *golden.Case, k *golden.Check) {
	l := &GMPO{EpsLow: c.Params.Float("cliprange"), EpsHigh: c.Params.Float("cliprange"), Clip: "token", Normalise: true}
	switch c.Params.String("critic_type_modify") {
	case "gmpo_noclip":
		l.Clip = "none"
	case "gmpo_seqclip":
		l.Clip = "sequence"
	case "gmpo_without_norm":
		l.Normalise = false
	}
	whole := paperBatch(c)
	var losses, grads []float64
	for i := range whole.Len() {
		from, to := whole.Span(i)
		one := &batch.Batch{
			Sampled:   batch.Sampled{Offsets: []int{0, to - from}, Mask: whole.Mask[from:to]},
			Now:       batch.Scored{Logp: whole.Now.Logp[from:to]},
			Corrected: batch.Corrected{Anchor: whole.Anchor[from:to]},
			Graded:    batch.Graded{Advantage: whole.Advantage[from:to]},
		}
		out := evaluate(k, l, one)
		if tokensOf(one) == 0 { // we return 0
			out.Loss = math.NaN() // the authors' 0/0
			if !l.Normalise {
				out.Loss = -one.Advantage[0] // of exp(0): nothing is divided
			}
		}
		losses = append(losses, out.Loss)
		if want := c.Outputs.Flat("grad")[from:to]; tokensOf(one) == 0 && allNaN(want) {
			copy(out.DLogp, want)
		}
		grads = append(grads, out.DLogp...)
	}
	k.Vector("loss_per_sequence", losses)
	k.Vector("grad", grads)
}

func allNaN(x []float64) bool {
	for _, v := range x {
		if !math.IsNaN(v) {
			return false
		}
	}
	return true
}

func matchM2PO(c *golden.Case, k *golden.Check) {
	p := c.Params
	l := &M2PO{Budget: p.Float("M2_budget"), MiniLow: p.FloatOr("miniclip_low", 0), MiniHigh: p.FloatOr("miniclip_high", 0),
		Aggregation: Aggregation{Mode: p.String("loss_agg_mode")}}
	out := evaluate(k, l, paperBatch(c))
	k.Scalar("loss", out.Loss)
	k.Vector("grad", out.DLogp)
	clips, _ := out.Metric("actor/pg_clipfrac")
	k.Scalar("pg_clipfrac", clips)
	kl, _ := out.Metric("actor/ppo_kl")
	k.Scalar("ppo_kl", kl)
	for name := range c.Outputs.Sub("stats") {
		value, _ := out.Metric(name)
		k.Metric("stats", name, value)
	}
}

func matchVESPO(c *golden.Case, k *golden.Check) {
	v := c.Params.Sub("vespo")
	l := &VESPO{KPos: v.Float("k_pos"), LambdaPos: v.Float("lambda_pos"), KNeg: v.Float("k_neg"), LambdaNeg: v.Float("lambda_neg"),
		Aggregation: Aggregation{Mode: c.Params.String("loss_agg_mode")}}
	b := paperBatch(c)
	if c.Params.Has("rollout_is_weights") {
		b.Weight = truncated(b, 2)
		k.Vector("rollout_is_weights_used", b.Weight)
	}
	out := evaluate(k, l, b)
	k.Scalar("loss", out.Loss)
	k.Vector("grad", out.DLogp)
	metrics(c, k, out)
}
