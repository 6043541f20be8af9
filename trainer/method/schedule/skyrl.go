package schedule

import "driftlab/trainer/method"

// SkyRL admits by AReaL's count, within B ≤ W ≤ B·(S + 1), and keeps stale keys and
// values (clear_kv_cache_on_weight_sync is false). Samples older than S are trained and
// counted. A group that is filtered out after it was done leaves acc, or the run would
// stand still.
type SkyRL struct {
	// Staleness is S, max_staleness_steps.
	Staleness int `yaml:"staleness" default:"4" range:"[0,1024]"`
	// Workers is W, the most samples in flight; 0 for what the slots hold, within
	// its limits.
	Workers int `yaml:"workers" range:"[0,2^20]"`
}

// Traits implements Policy.
func (p *SkyRL) Traits() Traits {
	return Traits{Reload: Interrupt, Cache: KeepStale, Old: Rollout, Bound: boundOfCount(p.Staleness)}
}

// Admit is what concurrency and the count leave.
func (p *SkyRL) Admit(v View) int {
	concurrent := p.Workers
	if concurrent == 0 {
		concurrent = v.capacity()
	}
	concurrent = min(max(concurrent, v.Batch), v.Batch*(p.Staleness+1))
	return min(concurrent-v.Running, v.ahead(p.Staleness*v.Batch, v.Version))
}

var skyRLSpec = method.Spec{
	Name: "skyrl", Aliases: []string{"sky-rl"},
	Does:    "Admits requests by a count of samples and a staleness limit, and keeps the KV cache when the weights change.",
	When:    "Use it to model SkyRL's fully asynchronous trainer, whose interrupted requests continue with a stale KV cache.",
	Source:  "NovaSky-AI/SkyRL skyrl/train/fully_async_trainer.py, docs tutorial fully_async",
	Formula: "Admit = min(W - run, (S + step)·B - (acc + run)), step = V + 1\nBatch = B in the order of their end; OnPublish = Interrupt, KeepStale",
}
