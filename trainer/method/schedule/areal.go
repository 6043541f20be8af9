package schedule

import "driftlab/trainer/method"

// AReaL bounds how far generation may run ahead of the learner by a count, and
// interrupts it for every new version. (In the paper the count is ⌊(N_r - 1)/B⌋ ≤ i + η.)
// The count bounds the mean lag, which tends to η, and not that of one sample: a straggler
// may be trained at any version.
type AReaL struct {
	// Eta is max_head_offpolicyness. Default 4 (the paper for code; 8 for
	// mathematics); 0 is synchronous.
	Eta int `yaml:"eta" default:"4" range:"[0,1024]"`
	// Concurrent is maxconc, the most samples in flight; 0 for what the slots hold.
	Concurrent int `yaml:"concurrent" range:"[0,2^20]"`
	// Interpolated spares the scoring pass: A-3PO's loglinear old log-probs.
	Interpolated bool `yaml:"interpolated"`
}

// Traits: old log-probs are those of a scoring pass at the start of the batch, the
// decoupled objective's proximal policy, or A-3PO's interpolation. (AReaL shuffles its
// batch, which is in order here.)
func (p *AReaL) Traits() Traits {
	t := Traits{Reload: Interrupt, InOrder: true, Old: BatchStart, Bound: boundOfCount(p.Eta)}
	if p.Interpolated {
		t.Old = Interpolated
	}
	return t
}

// Admit is what concurrency and the count leave.
func (p *AReaL) Admit(v View) int {
	concurrent := p.Concurrent
	if concurrent == 0 {
		concurrent = v.capacity()
	}
	return min(concurrent-v.Running, v.ahead(p.Eta*v.Batch, v.Version))
}

var arealSpec = method.Spec{
	Name: "areal", Aliases: []string{"counting"},
	Does:   "Limits by a count of samples how far generation may run ahead, and interrupts running requests at each weight update.",
	When:   "Use it for fully asynchronous training with a mean staleness of about eta, together with decoupled_ppo.",
	Source: "AReaL, arXiv:2505.24298; inclusionAI/AReaL areal/infra/staleness_manager.py, workflow_executor.py, remote_inf_engine.py; A-3PO, arXiv:2512.06547",
	Formula: "Admit = min(maxconc - run, (η + V + 1)·B - (acc + run))\n" +
		"Batch = the B done samples with the oldest submission\nOnPublish = Interrupt, Reprefill",
	Reconstruction: "The scheduler's labels are exact here; AReaL's may be one version too new, where a reply arrives late. Its dynamic batch, which counts refused samples into B, is not selectable. " +
		"Its micro-batches (algorithm 1: longest first, each into the fitting one with the fewest sequences, at most 32,768 tokens; +30 % in the paper) are not modelled: the clock's training pass is linear in tokens, so that no cut of a batch is faster than another.",
}
