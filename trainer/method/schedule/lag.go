package schedule

import (
	"errors"

	"driftlab/trainer/method"
)

// Lag generates every step's rollouts from the weights of K updates ago: a
// fixed staleness, the simplest stand-in for an asynchronous system.
//
//	version_roll(s) = max(0, version(s) - K)
//
// Source: the one-step (K = 1) and fixed-delay off-policy settings of
// "Asynchronous RLHF" (2410.18252); AReaL's bounded staleness (2505.24298)
// replaces the fixed K by a ceiling.
type Lag struct {
	// K is the staleness in optimiser updates, bounded since a run keeps as many past
	// weights; without lag it is sync. A step makes epochs x
	// minibatches updates. 1 is the one-step-off-policy pipeline.
	K int `yaml:"k" default:"1" range:"[0,1024]"`
}

// Lag is K at every step.
func (l *Lag) Lag(int) int { return l.K }

// MaxLag is K.
func (l *Lag) MaxLag() int { return l.K }

// Traits says that the workers are served the weights of K publications ago.
func (l *Lag) Traits() Traits { return Traits{Colocated: true, Behind: l.K} }

// Admit is that of Sync.
func (*Lag) Admit(v View) int { return admitWhole(v) }

// OnPublish finds no running work.
func (*Lag) OnPublish(View, *Worker) Reload { return Drain }

// Batch is that of Sync.
func (*Lag) Batch(v View) []*Sample { return batchWhole(v) }

// Bound is K.
func (l *Lag) Bound() int { return l.K }

// Validate refuses no lag at all.
func (l *Lag) Validate() error {
	if l.K == 0 {
		return errors.New("k 0: must be at least 1: use sync for no lag")
	}
	return nil
}

var lagSpec = method.Spec{
	Name: "lag", Aliases: []string{"stale"}, Group: "schedule", Unit: method.System,
	Source:   "fixed off-policy delay, arXiv:2410.18252; a ceiling instead in AReaL, arXiv:2505.24298",
	Formula:  "version_roll(s) = max(0, version(s) - k)",
	Gradient: "none: a schedule chooses weights",
	Example: "k = 2, one update per step\n" +
		"steps 0, 1, 2: rollouts from version 0 (the initial weights)\n" +
		"step 10: learner at version 10, rollouts from version 8",
}
