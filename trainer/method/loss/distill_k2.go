package loss

import (
	"math"

	"driftlab/precision/elementary"
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/masked"
)

// DistillK2 draws the policy towards a teacher on its own samples, as a loss next to
// the policy loss.
//
// Its value is 2 to 4.5 per token at a gap of 2 to 3 nats, where that of a policy loss
// with centred advantages is near 0; its derivative is d, which is what a raw k1 has as
// an advantage on-policy: it is coef that sets them apart, and the normalisation of the
// advantage. Guided are the tokens of the recipe's section distillation, all without it.
//
// Where the clamp acts the derivative is 0: inferred.
type DistillK2 struct {
	// Coef is β (0.1 there, found to be too much).
	Coef float64 `yaml:"coef" default:"0.1" range:"[0,inf)"`
	// RatioClip bounds the ratio of the two probabilities either way; 0 is no bound.
	RatioClip float64 `yaml:"ratio_clip" range:"0=none|(1,inf)"`
	// Aggregation over tokens.
	Aggregation Aggregation `yaml:"aggregation"`
}

var distillK2Spec = method.Spec{
	Name: "distill_k2", Aliases: []string{"opd_k2"}, Unit: method.Token,
	Does:     "Adds half the squared log-ratio to a teacher, on the policy's own samples.",
	When:     "Use it to combine a teacher signal with a reward; coef sets the balance.",
	Source:   "a practitioner's account of on-policy distillation; KDRL, arXiv:2506.08946",
	Formula:  "L += coef·Σ agg·guided·d²/2, d = clamp(logp - teacher, ±log ratio_clip)",
	Gradient: "coef·agg·guided·d, 0 where the clamp acts",
	Needs:    batch.Columns{batch.LogpTeacher}, May: method.If("guided tokens, where the recipe has a section distillation", batch.Guided),
	Reconstruction: "the source clamps the ratio of teacher and student without saying what becomes of the gradient there: it is 0 here, as PPO's",
}

// Prepare does nothing.
func (k *DistillK2) Prepare(*batch.Batch) error { return nil }

// AddLoss adds the term, and logs its value and its share of the size of the gradient
// with respect to the log-probs.
func (k *DistillK2) AddLoss(out *Grad, in *batch.Batch) error {
	if err := in.Require(batch.Mask, batch.Logp, batch.LogpTeacher); err != nil {
		return err
	}
	rows := out.work(0, in.Len())
	if err := k.Aggregation.RowWeights(rows, in, &out.groups); err != nil {
		return err
	}
	bound := math.Inf(1)
	if k.RatioClip > 0 {
		bound = elementary.Log(k.RatioClip)
	}
	var sum, tokens, clipped, own, added float64
	for i, w := range rows {
		for n := range in.Where(i, in.Active()) {
			own += math.Abs(out.DLogp[n])
			if in.Guided != nil && !in.Guided[n] {
				continue
			}
			tokens++
			d := in.Now.Logp[n] - in.Teacher.Logp[n]
			if held := clamp(d, -bound, bound); held != d {
				clipped++
				sum += float64(w * held * held / 2)
				continue
			}
			sum += float64(w * d * d / 2)
			slope := float64(k.Coef * w * d)
			out.DLogp[n] += slope
			added += math.Abs(slope)
		}
	}
	out.Loss += float64(k.Coef * sum)
	out.Add("actor/kd_loss", sum)
	out.Add("actor/kd_coef", k.Coef)
	out.Add("actor/kd_tokens", guidedShare(in, tokens))
	out.Add("actor/kd_share", gradientShare(own, added))
	if k.RatioClip > 0 {
		out.Add("actor/kd_clipfrac", clipped/max(tokens, 1))
	}
	return nil
}

// guidedShare is the share of active tokens that a distillation term reads.
func guidedShare(in *batch.Batch, tokens float64) float64 {
	return tokens / max(float64(masked.Count(in.Active())), 1)
}

// gradientShare is what a term added of the size of a gradient, own of the rest.
func gradientShare(own, added float64) float64 {
	if added == 0 {
		return 0
	}
	return added / (own + added)
}
