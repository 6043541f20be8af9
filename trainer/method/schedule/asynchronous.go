package schedule

import (
	"cmp"
	"slices"
)

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

// Traits say that old log-probs come from a scoring pass at the start of the batch, the
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
	return min(cmp.Or(p.Concurrent, v.capacity())-v.Running, v.ahead(p.Eta*v.Batch, v.Version))
}

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

func (p *asyncFlow) Traits() Traits {
	return Traits{Stream: p.Micro, Bound: boundOfCount(p.Threshold)}
}

func (p *asyncFlow) Admit(v View) int {
	return v.ahead(p.Threshold*v.Batch, v.Version)
}

// echo2 serves a learner by remote workers, which weights reach late: worker i runs
// version V(t - delay_i). A sample that is too old comes again from its prompt.
type echo2 struct {
	// Staleness is S, which the user sets. The paper is stable up to 6.
	Staleness int `yaml:"staleness" default:"4" range:"[1,1024]"`
	// Hop is the ticks that weights take from one worker of the chain to the next.
	Hop int `yaml:"hop" default:"10000" range:"[0,1000000000]"`
}

func (p *echo2) Traits() Traits {
	return Traits{Hop: p.Hop, Bound: p.Staleness}
}

// Admit is AReaL's.
func (p *echo2) Admit(v View) int { return (&AReaL{Eta: p.Staleness}).Admit(v) }

// Verdict has the prompts of what is too old submitted again.
func (p *echo2) Verdict(v View, s *Sample) Fate {
	return takeUnless(s.Lag(v.Version) > p.Staleness, Requeue)
}

// pipelineRL updates weights in flight and counts its lag in samples.
type pipelineRL struct {
	// MaxLag is max_lag, in responses.
	MaxLag int `yaml:"max_lag" default:"1024" range:"[0,2^20]"`
}

func (p *pipelineRL) Traits() Traits {
	return Traits{Reload: Interrupt, Cache: KeepStale, Old: Rollout, Bound: boundOfCount(p.MaxLag)}
}

func (p *pipelineRL) Admit(v View) int {
	return v.ahead(ceilDiv(p.MaxLag, v.Group), v.Step)
}

// primeRL keeps a pool of requests running and throws away what is too old. The step
// that is being made is V + 1. A group ages as one: with a small m and long responses, no
// long sample is ever trained. Its loss divides by μ.
type primeRL struct {
	// MaxOffPolicy is m, max_off_policy_steps.
	MaxOffPolicy int `yaml:"max_off_policy" default:"8" range:"[0,1024]"`
	// Concurrent is the most samples in flight; 0 for what the slots hold.
	Concurrent int `yaml:"concurrent" range:"[0,2^20]"`
}

func (p *primeRL) Traits() Traits {
	return Traits{Reload: Interrupt, Old: Rollout, Bound: p.MaxOffPolicy}
}

// Admit fills the pool, as long as a batch for every version in the window is not
// waiting already.
func (p *primeRL) Admit(v View) int {
	if len(v.Done) >= (p.MaxOffPolicy+1)*v.Batch {
		return 0
	}
	return cmp.Or(p.Concurrent, v.capacity()) - v.Running
}

func (p *primeRL) Verdict(v View, s *Sample) Fate {
	return takeUnless(s.Lag(v.Version) > p.MaxOffPolicy, Drop)
}

// takeUnless is the fate of a sample to which a policy objects, and Take of any other.
func takeUnless(objects bool, fate Fate) Fate {
	if objects {
		return fate
	}
	return Take
}

// SkyRL admits by AReaL's count, within B ≤ W ≤ B·(S + 1), and keeps stale keys and
// values (clear_kv_cache_on_weight_sync is false). Samples older than S are trained and
// counted. A group that is filtered out after it was done leaves acc, or the run would
// stand still.
type SkyRL struct {
	// Staleness is S, max_staleness_steps.
	Staleness int `yaml:"staleness" default:"4" range:"[0,1024]"`
	// Workers is W, the most samples in flight; 0 for what the slots hold, within
	// its limits.
	Workers int `yaml:"workers" range:"[0,2^20]"`
}

// Traits implements Policy.
func (p *SkyRL) Traits() Traits {
	return Traits{Reload: Interrupt, Cache: KeepStale, Old: Rollout, Bound: boundOfCount(p.Staleness)}
}

