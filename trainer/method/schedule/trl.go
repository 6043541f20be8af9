package schedule

import "driftlab/trainer/method"

// trl is its asynchronous GRPO: samples that are too old are dropped when taken.
type trl struct {
	// MaxStaleness is the greatest lag. Default 4 (the configuration's; the data
	// set class says 3).
	MaxStaleness int `yaml:"max_staleness" default:"4" range:"[1,1024]"`
	// WeightSyncSteps is the number of updates per publication.
	WeightSyncSteps int `yaml:"weight_sync_steps" default:"1" range:"[1,1024]"`
}

// Traits implements Policy.
func (p *trl) Traits() Traits {
	return Traits{Reload: Interrupt, Interval: p.WeightSyncSteps, Old: Rollout, Bound: p.MaxStaleness}
}

// Admit fills what may be in flight.
func (p *trl) Admit(v View) int { return p.MaxStaleness*v.Batch - v.Running - len(v.Done) }

// Verdict looks at what is done, not at what runs.
func (p *trl) Verdict(v View, s *Sample) Fate {
	if !s.Done() {
		return Take
	}
	return youngerThan(v, s, p.MaxStaleness)
}

var trlSpec = method.Spec{
	Name: "trl", Aliases: []string{"trl_async"},
	Does:           "Drops samples older than max_staleness when the trainer takes a batch, and limits the samples in flight by the same number.",
	When:           "Use it to model TRL's asynchronous GRPO trainer.",
	Source:         "huggingface/trl, asynchronous GRPO trainer and its configuration",
	Formula:        "in flight ≤ max_staleness·B; drop at take if V - V0 > max_staleness",
	Reconstruction: "What is in flight includes what is done and waits; KV caches are computed anew.",
}
