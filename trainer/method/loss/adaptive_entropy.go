package loss

import (
	"math"

	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
)

// AdaptiveEntropy is a bonus for the entropy of the policy that is on only after an
// update with an entropy at or below a target, with a coefficient that rises after such
// an update and falls after any other.
//
// The mean runs over the active tokens, as in TRL, which restricts it to those of
// top_entropy where that is used; here it has all. The first update has no bonus. A
// batch without tokens has the entropy 0.
type AdaptiveEntropy struct {
	// Coef is the coefficient at the start.
	Coef float64 `yaml:"coef" range:"[0,max]"`
	// Min and Max bound the coefficient.
	Min float64 `yaml:"min" range:"[0,max]"`
	Max float64 `yaml:"max" default:"1" range:"[0,inf)"`
	// Delta is the change of the coefficient per update.
	Delta float64 `yaml:"delta" default:"0.005" range:"[0,inf)"`
	// Target is the entropy (nats) at or below which the bonus is on.
	Target float64 `yaml:"target" default:"0.2" range:"[0,inf)"`

	last float64 // entropy of the last update
}

var adaptiveEntropySpec = method.Spec{
	Name: "adaptive_entropy", Unit: method.Token,
	Does:     "Adds a bonus for the entropy of the policy while that is at or below a target, with a coefficient that adapts from update to update.",
	When:     "Use it if a constant entropy bonus is too strong early or too weak late.",
	Source:   "arXiv:2505.22312 (Skywork-OR1); TRL use_adaptive_entropy",
	Formula:  "L -= coef·1[h ≤ target]·mean(H), h the mean of the last update; then coef ← coef ± delta within [min, max], + where mean(H) ≤ target",
	Gradient: "d L/d logit_a = coef·1[h ≤ target]·p(a)·(log p(a) + H)/tokens",
	Needs:    batch.Columns{batch.Dist},
}

// NewAdaptiveEntropy has the defaults.
func NewAdaptiveEntropy() *AdaptiveEntropy {
	e := method.New[AdaptiveEntropy]()
	e.last = math.Inf(1)
	return e
}

// AppendState appends the coefficient and the entropy of the last update.
func (e *AdaptiveEntropy) AppendState(dst []byte) []byte {
	return method.AppendState(dst, e.Coef, e.last)
}

// SetState takes what AppendState appended.
func (e *AdaptiveEntropy) SetState(state []byte) error {
	return method.ReadState(state, &e.Coef, &e.last)
}

// Prepare does nothing.
func (e *AdaptiveEntropy) Prepare(*batch.Batch) error { return nil }

// AddLoss subtracts the bonus, and adapts the coefficient, which it logs.
func (e *AdaptiveEntropy) AddLoss(out *Grad, in *batch.Batch) error {
	if err := in.Require(batch.Mask, batch.Dist); err != nil {
		return err
	}
	if err := addEntropy(out, in, in.Now.Dist, e.coefficient(), Aggregation{}); err != nil {
		return err
	}
	entropy, _ := out.Metric("actor/entropy")
	if out.frozen == nil { // a finite difference is not a step
		e.adapt(entropy)
	}
	out.Add("entropy_coef", e.Coef)
	return nil
}

// coefficient is the one in use.
func (e *AdaptiveEntropy) coefficient() float64 {
	if e.last <= e.Target {
		return e.Coef
	}
	return 0
}

// adapt takes the entropy of an update.
func (e *AdaptiveEntropy) adapt(entropy float64) {
	if e.last = entropy; entropy <= e.Target {
		e.Coef = min(e.Coef+e.Delta, e.Max)
	} else {
		e.Coef = max(e.Coef-e.Delta, e.Min)
	}
}
