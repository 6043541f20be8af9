package learner_test

import (
	"errors"
	"math"

	"driftlab/engine/column"
)

// linear is an objective with an arbitrary coefficient per token and,
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

// Eval implements learner.Objective.
func (o *linear) Eval(out *column.Grad, now *column.Scored) error {
	tokens := len(now.Logp)
	out.Reset(tokens)
	for n, logp := range now.Logp {
		out.Loss += o.at(n) * logp
		out.DLogp[n] = o.at(n)
	}
	if o.entropy == 0 {
		return nil
	}
	if len(now.Dist) == 0 || len(now.Entropy) != tokens {
		return errors.New("distributions and entropies have not been recorded")
	}
	vocab := len(now.Dist) / tokens
	out.NeedLogits(tokens, vocab)
	for n, h := range now.Entropy {
		out.Loss += o.entropy * h
		for v, lp := range row(now.Dist, n, vocab) {
			if math.IsInf(lp, -1) {
				continue // outside a replayed support
			}
			out.DLogits[n*vocab+v] -= o.entropy * exp(lp) * (lp + h)
		}
	}
	return nil
}

// divergence draws the dense policy towards its shadow:
//
//	Loss = c·Σ_n K_n,   K_n = Σ_v p_v (log p_v - log s_v),   dK_n/dlogits_v = p_v (log p_v - log s_v - K_n)
type divergence struct {
	c      float64
	shadow *column.Scored
}

// Eval implements learner.Objective.
func (o *divergence) Eval(out *column.Grad, now *column.Scored) error {
	tokens := len(now.Logp)
	vocab := len(now.Dist) / tokens
	out.Reset(tokens)
	out.NeedLogits(tokens, vocab)
	for n := range tokens {
		shadow := row(o.shadow.Dist, n, vocab)
		var k float64
		for v, lp := range row(now.Dist, n, vocab) {
			k += exp(lp) * (lp - shadow[v])
		}
		out.Loss += o.c * k
		for v, lp := range row(now.Dist, n, vocab) {
			out.DLogits[n*vocab+v] = o.c * exp(lp) * (lp - shadow[v] - k)
		}
	}
	out.Metrics = append(out.Metrics, column.Metric{Name: "divergence", Value: out.Loss})
	return nil
}

// row is row n of a matrix of that width, in double precision.
func row(m []float32, n, width int) []float64 {
	out := make([]float64, width)
	for i, x := range m[n*width : (n+1)*width] {
		out[i] = float64(x)
	}
	return out
}
