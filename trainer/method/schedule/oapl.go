package schedule

import "driftlab/trainer/method"

// oapl serves one policy for many updates, trains off it, and clears the buffer when it
// synchronises. Its loss regresses the log-ratio to the sampler and needs no old log-probs.
type oapl struct {
	// Interval is L, the updates from one synchronisation to the next.
	Interval int `yaml:"interval" default:"50" range:"[1,1024]"`
	// Keep leaves in the buffer what the synchronisation finds there, to be trained at
	// a lag.
	Keep bool `yaml:"keep"`
	// Pool is the number of samples in flight; 0 for what the slots hold. Never less
	// than a batch.
	Pool int `yaml:"pool" range:"[0,2^20]"`
}

// Traits: the bound is 0 versions, each of them Interval updates, where the buffer is
// cleared.
func (p *oapl) Traits() Traits {
	t := Traits{Reload: Interrupt, Cache: Restart, Interval: p.Interval, Old: Rollout}
	if p.Keep {
		t.Bound = Unbounded
	}
	return t
}

// Admit fills the pool.
func (p *oapl) Admit(v View) int { return (&slimeFullyAsync{Pool: p.Pool}).Admit(v) }

// Verdict clears what older weights made.
func (p *oapl) Verdict(v View, s *Sample) Fate {
	if p.Keep || !s.Done() {
		return Take
	}
	return youngerThan(v, s, 0)
}

var oaplSpec = method.Spec{
	Name: "oapl", Aliases: []string{"clearing"},
	Does:           "Generates with the same weights for many updates, then publishes new weights and clears older samples from the buffer.",
	When:           "Use it with the loss oapl, to study many updates between two synchronisations.",
	Source:         "OAPL, arXiv:2602.19362",
	Formula:        "publish every L updates; what is done and older than the published weights is cleared\nBatch = B in the order of their end",
	Reconstruction: "That the generator goes on between synchronisations, with back pressure at its pool, and that what runs begins again are inferred.",
}
