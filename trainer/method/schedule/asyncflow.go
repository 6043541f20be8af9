package schedule

import "driftlab/trainer/method"

// asyncFlow streams rows through queues of tasks and defers the update of workers
// within a threshold. A task reads a row when its input columns are there, each row once.
// Admission is AReaL's with η = threshold.
type asyncFlow struct {
	// Threshold is the staleness that an update may be deferred by. Default 1; at 0
	// the weights do not depend on Micro.
	Threshold int `yaml:"threshold" default:"1" range:"[0,1024]"`
	// Micro is the granularity q of the queues, in samples.
	Micro int `yaml:"micro" default:"1" range:"[1,2^20]"`
}

// Traits implements Policy.
func (p *asyncFlow) Traits() Traits {
	return Traits{Stream: p.Micro, Bound: boundOfCount(p.Threshold)}
}

// Admit is what the count leaves.
func (p *asyncFlow) Admit(v View) int {
	return v.ahead(p.Threshold*v.Batch, v.Version)
}

var asyncFlowSpec = method.Spec{
	Name: "asyncflow", Aliases: []string{"transfer_queue"},
	Does:           "Streams samples through a queue per task and defers a worker's weight update until its requests are done, within a threshold.",
	When:           "Use it to model a pipeline whose stages start on a few samples and do not wait for a whole batch.",
	Source:         "AsyncFlow, arXiv:2507.01663; verl docs/data/transfer_queue.md",
	Formula:        "Batch = q rows at a time, an update after B; a worker loads when it has finished its requests",
	Reconstruction: "The reference's and the reward's stages are part of the learner's pass; the threshold as AReaL's count is inferred.",
}
