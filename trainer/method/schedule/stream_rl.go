package schedule

import "driftlab/trainer/method"

// streamRL gives finished samples to the learner at once: the gradient is the
// synchronous one up to the order of its sum. Admission is Sync's; with Async, B more begin
// when the last of the batch is generated.
type streamRL struct {
	// Async generates the next batch while the rest of this one is trained.
	Async bool `yaml:"async"`
	// Micro is the least number of samples the learner begins with, unless fewer
	// are missing.
	Micro int `yaml:"micro" default:"1" range:"[1,2^20]"`
}

// Traits implements Policy.
func (p *streamRL) Traits() Traits {
	t := Traits{Stream: p.Micro}
	if p.Async {
		t.Bound = 1
	}
	return t
}

// Admit is a batch at a time.
func (p *streamRL) Admit(v View) int {
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

var streamRLSpec = method.Spec{
	Name: "stream", Aliases: []string{"streamrl"},
	Does:           "Sends each finished sample to the trainer at once and accumulates gradients, with one update per batch.",
	When:           "Use it to start training before the slowest response ends; the staleness is zero unless async is set.",
	Source:         "StreamRL, arXiv:2504.15930; verl docs/advance/fully_async.md, mode b",
	Formula:        "Batch = any k ≤ B done samples; Σ of gradients; an update after B",
	Reconstruction: "Admission follows sync and one_step_off; the ranker that gives predicted long responses workers of their own is left out: neither what it reads nor where it cuts was at hand. Among all workers seer places by length.",
}
