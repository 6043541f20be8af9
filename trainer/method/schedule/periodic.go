package schedule

import "driftlab/trainer/method"

// Periodic synchronises once per iteration, generates all of it with these weights
// and trains what is finished meanwhile; one step after all: on policy.
//
//	Admit = B at the start of an iteration; Batch = what is done; lag 0
//	wall = max(gen_last, serial train) + tail micro-batch + Sync: at most twice as fast
//
// Source: Periodic Asynchrony, 2511.18871.
type Periodic struct {
	// Micro is the least number of samples the learner begins with.
	Micro int `yaml:"micro" default:"1" range:"[1,2^20]"`
}

// Admit is a batch at the start of an iteration.
func (*Periodic) Admit(v View) int { return admitWhole(v) }

// OnPublish finds no running work.
func (*Periodic) OnPublish(View, *Worker) Reload { return Drain }

// Batch is what there is.
func (p *Periodic) Batch(v View) []*Sample { return batchStreamed(v, p.Micro) }

// Update is due when the iteration is complete.
func (*Periodic) Update(v View) bool { return v.Accumulated == v.Batch }

// Old needs no pass: the learner has the sampler's weights.
func (*Periodic) Old() Old { return Rollout }

// Bound is 0.
func (*Periodic) Bound() int { return 0 }

var periodicSpec = method.Spec{
	Name: "periodic", Aliases: []string{"periodic-asynchrony"}, Group: "schedule", Unit: method.System,
	Source:   "Periodic Asynchrony, arXiv:2511.18871",
	Formula:  "sync; generate B from one policy, train as they finish; one step after all: lag 0",
	Gradient: "none: a schedule chooses weights",
	Example: "gen 100 ticks, train 80: 180 when synchronous\n" +
		"here 100 + the tail of the training that is left when the last response ends\n" +
		"never below max(gen, train): at most twice as fast",
	Reconstruction: "The claimed speed-up moved from threefold to about 2x \"from asynchrony plus system gains\"; only the asynchrony is here.",
}
