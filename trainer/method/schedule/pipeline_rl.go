package schedule

import "driftlab/trainer/method"

// PipelineRL updates weights in flight and counts its lag in samples.
//
//	submitted ≤ ⌈max_lag / attempts⌉ + per_update · (1 + updates)
//	Batch = B in the order of their end;  OnPublish = Interrupt, KeepStale
//
// Source: ServiceNow/PipelineRL. What is too old is counted, not dropped.
type PipelineRL struct {
	// MaxLag is max_lag, in responses.
	MaxLag int `yaml:"max_lag" default:"1024" range:"[0,2^20]"`
}

// Traits says that running requests keep their cache.
func (*PipelineRL) Traits() Traits { return Traits{Cache: KeepStale} }

// Admit is what the count of submissions leaves.
func (p *PipelineRL) Admit(v View) int {
	return ceilDiv(p.MaxLag, v.Group) + v.Batch*(1+v.Step) - v.kept()
}

// OnPublish updates the weights in flight.
func (*PipelineRL) OnPublish(View, *Worker) Reload { return Interrupt }

// Batch takes from the front of the queue.
func (*PipelineRL) Batch(v View) []*Sample { return batchFirst(v) }

// Old is the sampler's.
func (*PipelineRL) Old() Old { return Rollout }

// Bound is -1, or 0 if nothing may run ahead.
func (p *PipelineRL) Bound() int { return boundOfCount(p.MaxLag) }

var pipelineRLSpec = method.Spec{
	Name: "pipeline_rl", Aliases: []string{"pipelinerl"}, Group: "schedule", Unit: method.System,
	Source:   "ServiceNow/PipelineRL",
	Formula:  "submitted ≤ ⌈max_lag / attempts⌉ + per_update·(1 + updates); too old is counted, not dropped",
	Gradient: "none: a schedule chooses weights",
	Example: "max_lag 1024, 8 attempts, 64 groups per update: 192 groups before the first update\n" +
		"then 64 more with each update\n" +
		"the mean lag tends to 128 / 64 = 2 versions",
	Reconstruction: "That in-flight updates keep the cache is inferred; a refused sample leaves the count.",
}
