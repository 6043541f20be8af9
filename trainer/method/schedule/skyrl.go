package schedule

import "driftlab/trainer/method"

// SkyRL admits by AReaL's count and keeps stale keys and values.
//
//	Admit = min(W - run, (S + step)·B - (acc + run)), step = V + 1;  B ≤ W ≤ B·(S + 1)
//	Batch = B in the order of their end;  OnPublish = Interrupt, KeepStale
//
// Source: NovaSky-AI/SkyRL skyrl/train/fully_async_trainer.py, tutorial fully_async.
// Samples older than S are trained and counted. A group that is filtered out after
// it was done leaves acc, or the run would stand still.
type SkyRL struct {
	// Staleness is S, max_staleness_steps.
	Staleness int `yaml:"staleness" default:"4" range:"[0,1024]"`
	// Workers is W, the most samples in flight; 0 for what the slots hold, within
	// its limits.
	Workers int `yaml:"workers" range:"[0,2^20]"`
}

// Traits says that old keys and values stay (clear_kv_cache_on_weight_sync is false).
func (*SkyRL) Traits() Traits { return Traits{Cache: KeepStale} }

// Admit is what concurrency and the count leave.
func (p *SkyRL) Admit(v View) int {
	concurrent := p.Workers
	if concurrent == 0 {
		concurrent = v.room()
	}
	concurrent = min(max(concurrent, v.Batch), v.Batch*(p.Staleness+1))
	step := v.Version + 1
	return min(concurrent-v.Running, (p.Staleness+step)*v.Batch-v.kept())
}

// OnPublish interrupts.
func (*SkyRL) OnPublish(View, *Worker) Reload { return Interrupt }

// Batch takes from the front of the queue.
func (*SkyRL) Batch(v View) []*Sample { return batchFirst(v) }

// Old is the sampler's: stale weights are not kept.
func (*SkyRL) Old() Old { return Rollout }

// Bound is -1, or 0 if nothing may run ahead.
func (p *SkyRL) Bound() int { return boundOfCount(p.Staleness) }

var skyRLSpec = method.Spec{
	Name: "skyrl", Aliases: []string{"sky-rl"}, Group: "schedule", Unit: method.System,
	Source:   "NovaSky-AI/SkyRL skyrl/train/fully_async_trainer.py, docs tutorial fully_async",
	Formula:  "Admit = min(W - run, (S + step)·B - (acc + run)), step = V + 1\nBatch = B in the order of their end; OnPublish = Interrupt, KeepStale",
	Gradient: "none: a schedule chooses weights",
	Example: "S = 1, B = 4: 8 samples before the first update\n" +
		"a response that new weights interrupt goes on with the keys of the old ones\n" +
		"the log-prob of its later tokens is then of no version's weights alone",
}
