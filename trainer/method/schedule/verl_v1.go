package schedule

import (
	"cmp"
	"slices"

	"driftlab/trainer/method"
)

// verlV1 is verl's second trainer (v1): a batch enters per step, some batches ahead. A sample's span is the
// number of steps from its dispatch to now, both counted. Dropping bounds the span of what is trained. Waiting
// does not: only running samples hold the trainer up, and done ones that it leaves behind grow older.
type verlV1 struct {
	// Threshold is t, max_off_policy_threshold, in steps; 1 is the present step alone.
	Threshold int `yaml:"max_off_policy_threshold" default:"8" range:"[1,1024]"`
	// Wait is the strategy wait in place of drop.
	Wait bool `yaml:"wait"`
	// Warmup is num_warmup_batches, the batches ahead.
	Warmup int `yaml:"num_warmup_batches" default:"1" range:"[0,1024]"`
	// SyncStep is parameter_sync_step of separate_async, the updates per publication (4 there). 0 is
	// colocate_async: the same devices generate and train in turns.
	SyncStep int `yaml:"parameter_sync_step" range:"[0,1024]"`
}

// Traits implements Policy.
func (p *verlV1) Traits() Traits {
	t := Traits{Reload: Interrupt, Colocated: p.SyncStep == 0, Interval: p.SyncStep, Bound: p.Threshold - 1}
	if p.Wait {
		t.Bound = boundOfCount(p.Warmup)
	}
	return t
}

// Admit is a batch per step; what is dropped is replaced one for one.
func (p *verlV1) Admit(v View) int { return v.ahead(p.Warmup*v.Batch, v.Step) }

// span is 1 for a sample of the present step.
func span(v View, s *Sample) int { return v.Step - s.Step + 1 }

// Batch takes the done samples of the smallest step first.
func (p *verlV1) Batch(v View) []*Sample {
	if len(v.Done) < v.Batch || p.Wait && len(v.Flight) > 0 && span(v, v.Flight[0]) >= p.Threshold {
		return nil
	}
	oldest := slices.SortedStableFunc(slices.Values(v.Done), func(a, b *Sample) int { return cmp.Compare(a.Step, b.Step) })
	return byID(oldest[:v.Batch])
}

// Verdict drops what is done and too old.
func (p *verlV1) Verdict(v View, s *Sample) Fate {
	if !p.Wait && s.Done() && span(v, s) > p.Threshold {
		return Drop
	}
	return Take
}

var verlV1Spec = method.Spec{
	Name: "verl_v1", Aliases: []string{"verl_colocate_async", "verl_separate_async"},
	Does:   "Runs verl's v1 asynchronous trainer: unfinished requests carry over to the next step, and samples past max_off_policy_threshold are dropped or waited for.",
	When:   "Use it to compare verl's strategies drop and wait; the strategy wait does not limit the span of what is trained.",
	Source: "volcengine/verl docs/advance/v1_async_trainer.md, verl/trainer/ppo/v1/{replay_buffer,trainer_colocate_async,trainer_separate_async}.py",
	Formula: "span = step - dispatch step + 1; Admit = (warmup + step + 1)·B - (acc + run)\n" +
		"Batch = the B done samples with the smallest dispatch step\ndrop: done with span > t; wait: no batch while a running one has span ≥ t",
	Reconstruction: "The batch per step is a count of samples, which also replaces what is dropped. Replicas that switch between training and generation are left out: the devices of a cluster here have one task each for the whole run.",
}
