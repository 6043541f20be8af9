package schedule

import "driftlab/trainer/method"

// AsyncFlow streams rows through queues of tasks and defers the update of workers
// within a threshold.
//
//	a task reads a row when its input columns are there and it has not consumed it:
//	each (row, task) once
//	Batch = q rows at a time, an update after B;  Admit = AReaL's with η = threshold
//	a worker finishes its requests, then loads
//
// Source: AsyncFlow, 2507.01663; verl docs/data/transfer_queue.md.
type AsyncFlow struct {
	// Threshold is the staleness that an update may be deferred by. Default 1; at 0
	// the weights do not depend on Micro.
	Threshold int `yaml:"threshold" default:"1" range:"[0,1024]"`
	// Micro is the granularity q of the queues, in samples.
	Micro int `yaml:"micro" default:"1" range:"[1,2^20]"`
}

// Admit is what the count leaves.
func (p *AsyncFlow) Admit(v View) int {
	return (p.Threshold+v.Version+1)*v.Batch - v.kept()
}

// OnPublish lets a worker finish what it has.
func (*AsyncFlow) OnPublish(View, *Worker) Reload { return Drain }

// Batch is the rows that are ready.
func (p *AsyncFlow) Batch(v View) []*Sample { return batchStreamed(v, p.Micro) }

// Update is due when the batch is complete.
func (*AsyncFlow) Update(v View) bool { return v.Accumulated == v.Batch }

// Bound is 0 at threshold 0, else -1.
func (p *AsyncFlow) Bound() int {
	if p.Threshold == 0 {
		return 0
	}
	return -1
}

var asyncFlowSpec = method.Spec{
	Name: "asyncflow", Aliases: []string{"transfer_queue"}, Group: "schedule", Unit: method.System,
	Source:   "AsyncFlow, arXiv:2507.01663; verl docs/data/transfer_queue.md",
	Formula:  "Batch = q rows at a time, an update after B; a worker loads when it has finished its requests",
	Gradient: "none: a schedule chooses weights",
	Example: "B = 4, q = 2: two rows are scored and trained while the others are generated\n" +
		"threshold 1: up to 8 rows before the first update\n" +
		"threshold 0: the synchronous gradient, in another order of its sum",
	Reconstruction: "The reference's and the reward's stages are part of the learner's pass; the threshold as AReaL's count is inferred.",
}
