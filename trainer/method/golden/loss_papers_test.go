package golden

import (
	"math"
	"slices"
	"strings"

	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/loss"
	"driftlab/trainer/method/trace"
)

// truncated is the weight min(exp(old - rollout), cap) that some papers' cases
// are called with.
func truncated(b *batch.Batch, limit float64) []float64 {
	w := make([]float64, b.Tokens())
	for n := range w {
		w[n] = min(math.Exp(b.Anchor[n]-b.LogpRoll[n]), limit)
	}
	return w
}

// modeOf is the aggregation of the case's mode.
func modeOf(c *Case) loss.Aggregation {
	return loss.Aggregation{Mode: c.Params.String("loss_agg_mode")}
}

// allRows is modeOf with means over all rows, empty ones too, as peers other than verl have them.
func allRows(c *Case) loss.Aggregation {
	agg := modeOf(c)
	if mode := map[string]string{"seq-mean-token-sum": "seq-all-token-sum", "seq-mean-token-mean": "grpo"}[agg.Mode]; mode != "" {
		agg.Mode = mode
	}
	return agg
}

func matchASPO(c *Case, k *Check) {
	l := peerLoss("papers/aspo", c.Params, allRows(c)).(*loss.ASPO)
	b := paperBatch(c)
	out := compared(k, l, b)
	for output, name := range map[string]string{
		"clipfrac_upper": "actor/pg_clipfrac", "clipfrac_lower": "actor/pg_clipfrac_lower",
		"neg_dual": "aspo/neg_dual", "pos_dual": "aspo/pos_dual",
	} {
		metric(k, out, output, name)
	}
	// The bound of a positive advantage tells the entropy, if those of low entropy have one of their own.
	l.LowEntropyEpsPos, l.HighEntropyEpsPos = 1, 2
	b.Advantage = slices.Repeat([]float64{1}, b.Tokens())
	low := make([]bool, b.Tokens())
	for n, bound := range noted(k, l, b, "high") {
		low[n] = bound == 1+l.LowEntropyEpsPos
	}
	k.Mask("low_entropy_mask", low)
}

func matchCEGPPO(c *Case, k *Check) {
	out := compared(k, peerLoss("papers/ce_gppo", c.Params, allRows(c)), paperBatch(c))
	for _, name := range []string{"pg_clipfrac", "ppo_kl", "pg_clipfrac_lower"} {
		metric(k, out, name, "actor/"+name)
	}
}

func matchCTPO(c *Case, k *Check) {
	p := c.Params
	name := "papers/ctpo"
	if strings.HasSuffix(c.Source, "_la_impl") {
		name = "papers/ctpo_la"
	}
	l := peerLoss(name, p, modeOf(c)).(*loss.CTPO)
	if p.String("ratio_mode") == "geomean" {
		l.Form = "geomean"
	}
	b := paperBatch(c)
	if p.Has("rollout_is_weights") {
		b.Weight = truncated(b, 2)
	}
	out := evaluate(k, l, b)
	if _, raised := c.Outputs["error"]; raised {
		return // listed
	}
	valueAndGradient(k, out)
	lossMetrics(c, k, out)
}

func matchStableRL(c *Case, k *Check) {
	p := c.Params
	mode, recompute := strings.CutSuffix(p.String("loss_mode"), "_recompute")
	l := map[string]func() *loss.DPPO{"dppo_binary_tv": loss.NewDPPOTV, "dppo_binary_kl": loss.NewDPPOKL, "ppo": loss.NewPPOMask, "pg_no_mask": loss.NewDPPOTV}[mode]()
	l.DeltaLow, l.DeltaHigh, l.Cap, l.LogClamp = p.Float("clip_ratio_low"), p.Float("clip_ratio_high"), p.Float("clip_ratio_c"), 0
	l.Aggregation.Mode = p.String("loss_agg_mode")
	if recompute {
		l.MaskAnchor = loss.Old
	}
	if mode == "pg_no_mask" {
		l.DeltaLow, l.DeltaHigh = math.Inf(1), math.Inf(1)
	}
	b := paperBatch(c)
	out := compared(k, l, b)
	valid := slices.Clone(b.Mask)
	for n, token := range explained(k, l, b).Tokens {
		valid[n] = valid[n] && token.Branch != trace.Dropped
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
func matchGMPOOfficial(c *Case, k *Check) {
	l := &loss.GMPO{EpsLow: c.Params.Float("cliprange"), EpsHigh: c.Params.Float("cliprange"), Clip: "token", Normalise: true}
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

func matchM2PO(c *Case, k *Check) {
	out := compared(k, peerLoss("papers/m2po", c.Params, modeOf(c)), paperBatch(c))
	metric(k, out, "pg_clipfrac", "actor/pg_clipfrac")
	metric(k, out, "ppo_kl", "actor/ppo_kl")
	for name := range c.Outputs.Sub("stats") {
		value, _ := out.Metric(name)
		k.Metric("stats", name, value)
	}
}

func matchVESPO(c *Case, k *Check) {
	b := paperBatch(c)
	if c.Params.Has("rollout_is_weights") {
		b.Weight = truncated(b, 2)
		k.Vector("rollout_is_weights_used", b.Weight)
	}
	lossMetrics(c, k, compared(k, peerLoss("papers/vespo", c.Params, modeOf(c)), b))
}
