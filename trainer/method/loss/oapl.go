package loss

import (
	"slices"

	"driftlab/precision/elementary"
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
)

// OAPL regresses the log-ratio of a response to its optimal advantage: a
// squared loss, off-policy by construction.
//
// TRL's A2PO trainer is the same regression, without importance weights. The survey shows one β: set β₁ = β₂
// for it. The reference is the policy that sampled, never a recomputed one, and
// there is no clip and no weight. A group without variance has A* = 0 and pulls
// the log-ratio to 0.
type OAPL struct {
	// Beta1 is the temperature of the value, Beta2 the scale of the log-ratio.
	Beta1 float64 `yaml:"beta1" default:"1" range:"(0,inf]"`
	Beta2 float64 `yaml:"beta2" default:"1e-3" range:"(0,inf]"`
	// LengthNorm divides the log-ratio of a response by its length.
	LengthNorm bool `yaml:"length_norm"`
}

// NewA2PO returns the defaults of TRL's trainer of the same regression.
func NewA2PO() *OAPL {
	p := method.New[OAPL]()
	p.Beta1 = 0.5
	return p
}

// Eval computes the loss over the responses.
func (p *OAPL) Eval(out *Grad, in *batch.Batch) error {
	return withFrame(out, in, Aggregation{Mode: "seq-all-token-sum"}, batch.Columns{batch.LogpRoll, batch.Reward, batch.Group}, func(f *frame) {
		reward, advantage := 0.0, 0.0
		for rows := range f.groups().All() {
			value := optimalValue(f.rewards(rows), p.Beta1)
			for _, i := range rows {
				scale := p.Beta2
				if p.LengthNorm {
					scale /= max(f.length(i), 1)
				}
				implicit := float64(scale * f.sumLogRatio(i, in.Now.Logp, in.LogpRoll))
				residual := implicit - (in.Reward[i] - value)
				w := float64(f.rowWeight[i] * f.openShare(i, f.length(i)))
				f.share(i, "e", residual)
				f.share(i, "weight", w)
				f.addResponse(i, float64(w*residual*residual))
				f.spread(i, 2*w*scale*residual)
				reward += implicit
				advantage += in.Reward[i] - value
			}
		}
		out.Add("implicit_reward", reward/max(float64(in.Len()), 1))
		out.Add("optimal_advantage", advantage/max(float64(in.Len()), 1))
	})
}

// optimalValue is β·log mean exp(R/β), the value of the optimal policy whose KL
// to the sampling policy costs β.
func optimalValue(rewards []float64, beta float64) float64 {
	largest, sum := slices.Max(rewards), 0.0
	for _, r := range rewards {
		sum += elementary.Exp((r - largest) / beta)
	}
	return largest + float64(beta*elementary.Log(sum/float64(len(rewards))))
}

// openShare is the share of the active tokens of response i whose gate is open.
func (f *frame) openShare(i int, length float64) float64 {
	if f.in.Gate == nil {
		return 1
	}
	open := 0.0
	for n := range f.in.Where(i, f.active) {
		open += count(f.in.Gate[n])
	}
	return open / max(length, 1)
}
