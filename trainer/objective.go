package trainer

import (
	"driftlab/engine/learner"
	"driftlab/trainer/engines"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/correction"
	"driftlab/trainer/method/loss"
	"driftlab/trainer/method/masked"
	"driftlab/trainer/method/metrics"
	"driftlab/trainer/recipe"
)

// objective is what the learner minimises: the corrections that are due at
// every gradient step, the policy loss, its further terms and the KL term. It
// is a loss.Loss, the last operation of the learner's graph.
type objective struct {
	correction *correction.Pipeline
	loss       loss.Loss
	terms      []loss.Term
	kl         loss.KL
	dense      loss.Loss // of the dense pass of a shadow; nil for none
	// interpolates says that the anchor is A-3PO's (arXiv:2512.06547), which lies
	// between mu and the policy of every gradient; prox is its memory.
	interpolates bool
	prox         []float64
	gate         []bool
	rejection    metrics.Rejection // over the gradient steps of a step
}

func newObjective(r recipe.Recipe, c *correction.Pipeline) objective {
	o := objective{correction: c, loss: r.Loss.New(), kl: r.KL.New()}
	var dense loss.Dense
	for _, t := range r.Terms {
		term := t.New()
		if d, ok := term.(loss.DenseTerm); ok {
			dense = append(dense, d)
		} else {
			o.terms = append(o.terms, term)
		}
	}
	if dense != nil {
		o.dense = dense
	}
	return o
}

func (o *objective) Eval(out *loss.Grad, b *batch.Batch) error {
	if err := checkInputs(b); err != nil {
		return err
	}
	if o.interpolates {
		o.prox = loss.Interpolate(o.prox, b, b.Now.Logp)
		b.Anchor = o.prox
	}
	if len(o.terms) > 0 {
		b.Gate = o.openGate(b)
	}
	if err := o.correction.Apply(b, correction.AtStep); err != nil {
		return err
	}
	if len(o.terms) > 0 && b.Gate == nil {
		b.Gate = o.openGate(b)
	}
	err := loss.Evaluate(out, b, o.loss, o.kl, o.terms...)
	o.rejection.Add(b, out.Rejected())
	return err
}

// checkInputs returns a learner.NonFinite that names the first column that came to
// the loss with a NaN or an infinity.
func checkInputs(b *batch.Batch) error {
	for _, column := range []struct {
		name   string
		values []float64
	}{
		{"logp_rollout", b.LogpRoll}, {"logp_old", b.Old.Logp}, {"advantages", b.Advantage}, {"importance weights", b.Weight},
	} {
		for n, x := range column.values {
			if value := engines.NonFinite(x); value != "" && b.Mask[n] {
				return &learner.NonFinite{Tensor: column.name, Value: value, Cause: "the batch came with it; look at the stage that filled this column"}
			}
		}
	}
	return nil
}

// openGate is the gate as the batch stage of the correction left it: terms may
// close gates for one gradient step only.
func (o *objective) openGate(b *batch.Batch) []bool {
	o.gate = o.gate[:0]
	for n := range b.Tokens() {
		o.gate = append(o.gate, b.BatchGate == nil || b.BatchGate[n])
	}
	return o.gate
}

// likelihood is the supervised loss of the warm start: the mean over response
// tokens of -log p(token).
type likelihood struct{}

func (likelihood) Eval(out *loss.Grad, b *batch.Batch) error {
	out.Reset(b.Tokens())
	n := masked.Count(b.Mask)
	for i := range masked.Kept(b.Mask) {
		out.Loss -= b.Now.Logp[i] / float64(n)
		out.DLogp[i] = -1 / float64(n)
	}
	return nil
}
