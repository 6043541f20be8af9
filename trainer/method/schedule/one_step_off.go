package schedule

import "driftlab/trainer/method"

// OneStepOff generates the next batch while the learner trains the present one. The
// weights go out before b(n) is trained, so that b(n+1) has a staleness of one update when it is used.
// Nothing is interrupted: all wait for the slowest response of the batch.
type OneStepOff struct {
	// Interval is the number of updates from one publication to the next: slime's
	// update_weights_interval.
	Interval int `yaml:"interval" default:"1" range:"[1,1024]"`
}

// Traits: old log-probs are the sampler's, since bypass_mode is true in verl's recipe;
// a version is Interval updates.
func (p *OneStepOff) Traits() Traits {
	return Traits{InOrder: true, Interval: p.Interval, Waits: true, Old: Rollout, Bound: 1}
}

// Admit launches the next batch when the present one is with the learner.
func (p *OneStepOff) Admit(v View) int {
	if v.Running == 0 && v.Unpublished >= p.Interval {
		return 0
	}
	return v.Batch - v.Running - len(v.Done)
}

var oneStepOffSpec = method.Spec{
	Name: "one_step_off", Aliases: []string{"one-step-off", "async-1"},
	Does:           "Generates the next batch while the trainer learns from the current batch, so that each batch has a staleness of one update.",
	When:           "Use it to overlap generation and training at a staleness of one update, as verl, SkyRL and slime do.",
	Source:         "verl docs/advance/one_step_off.md; SkyRL examples/train/async; slime train_async.py",
	Formula:        "loop: wait b(n); Sync; launch b(n+1); train b(n)\nlag 0, 1, 1, ...; wall(n) = max(gen, logp + train) + Sync",
	Reconstruction: "Published 1.24x (FSDP2) and 1.40x (Megatron); the learner scores nothing, as in the recipe, though that run's step times show a scoring pass.",
}
