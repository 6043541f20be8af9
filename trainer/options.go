package trainer

import (
	"fmt"

	"driftlab/model"
)

// Options are the choices that change no figure of a run, but for Scorer and Start: who watches, how many
// cores it may use.
type Options struct {
	// Workers is the number of cores; 0 means one.
	Workers int
	// Cores, unless it is nil, is asked before each step how many cores there are
	// by now; where they are more than before, the session goes on with them.
	Cores func() int
	// Recompute has the learner keep the residual stream alone between forward and
	// backward pass and compute the rest again: the same bits, more time, a
	// fraction of the memory.
	Recompute bool
	// KeepTrained keeps the log-probs of each token's last forward pass in training.
	KeepTrained bool
	// Scorer, unless it is nil, gives the sampled responses the log-probs of another engine;
	// NewSession then returns recipe.Faults for a recipe that it cannot follow.
	Scorer Scorer
	// Start, unless it is nil, changes the random weights that a warm start begins with.
	Start func(*model.Params)
	// Updated is called after every gradient step, with the training step, from 0, and
	// the number of gradient steps it has made; Session.Score then asks the weights.
	Updated func(step, made int)
	// Progress is called after every step, in the loop's goroutine.
	Progress func(Progress)
}

// Progress is where a run stands.
type Progress struct {
	// Step steps of Steps are done.
	Step, Steps int
	// Reward is the mean reward of the step, KL its k3 between the engines,
	// Length its mean response length. A warm start has a Loss instead.
	Reward, KL, Length, Loss float64
}

// workers is the number of cores as it is now, never fewer than before.
func (o Options) workers() int {
	if o.Cores == nil {
		return max(o.Workers, 1)
	}
	return max(o.Workers, o.Cores(), 1)
}

func (o Options) progress(p Progress) {
	if o.Progress != nil {
		o.Progress(p)
	}
}

// StepError says at which step a run failed. What came before is on record.
type StepError struct {
	Step int
	Err  error
}

// Error is one line.
func (e *StepError) Error() string { return fmt.Sprintf("step %d: %v", e.Step, e.Err) }

// Unwrap returns the cause.
func (e *StepError) Unwrap() error { return e.Err }
