package schedule

import (
	"errors"

	"driftlab/trainer/method"
)

// Lag generates every step's rollouts from the weights of K updates ago: a
// fixed staleness, the simplest stand-in for an asynchronous system.
type Lag struct {
	// K is the staleness in optimiser updates, bounded since a run keeps as many past
	// weights; without lag it is sync. A step makes epochs x
	// minibatches updates. 1 is the one-step-off-policy pipeline.
	K int `yaml:"k" default:"1" range:"[0,1024]"`
}

// Traits implements Policy.
func (l *Lag) Traits() Traits {
	return Traits{Colocated: true, InOrder: true, Behind: l.K, Bound: l.K}
}

// Admit is that of Sync.
func (*Lag) Admit(v View) int { return admitWhole(v) }

// Validate refuses no lag at all.
func (l *Lag) Validate() error {
	if l.K == 0 {
		return errors.New("k 0: must be at least 1: use sync for no lag")
	}
	return nil
}

var lagSpec = method.Spec{
	Name: "lag", Aliases: []string{"stale"},
	Does:    "Generates each batch with the weights of k updates ago: a fixed staleness, without a model of any system.",
	When:    "Use it to study the effect of staleness alone, at a level that you set.",
	Source:  "fixed off-policy delay, arXiv:2410.18252; a ceiling instead in AReaL, arXiv:2505.24298",
	Formula: "version_roll(s) = max(0, version(s) - k)",
}
