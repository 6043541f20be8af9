package loss

import (
	"driftlab/precision/elementary"
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
)

// RLSD scales the advantage of every token by how much more likely a teacher finds it
// than the old policy; no sign changes.
//
// A token with A < 0 that the teacher supports is blamed less. The loss reads the scaled
// advantages; corrections, and what is logged of advantages, read those of the estimator.
type RLSD struct {
	// Lambda is the share of the teacher's factor.
	Lambda float64 `yaml:"lambda" default:"0.5" range:"[0,1]"`
	// ClipRange bounds the teacher's factor to 1 ± clip_range.
	ClipRange float64 `yaml:"clip_range" default:"0.2" range:"[0,inf)"`
	// Warmup is the number of steps over which lambda rises from 0; Decay that over which
	// it falls back to 0 afterwards, 0 for never.
	Warmup int `yaml:"warmup" range:"[0,inf]"`
	Decay  int `yaml:"decay" range:"[0,inf]"`
	// NegativeOnly leaves tokens with A ≥ 0 alone.
	NegativeOnly bool `yaml:"negative_only"`

	scaled []float64
}

var rlsdSpec = method.Spec{
	Name: "rlsd", Unit: method.Token,
	Does:     "Scales the advantages by the clipped ratio of teacher and old policy on the sampled tokens, without a change of sign.",
	When:     "Use it to let a teacher say which tokens of a response deserve its reward or its blame.",
	Source:   "arXiv:2604.03128 (not read); ms-swift advantage_reweight rlsd",
	Formula:  "A ← A·((1-λ) + λ·clip(exp(sign(A)·(teacher - old)), 1-c, 1+c)), λ by step: warm-up, then decay",
	Gradient: "that of the loss with the scaled advantage; nothing of its own",
	Needs:    batch.Columns{batch.LogpTeacher, batch.Anchor, batch.Advantage},
}

// Prepare scales the advantages of this evaluation.
func (r *RLSD) Prepare(in *batch.Batch) error {
	if err := in.Require(batch.Mask, batch.Advantage, batch.LogpTeacher, batch.Anchor); err != nil {
		return err
	}
	lambda := r.lambda(in.Step)
	r.scaled = append(r.scaled[:0], in.Advantage...)
	for n, a := range in.Advantage {
		if !in.Mask[n] || r.NegativeOnly && a >= 0 {
			continue
		}
		factor := elementary.Exp(sign(a) * (in.Teacher.Logp[n] - in.Anchor[n]))
		r.scaled[n] = a * (1 - lambda + float64(lambda*clamp(factor, 1-r.ClipRange, 1+r.ClipRange)))
	}
	in.Advantage = r.scaled
	return nil
}

// lambda is that of a training step.
func (r *RLSD) lambda(step int) float64 {
	switch after := step - r.Warmup; {
	case after < 0:
		return r.Lambda * float64(step) / float64(r.Warmup)
	case r.Decay > 0:
		return r.Lambda * max(1-float64(after)/float64(r.Decay), 0)
	}
	return r.Lambda
}

// AddLoss logs lambda.
func (r *RLSD) AddLoss(out *Grad, in *batch.Batch) error {
	out.Add("rlsd_lambda", r.lambda(in.Step))
	return nil
}
