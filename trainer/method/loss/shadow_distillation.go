package loss

import (
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
)

// ShadowDistillation draws the dense policy towards its shadow, the same weights
// with the rollout engine's retention masks replayed. The policy loss then acts on the
// shadow, which is what sampled; this term carries its progress over to full attention. It
// is evaluated on a second, dense forward pass, whose gradient is added: OnDense.
type ShadowDistillation struct {
	// Coef is the coefficient λ.
	Coef float64 `yaml:"coef" default:"0.1" range:"[0,inf)"`
	// Aggregation over tokens.
	Aggregation Aggregation `yaml:"aggregation"`
}

var shadowDistillationSpec = method.Spec{
	Name: "shadow_distillation", Aliases: []string{"smd"}, Unit: method.Token,
	Does:     "Adds a KL term that draws the full-attention policy towards the same weights under the rollout engine's KV cache retention masks.",
	When:     "Use it if the rollout engine compresses its KV cache (rollout.kv_retention).",
	Source:   "arXiv:2605.06850 (Shadow Mask Distillation), the authors' README",
	Formula:  "L += coef·Σ agg·KL(dense‖sg[shadow]), over the whole vocabulary",
	Gradient: "d L/d dense logit_a = coef·agg·p(a)·(log p(a) - log s(a) - KL)",
	Needs:    batch.Columns{batch.Dist, batch.DistShadow},
}

// OnDense marks a term of the dense pass that a learner makes next to a shadow.
func (s *ShadowDistillation) OnDense() {}

// Prepare does nothing.
func (s *ShadowDistillation) Prepare(*batch.Batch) error { return nil }

// AddLoss adds the term and logs actor/shadow_kl.
func (s *ShadowDistillation) AddLoss(out *Grad, in *batch.Batch) error {
	if err := in.Require(batch.Mask, batch.Dist, batch.DistShadow); err != nil {
		return err
	}
	sum, err := addFullKL(out, in, in.Shadow.Dist, s.Aggregation, s.Coef)
	if err != nil {
		return err
	}
	out.Add("actor/shadow_kl", sum)
	return nil
}

// DenseTerm is a term of the dense pass that a learner makes next to a shadow.
type DenseTerm interface {
	Term
	// OnDense marks it.
	OnDense()
}

// Dense is the loss of the dense pass: its terms and nothing else.
type Dense []DenseTerm

// Eval implements Loss.
func (d Dense) Eval(out *Grad, in *batch.Batch) error {
	out.Reset(in.Tokens())
	for _, t := range d {
		if err := t.AddLoss(out, in); err != nil {
			return err
		}
	}
	return nil
}
