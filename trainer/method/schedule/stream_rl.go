package schedule

import "driftlab/trainer/method"

// StreamRL gives finished samples to the learner at once.
//
//	Batch = any k ≤ B that are done; gradients add up; an update after B
//	Admit = Sync's; with Async, B more when the last of the batch is generated
//
// Source: StreamRL, 2504.15930; verl's fully asynchronous mode b. The gradient is
// the synchronous one up to the order of its sum.
type StreamRL struct {
	// Async generates the next batch while the rest of this one is trained.
	Async bool `yaml:"async"`
	// Micro is the least number of samples the learner begins with, unless fewer
	// are missing.
	Micro int `yaml:"micro" default:"1" range:"[1,2^20]"`
}

// Admit is a batch at a time.
func (p *StreamRL) Admit(v View) int {
	if !p.Async {
		return admitWhole(v)
	}
	if part := v.kept() % v.Batch; part > 0 { // the others were refused
		return v.Batch - part
	}
	if v.Running == 0 && v.kept() <= (v.Step+1)*v.Batch {
		return v.Batch
	}
	return 0
}

// OnPublish lets a worker finish what it has.
func (*StreamRL) OnPublish(View, *Worker) Reload { return Drain }

// Batch is what there is.
func (p *StreamRL) Batch(v View) []*Sample { return batchStreamed(v, p.Micro) }

// Update is due when the batch is complete.
func (*StreamRL) Update(v View) bool { return v.Accumulated == v.Batch }

// Bound is 0, with Async 1.
func (p *StreamRL) Bound() int {
	if p.Async {
		return 1
	}
	return 0
}

// batchStreamed is what is done of a batch, at least so many of what is missing.
func batchStreamed(v View, micro int) []*Sample {
	missing := v.Batch - v.Accumulated
	k := min(len(v.Done), missing)
	if k < min(micro, missing) {
		return nil
	}
	return byID(v.Done[:k])
}

var streamRLSpec = method.Spec{
	Name: "stream", Aliases: []string{"streamrl"}, Group: "schedule", Unit: method.System,
	Source:   "StreamRL, arXiv:2504.15930; verl docs/advance/fully_async.md, mode b",
	Formula:  "Batch = any k ≤ B done samples; Σ of gradients; an update after B",
	Gradient: "none: a schedule chooses weights",
	Example: "B = 4, samples end in the order 2, 0, 3, 1: gradients of 2, then 0 and 3 (which ended meanwhile), then 1\n" +
		"one update after the fourth, the same as that of the whole batch\n" +
		"short answers come first: the order of the gradients is one by length",
	Reconstruction: "Admission follows sync and one_step_off; the ranker that gives predicted long responses workers of their own is left out: neither what it reads nor where it cuts was at hand. Among all workers seer places by length.",
}
