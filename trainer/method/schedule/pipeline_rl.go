package schedule

import "driftlab/trainer/method"

// pipelineRL updates weights in flight and counts its lag in samples.
type pipelineRL struct {
	// MaxLag is max_lag, in responses.
	MaxLag int `yaml:"max_lag" default:"1024" range:"[0,2^20]"`
}

// Traits implements Policy.
func (p *pipelineRL) Traits() Traits {
	return Traits{Reload: Interrupt, Cache: KeepStale, Old: Rollout, Bound: boundOfCount(p.MaxLag)}
}

// Admit is what the count of submissions leaves.
func (p *pipelineRL) Admit(v View) int {
	return v.ahead(ceilDiv(p.MaxLag, v.Group), v.Step)
}

var pipelineRLSpec = method.Spec{
	Name: "pipeline_rl", Aliases: []string{"pipelinerl"},
	Does:           "Updates the weights of the rollout engine while requests run, and limits the lag by counting samples.",
	When:           "Use it to study in-flight weight updates, where a response has tokens of several versions.",
	Source:         "ServiceNow/PipelineRL",
	Formula:        "submitted ≤ ⌈max_lag / attempts⌉ + per_update·(1 + updates); too old is counted, not dropped",
	Reconstruction: "That in-flight updates keep the cache is inferred; a refused sample leaves the count.",
}
