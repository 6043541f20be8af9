package schedule

import "driftlab/trainer/method"

// Verl is verl's fully asynchronous trainer in its four modes:
//
//	mode a, on-policy           K = 1, S = 0
//	mode b, stream off-policy   K > 1, S = 0
//	mode c, stale               S > 0
//	mode d, partial             S > 0, partial
//
// Stale samples are those submitted since the last publication, and what it left over,
// without the refused. A resumed sample does not count as submitted; the queue cannot
// overflow, since what runs and waits is never more than LIM.
type Verl struct {
	// K is trigger_parameter_sync_step, updates per publication.
	K int `yaml:"k" default:"4" range:"[1,1024]"`
	// StalenessPercent is staleness_threshold S in hundredths. verl
	// advises less than 100.
	StalenessPercent int `yaml:"staleness_percent" default:"10" range:"[0,10000]"`
	// Partial interrupts running responses; without it publication waits for them.
	Partial bool `yaml:"partial"`
	// RequireBatches is the number of batches B in one update.
	RequireBatches int `yaml:"require_batches" default:"1" range:"[1,1024]"`
	// Prox scores with the learner's weights of the last publication
	// (compute_prox_log_prob); without it the old log-probs are the sampler's.
	Prox bool `yaml:"prox"`
}

// Traits: the bound is 0 without staleness, 1 where S ≤ 1 and nothing is interrupted.
func (p *Verl) Traits() Traits {
	t := Traits{Interval: p.K, Waits: !p.Partial, Old: Rollout, Bound: Unbounded}
	if p.Partial {
		t.Reload = Interrupt
	}
	if p.Prox {
		t.Old = SyncStart
	}
	switch {
	case p.StalenessPercent == 0:
		t.Bound = 0
	case p.StalenessPercent <= 100 && !p.Partial:
		t.Bound = 1
	}
	return t
}

// limit is LIM for batches of that many samples.
func (p *Verl) limit(batch int) int {
	return p.RequireBatches * batch * (100 + p.StalenessPercent) * p.K / 100
}

// Admit is what the gate lets through.
func (p *Verl) Admit(v View) int {
	if v.Unpublished >= p.K { // a publication is due and waits
		return 0
	}
	limit := p.limit(v.Batch)
	const perServer = 16
	concurrent := min(v.capacity(), perServer*len(v.Workers), limit)
	return min(limit-(v.kept()-v.TrainedBefore), limit-len(v.Done), concurrent-v.Running)
}

// Batch takes from the front of the queue.
func (p *Verl) Batch(v View) []*Sample {
	n := p.RequireBatches * v.Batch
	if len(v.Done) < n {
		return nil
	}
	return byID(v.Done[:n])
}

// verl makes the policy of one of the modes.
func verl(k, stalenessPercent int, partial bool) func() Policy {
	return func() Policy {
		p := method.New[Verl]()
		p.K, p.StalenessPercent, p.Partial = k, stalenessPercent, partial
		return p
	}
}

func verlSpec(mode, alias, what, does, when string) method.Spec {
	return method.Spec{
		Name: "verl_" + mode, Aliases: []string{alias}, Does: does, When: when,
		Source: "verl docs/advance/fully_async.md, " + alias + ": " + what + "; experimental/fully_async_policy/fully_async_rollouter.py, fully_async_trainer.py",
		Formula: "LIM = ⌊Rb·(1 + S)·K⌋\nAdmit = min(LIM - stale, LIM - queue, concurrency - run)\n" +
			"Batch = Rb in the order of their end; publish every K updates",
		Example: "B = 64, K = 4, S = 0.5: LIM = 384\n" +
			"256 trained per publication, so at most 128 samples are carried over\n" +
			"S = 0: nothing is carried over, every sample is of the present version",
		Reconstruction: "A shut gate opens as soon as its condition holds; verl's waits for all that runs first. The log's versions are of tokens; verl labels a sample by the version at its end, which hides staleness.",
	}
}