// Admit is what concurrency and the count leave.
func (p *SkyRL) Admit(v View) int {
	concurrent := min(max(cmp.Or(p.Workers, v.capacity()), v.Batch), v.Batch*(p.Staleness+1))
	return min(concurrent-v.Running, v.ahead(p.Staleness*v.Batch, v.Version))
}

// slimeFullyAsync keeps a constant pool running, without any bound on the lag, while
// fewer than the pool wait.
type slimeFullyAsync struct {
	// Pool is the number of samples in flight; 0 for what the slots hold. Never
	// less than a batch.
	Pool int `yaml:"pool" range:"[0,2^20]"`
}

func (*slimeFullyAsync) Traits() Traits {
	return Traits{Reload: Interrupt, Cache: Restart, Bound: Unbounded}
}

func (p *slimeFullyAsync) Admit(v View) int {
	pool := pooled(v, p.Pool)
	if len(v.Done) >= pool {
		return 0
	}
	return pool - v.Running
}

// pooled is a number of samples in flight: 0 stands for what the slots hold, and a
// batch is the least.
func pooled(v View, pool int) int { return max(cmp.Or(pool, v.capacity()), v.Batch) }

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

func (p *streamRL) Traits() Traits {
	t := Traits{Stream: p.Micro}
	if p.Async {
		t.Bound = 1
	}
	return t
}

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

// trl is its asynchronous GRPO: samples that are too old are dropped when taken.
type trl struct {
	// MaxStaleness is the greatest lag. Default 4 (the configuration's; the data
	// set class says 3).
	MaxStaleness int `yaml:"max_staleness" default:"4" range:"[1,1024]"`
	// WeightSyncSteps is the number of updates per publication.
	WeightSyncSteps int `yaml:"weight_sync_steps" default:"1" range:"[1,1024]"`
}

func (p *trl) Traits() Traits {
	return Traits{Reload: Interrupt, Interval: p.WeightSyncSteps, Old: Rollout, Bound: p.MaxStaleness}
}

func (p *trl) Admit(v View) int { return p.MaxStaleness*v.Batch - v.Running - len(v.Done) }

// Verdict looks at what is done, not at what runs.
func (p *trl) Verdict(v View, s *Sample) Fate {
	return takeUnless(s.Done() && s.Lag(v.Version) > p.MaxStaleness, Drop)
}

// RollFlash bounds the staleness of each sample by waiting for the oldest: its scheduler for
// verifiable rewards (RLVR). Of a fractional a, at most ⌊B·frac(a)⌋ come from the oldest
// start step, and what began at that step or before is dropped when weights are published.
type RollFlash struct {
	// RatioPercent is async_generation_ratio a in hundredths. 0 is synchronous.
	RatioPercent int `yaml:"ratio_percent" default:"100" range:"[0,102400]"`
	// Additional is max_additional with use_additional_prompts (16 there): while fewer
	// samples run or are done in excess of the count, more are submitted, whatever the
	// count says. Default 0: none.
	Additional int `yaml:"additional" range:"[0,2^20]"`
}

// Traits implements Policy.
func (p *RollFlash) Traits() Traits {
	return Traits{Reload: Interrupt, Bound: p.most()}
}

// Admit is what the count leaves, or the additional prompts if these are more: those
// that are done in excess count as running, or a fast rollout would never stop.
func (p *RollFlash) Admit(v View) int {
	left := admitAhead(v, p.RatioPercent)
	if p.Additional == 0 {
		return left
	}
	extra := max(0, -left-v.Running)
	return max(left, p.Additional-(v.Running+extra))
}

// admitAhead lets generation be a batches, a in hundredths, ahead of the step.
func admitAhead(v View, percent int) int {
	return v.ahead(ceilDiv(percent*v.Batch, 100), v.Step)
}

// Verdict drops what began too long ago: only surplus prompts, for Batch waited
// for the others.
func (p *RollFlash) Verdict(v View, s *Sample) Fate {
	return takeUnless(v.Step-s.Step > p.most(), Drop)
}

