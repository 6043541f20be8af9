package schedule

import "driftlab/trainer/method"

// OneStepOff generates the next batch while the learner trains the present one.
//
//	loop: wait for b(n); Sync; launch b(n+1); train b(n)
//	lag 0, 1, 1, ...;  wall(n) = max(gen, logp + train) + Sync
//
// Source: verl docs/advance/one_step_off.md; SkyRL examples/train/async, a queue
// of size 1; slime train_async.py, whose update_weights_interval is Interval. The
// weights go out before b(n) is trained, so that b(n+1) is one update old when it
// is used. Nothing is interrupted: all wait for the slowest response of the batch.
type OneStepOff struct {
	// Interval is the number of updates from one publication to the next.
	Interval int `yaml:"interval" default:"1" range:"[1,1024]"`
}

// Admit launches the next batch when the present one is with the learner.
func (p *OneStepOff) Admit(v View) int {
	if p.Publish(v) {
		return 0
	}
	return v.Batch - v.Running - len(v.Done)
}

// OnPublish finds no running work.
func (*OneStepOff) OnPublish(View, *Worker) Reload { return Drain }

// Publish waits for the batch in flight.
func (p *OneStepOff) Publish(v View) bool { return v.Running == 0 && v.Unpublished >= p.Interval }

// Batch waits for all, and for the weights of the last step to be out.
func (p *OneStepOff) Batch(v View) []*Sample {
	if v.Unpublished >= p.Interval {
		return nil
	}
	return batchWhole(v)
}

// Old is the sampler's: bypass_mode is true in verl's recipe.
func (*OneStepOff) Old() Old { return Rollout }

// Bound is 1: a version is Interval updates.
func (*OneStepOff) Bound() int { return 1 }

var oneStepOffSpec = method.Spec{
	Name: "one_step_off", Aliases: []string{"one-step-off", "async-1"}, Group: "schedule", Unit: method.System,
	Source:   "verl docs/advance/one_step_off.md; SkyRL examples/train/async; slime train_async.py",
	Formula:  "loop: wait b(n); Sync; launch b(n+1); train b(n)\nlag 0, 1, 1, ...; wall(n) = max(gen, logp + train) + Sync",
	Gradient: "none: a schedule chooses weights",
	Example: "b(0) from version 0, trained at version 0: lag 0\n" +
		"b(1) from version 0, launched when b(0) goes to the learner, trained at version 1: lag 1\n" +
		"b(2) from version 1, trained at version 2: lag 1",
	Reconstruction: "Published 1.24x (FSDP2) and 1.40x (Megatron); the learner scores nothing, as in the recipe, though that run's step times show a scoring pass.",
}
