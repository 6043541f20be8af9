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
	_, function, _ := strings.Cut(c.Source, "+")
	agg := loss.Aggregation{Tokens: c.Params.IntOr("rl_scale", c.Params.IntOr("scale", 0))}
	finishPrime(c, k, peerLoss("prime/"+strings.TrimSuffix(function, "_loss_fn"), c.Params, agg), primeBatch(c))
}

func matchPrimeMasked(c *Case, k *Check) {
	l := peerLoss("prime/masked", c.Params, loss.Aggregation{Tokens: c.Params.Int("loss_scale")}).(*loss.PrimeMasked)
	l.Sequence = c.Params.String("ratio_type") == "sequence"
	finishPrime(c, k, l, primeBatch(c))
}

func matchPrimeGeo(c *Case, k *Check) {
	l := peerLoss("prime/geo", c.Params, loss.Aggregation{Tokens: c.Params.Int("loss_scale")}).(*loss.PrimeGeo)
	l.Sequence = c.Params.String("ratio_type") == "sequence"
	if !c.Inputs.Has("teacher_logp") {
		l.TeacherTau = 0 // prime-rl ignores it without a teacher
	}
	finishPrime(c, k, l, primeBatch(c))
}