// Batch goes from the oldest start to the newest.
func (p *RollFlash) Batch(v View) []*Sample {
	if len(v.Done) < v.Batch {
		return nil
	}
	running := make([]int, p.most()+1)
	for _, s := range v.Flight {
		running[s.Step-(v.Step-p.most())]++
	}
	var batch []*Sample
	for g := range running {
		most := v.Batch - len(batch)
		if part := p.RatioPercent % 100; g == 0 && part != 0 {
			most = min(most, v.Batch*part/100)
		}
		n := 0
		for _, s := range v.Done {
			if s.Step == v.Step-p.most()+g && n < most {
				batch = append(batch, s)
				n++
			}
		}
		switch {
		case len(batch) == v.Batch:
			return byID(batch)
		case n < most && running[g] > 0:
			return nil
		}
	}
	return nil
}

// most is ⌈a⌉, the greatest lag.
func (p *RollFlash) most() int { return ceilDiv(p.RatioPercent, 100) }

// rollAgentic is ROLL Flash for episodes (user_defined_rollout_loop.py): it waits for
// no sample and drops the old ones.
type rollAgentic struct {
	// RatioPercent is async_generation_ratio a in hundredths.
	RatioPercent int `yaml:"ratio_percent" default:"100" range:"[0,102400]"`
	// Redundancy is group_size_redundancy.
	Redundancy int `yaml:"redundancy" range:"[0,64]"`
}

func (p *rollAgentic) Traits() Traits {
	return Traits{Reload: Interrupt, Extra: p.Redundancy, InOrder: true, Bound: p.RatioPercent / 100}
}

func (p *rollAgentic) Admit(v View) int { return admitAhead(v, p.RatioPercent) }

// Verdict drops what was created too long ago.
func (p *rollAgentic) Verdict(v View, s *Sample) Fate {
	return takeUnless(100*(v.Step-s.Step) > p.RatioPercent, Drop)
}

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

// Traits say that the bound is 0 without staleness, 1 where S ≤ 1 and nothing is interrupted.
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
	v.Batch *= p.RequireBatches
	return batchFirst(v)
}

func verl(k, stalenessPercent int, partial bool) func(*Verl) {
	return func(p *Verl) { p.K, p.StalenessPercent, p.Partial = k, stalenessPercent, partial }
}

// verlV1 is verl's second trainer (v1): a batch enters per step, some batches ahead. A sample's span is the
// number of steps from its dispatch to now, both counted. Dropping bounds the span of what is trained. Waiting
// does not: only running samples hold the trainer up, and done ones that are not taken grow older.
type verlV1 struct {
	// Threshold is t, max_off_policy_threshold, in steps; 1 is the present step alone.
	Threshold int `yaml:"max_off_policy_threshold" default:"8" range:"[1,1024]"`
	// Wait is the strategy wait in place of drop.
	Wait bool `yaml:"wait"`
	// Warmup is num_warmup_batches, the batches ahead.
	Warmup int `yaml:"num_warmup_batches" default:"1" range:"[0,1024]"`
	// SyncStep is parameter_sync_step of separate_async, the updates per publication (4 there). 0 is
	// colocate_async: the same devices generate and train in turns.
	SyncStep int `yaml:"parameter_sync_step" range:"[0,1024]"`
}

func (p *verlV1) Traits() Traits {
	t := Traits{Reload: Interrupt, Colocated: p.SyncStep == 0, Interval: p.SyncStep, Bound: p.Threshold - 1}
	if p.Wait {
		t.Bound = boundOfCount(p.Warmup)
	}
	return t
}

// Admit is a batch per step; what is dropped is replaced one for one.
func (p *verlV1) Admit(v View) int { return v.ahead(p.Warmup*v.Batch, v.Step) }

// span is 1 for a sample of the present step.
func span(v View, s *Sample) int { return v.Step - s.Step + 1 }

// Batch takes the done samples of the smallest step first.
func (p *verlV1) Batch(v View) []*Sample {
	if len(v.Done) < v.Batch || p.Wait && len(v.Flight) > 0 && span(v, v.Flight[0]) >= p.Threshold {
		return nil
	}
	oldest := slices.SortedStableFunc(slices.Values(v.Done), func(a, b *Sample) int { return cmp.Compare(a.Step, b.Step) })
	return byID(oldest[:v.Batch])
}

// Verdict drops what is done and too old.
func (p *verlV1) Verdict(v View, s *Sample) Fate {
	return takeUnless(!p.Wait && s.Done() && span(v, s) > p.Threshold, Drop)
}
