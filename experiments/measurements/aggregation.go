package measurements

import (
	"math"

	"driftlab/experiments/study/claims/claim"
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/loss"
)

// weightSpreads is how much the weight of a token's gradient varies over responses, by aggregation of the loss.
type weightSpreads struct {
	Aggregations []string
	Groups       []int // of the full, the quick and the tiny size
}

// Measure reads the weights off the losses on a batch of the chain task.
func (m *weightSpreads) Measure(e *claim.Env, o *claim.Observation) {
	p := e.Base(0)
	b := graded(e, p, numerics("fp32"), numerics("fp32"), m.Groups[e.Size])
	b.Now.Logp = b.Old.Logp
	for _, name := range m.Aggregations {
		o.Append("spread of the weight", weightSpread(b, name))
	}
}

// weightSpread is the relative spread over responses of what an aggregation
// holds constant: d loss/d logp per unit of advantage, times the length for the
// form that divides by it.
func weightSpread(b *batch.Batch, aggregation string) float64 {
	l := method.New[loss.PPOClip]()
	claim.StopOn(l.Aggregation.UnmarshalText([]byte(aggregation)))
	var out loss.Grad
	claim.StopOn(l.Eval(&out, b))
	low, high := math.Inf(1), math.Inf(-1)
	for i := range b.Len() {
		from, to := b.Span(i)
		if b.Advantage[from] == 0 {
			continue
		}
		for n := from; n < to; n++ {
			w := -out.DLogp[n] / b.Advantage[n]
			if aggregation == "seq-mean-token-mean" {
				w *= float64(to - from)
			}
			low, high = min(low, w), max(high, w)
		}
	}
	return high/low - 1
}
