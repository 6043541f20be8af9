package schedule

import "driftlab/trainer/method"

// OAPL serves one policy for many updates, trains off it, and clears the buffer when it
// synchronises.
//
//	publish every L updates;  Admit = pool - run, while fewer than the pool wait
//	OnPublish = Interrupt: responses begin again;  what is done and older is cleared
//	Batch = B in the order of their end
//
// Source: OAPL, 2602.19362. Its loss regresses the log-ratio to the sampler and needs
// no old log-probs.
type OAPL struct {
	// Interval is L, the updates from one synchronisation to the next.
	Interval int `yaml:"interval" default:"50" range:"[1,1024]"`
	// Keep leaves in the buffer what the synchronisation finds there, to be trained at
	// a lag.
	Keep bool `yaml:"keep"`
	// Pool is the number of samples in flight; 0 for what the slots hold. Never less
	// than a batch.
	Pool int `yaml:"pool" range:"[0,2^20]"`
}

// Traits says that a response which is under way begins again.
func (*OAPL) Traits() Traits { return Traits{Cache: Restart} }

// Admit fills the pool.
func (p *OAPL) Admit(v View) int { return (&SlimeFullyAsync{Pool: p.Pool}).Admit(v) }

// OnPublish begins anew.
func (*OAPL) OnPublish(View, *Worker) Reload { return Interrupt }

// Publish is due every Interval updates.
func (p *OAPL) Publish(v View) bool { return v.Unpublished >= p.Interval }

// Verdict clears what older weights made.
func (p *OAPL) Verdict(v View, s *Sample) Fate {
	if p.Keep || !s.Done() {
		return Take
	}
	return youngerThan(v, s, 0)
}

// Batch takes from the front of the queue.
func (*OAPL) Batch(v View) []*Sample { return batchFirst(v) }

// Old is the sampler's.
func (*OAPL) Old() Old { return Rollout }

// Bound is 0 versions, each of them Interval updates, where the buffer is cleared.
func (p *OAPL) Bound() int {
	if p.Keep {
		return -1
	}
	return 0
}

var oaplSpec = method.Spec{
	Name: "oapl", Aliases: []string{"clearing"}, Group: "schedule", Unit: method.System,
	Source:   "OAPL, arXiv:2602.19362",
	Formula:  "publish every L updates; what is done and older than the published weights is cleared\nBatch = B in the order of their end",
	Gradient: "none: a schedule chooses weights",
	Example: "L = 50, B = 4: the weights of version 0 sample for 50 updates, up to 49 behind the learner\n" +
		"at the 50th all workers load version 1 and their responses begin again\n" +
		"the 3 samples that waited are dropped: none of version 0 is trained at version 1",
	Reconstruction: "That the generator goes on between synchronisations, with back pressure at its pool, and that what runs begins again are inferred.",
}
