package golden

import (
	"strings"

	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/loss"
)

// primeBatch reads prime-rl's columns. A weight of 0 removes the token.
func primeBatch(c *Case) *batch.Batch {
	b := Batch(c.Inputs.Matrix("mask"))
	b.Now.Logp, b.LogpRoll = c.Inputs.Flat("trainer_logp"), c.Inputs.Flat("inference_logp")
	b.Advantage, b.Teacher.Logp = c.Inputs.FlatOr("adv"), c.Inputs.FlatOr("teacher_logp")
	b.Ref.Logp = c.Inputs.FlatOr("ref_logp")
	for _, key := range []string{"rl_weights", "weights"} {
		if c.Inputs.Has(key) {
			b.Weight = c.Inputs.Flat(key)
		}
	}
	for n, w := range b.Weight {
		b.Mask[n] = b.Mask[n] && w != 0
	}
	return b
}

// finishPrime compares value, gradient and the means of the listed metrics.
func finishPrime(c *Case, k *Check, l loss.Loss, b *batch.Batch) {
	out := evaluate(k, l, b)
	k.Scaled("loss", out.Loss, largestTerm(out))
	k.Vector("grad", out.DLogp)
	for name := range c.Outputs.Sub("metrics") {
		if value, ok := out.Metric(strings.TrimPrefix(name, "ref_kl/")); ok {
			k.MetricMean("metrics", name, value)
		}
	}
}

func matchPrimeHead(c *Case, k *Check) {
	p := c.Params
	agg := loss.Aggregation{Tokens: p.IntOr("rl_scale", p.IntOr("scale", 0))}
	var l loss.Loss
	switch {
	case strings.HasSuffix(c.Source, "+default_loss_fn"):
		l = &loss.PrimeDPPO{DeltaLow: p.Float("dppo_mask_low"), DeltaHigh: p.Float("dppo_mask_high"), AdvTau: p.Float("adv_tau"),
			KLTau: p.Float("kl_tau"), Aggregation: agg}
	case strings.HasSuffix(c.Source, "+ipo_loss_fn"):
		l = &loss.IPO{Delta: p.Float("ipo_threshold"), AdvTau: p.Float("adv_tau"), KLTau: p.Float("kl_tau"), Aggregation: agg}
	case strings.HasSuffix(c.Source, "+ref_kl_loss_fn"):
		l = &loss.RefKL{Delta: 0.2, KLTau: 1e-3, Aggregation: agg}
	case strings.HasSuffix(c.Source, "+ce_loss_fn"):
		l = &loss.CrossEntropy{Aggregation: agg}
	}
	finishPrime(c, k, l, primeBatch(c))
}

func matchPrimeMasked(c *Case, k *Check) {
	p := c.Params
	finishPrime(c, k, &loss.PrimeMasked{
		Low: p.Float("mask_ratio_low"), High: p.Float("mask_ratio_high"), Veto: p.Float("sequence_mask_ratio_low"),
		Sequence: p.String("ratio_type") == "sequence", LengthNorm: p.Bool("ratio_length_norm"),
		Aggregation: loss.Aggregation{Tokens: p.Int("loss_scale")},
	}, primeBatch(c))
}

func matchPrimeGeo(c *Case, k *Check) {
	p := c.Params
	l := &loss.PrimeGeo{
		Low: p.Float("token_mask_low"), High: p.Float("token_mask_high"), GeoLow: p.Float("geo_mask_low"), GeoHigh: p.Float("geo_mask_high"),
		VetoLow: p.Float("sequence_mask_low"), VetoHigh: p.Float("sequence_mask_high"), Clip: p.Float("sequence_clip_high"),
		Sequence: p.String("ratio_type") == "sequence", AdvTau: p.Float("adv_tau"), TeacherTau: p.Float("teacher_tau"), KLTau: p.Float("kl_tau"),
		Aggregation: loss.Aggregation{Tokens: p.Int("loss_scale")},
	}
	if !c.Inputs.Has("teacher_logp") {
		l.TeacherTau = 0 // prime-rl ignores it without a teacher
	}
	finishPrime(c, k, l, primeBatch(c))
}
