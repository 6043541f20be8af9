package learner_test

import (
	"math"

	"driftlab/trainer/batch"
	"driftlab/trainer/loss"
)

// linear is a policy loss with an arbitrary coefficient per token and,
// optionally, an entropy term, which needs the gradient by logits:
//
//	Loss = Σ_n c_n logp_n + entropy·Σ_n H_n,   dH/dlogits_v = -p_v (log p_v + H)
type linear struct {
	c       []float64 // nil means 1 everywhere
	entropy float64
}

func (o *linear) at(n int) float64 {
	if o.c == nil {
		return 1
	}
	return o.c[n]
}

// Eval implements loss.Loss.
func (o *linear) Eval(out *loss.Grad, b *batch.Batch) error {
	out.Reset(b.Tokens())
	for n, logp := range b.Logp {
		out.Loss += o.at(n) * logp
		out.DLogp[n] = o.at(n)
	}
	if o.entropy == 0 {
		return nil
	}
	if err := b.Require("Dist", "Entropy"); err != nil {
		return err
	}
	out.NeedLogits(b.Tokens(), b.Vocab)
	for n, h := range b.Entropy {
		out.Loss += o.entropy * h
		for v := range b.Vocab {
			lp := float64(b.Dist[n*b.Vocab+v])
			if math.IsInf(lp, -1) {
				continue // outside a replayed support
			}
			out.DLogits[n*b.Vocab+v] -= o.entropy * exp(lp) * (lp + h)
		}
	}
	return nil
}
