package trainer

import (
	"fmt"

	"driftlab/results/record"
)

// Options are the choices that change no figure of a run: where it is kept,
// who watches, how many cores it may use.
type Options struct {
	// Dir is the run directory; empty keeps everything in memory.
	Dir string
	// Workers is the number of cores; 0 means one.
	Workers int
	// Recompute has the learner keep the residual stream alone between forward and
	// backward pass and compute the rest again: the same bits, more time, a
	// fraction of the memory.
	Recompute bool
	// Progress is called after every step, in the loop's goroutine.
	Progress func(Progress)
	// Dump receives one line per sampled response; nil for none.
	Dump *record.DumpWriter
	// DumpFile is the path of a dump that belongs to the run in Dir: begun, taken
	// up and completed with it. Empty for none.
	DumpFile string
}

// Progress is where a run stands.
type Progress struct {
	// Step steps of Steps are done.
	Step, Steps int
	// Reward is the mean reward of the step, KL its k3 between the engines,
	// Length its mean response length. A warm start has a Loss instead.
	Reward, KL, Length, Loss float64
}

func (o Options) workers() int { return max(o.Workers, 1) }

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
