package schedule

import (
	"cmp"
	"slices"
)

// kimi gives every response a budget of tokens per iteration; what is left over
// goes on in the next. B are in flight at the start of each iteration.
type kimi struct {
	// Budget is the tokens of a response per iteration.
	Budget int `yaml:"budget" default:"4096" range:"[1,2^24]"`
}

func (p *kimi) Traits() Traits {
	return Traits{Colocated: true, Quota: p.Budget, Reload: Interrupt, Bound: Unbounded}
}

// Admit fills up to a batch at the start of an iteration.
func (*kimi) Admit(v View) int {
	if !v.Idle || v.Unpublished > 0 {
		return 0
	}
	return v.Batch - v.Running - len(v.Done)
}

// Batch is what is done when nothing goes on, and nothing that was refused is to come
// again.
func (*kimi) Batch(v View) []*Sample {
	if v.Active > 0 || v.Running+len(v.Done) < v.Batch {
		return nil
	}
	return byID(v.Done)
}

// april starts more than it needs, stops at B and continues the rest next time. What
// ended beyond B at once is not stored.
type april struct {
	// OverSampling is over_sampling_batch_size in samples; 0 for twice B.
	OverSampling int `yaml:"over_sampling" range:"[0,2^20]"`
}

func (*april) Traits() Traits {
	return Traits{Colocated: true, Reload: Interrupt, Bound: Unbounded}
}

// Admit fills up to the over-sampled batch at the start of a rollout, and starts
// another where refusals leave fewer than B.
func (p *april) Admit(v View) int {
	over := max(cmp.Or(p.OverSampling, 2*v.Batch), v.Batch)
	n := len(v.Flight)
	switch {
	case !v.Idle || v.Unpublished > 0:
		return 0
	case n+len(v.Done) < v.Batch:
		return over
	case len(v.Done) == 0 && v.Flight[n-1].Step < v.Step:
		return over - n
	}
	return 0
}

// Verdict drops what ended together with the last of a batch and was not in it.
func (*april) Verdict(v View, s *Sample) Fate {
	return takeUnless(v.Published && s.Done(), Drop)
}

// copris holds the number of running samples constant, stops at B, continues the
// rest first, and knows the learner's log-prob of every token at its own version: at each
// stop the learner scores what is partial. What is carried over must stay below N'.
type copris struct {
	// Pool is N' in samples; 0 for what the slots hold. Never less than a batch.
	Pool int `yaml:"pool" range:"[0,2^20]"`
}

func (*copris) Traits() Traits {
	return Traits{Colocated: true, Reload: Interrupt, Old: AtInterrupt, Bound: Unbounded}
}

func (p *copris) Admit(v View) int {
	if !v.Idle || v.Unpublished > 0 {
		return 0
	}
	return pooled(v, p.Pool) - v.Running
}

// Seer is synchronous and makes the rollout itself shorter: requests run in chunks,
// and their keys and values are in a global pool, so that another worker can go on. The
// order does not change the tokens: each request has its own random numbers.
type Seer struct {
	Sync `yaml:"-"`
	// Chunk is the tokens after which a request gives its slot up.
	Chunk int `yaml:"chunk" default:"2048" range:"[1,2^24]"`
	// Draft is k, the tokens that siblings' suffix trees propose.
	Draft int `yaml:"draft" range:"[0,64]"`
	// AcceptPercent is p in hundredths.
	AcceptPercent int `yaml:"accept_percent" default:"60" range:"[0,99]"`
}

// Traits are the traits of Sync, with the tokens per step.
func (p *Seer) Traits() Traits {
	t := p.Sync.Traits()
	power := 1000 // of a thousand steps
	for range p.Draft + 1 {
		t.Yield += power
		power = power * p.AcceptPercent / 100
	}
	return t
}

// Place gives slots to probes, then to the longest groups.
func (p *Seer) Place(v View) []Move {
	rank := map[*Request]int{}
	for _, r := range v.Queue {
		rank[r] = urgency(r)
	}
	queue := slices.SortedFunc(slices.Values(v.Queue), func(a, b *Request) int {
		return cmp.Or(cmp.Compare(rank[b], rank[a]), cmp.Compare(a.ID, b.ID))
	})
	return newPlan(v).queue(queue, p.Chunk)
}

// urgency is highest for probes, the first request of each group; then the length
// that its group is known to come to, the cap where nothing is known.
func urgency(r *Request) int {
	const most = 1 << 40
	longest := 0
	for _, other := range r.Sample.Requests {
		if other.at == finished {
			longest = max(longest, other.Made)
		}
	}
	switch {
	case r == r.Sample.Requests[0]:
		return most + 1
	case longest == 0:
		return most
	}
	return longest
}

// Laminar lets every worker pull weights on its own, when it is empty, and packs
// stragglers together so that workers become empty sooner: every 5 s and after each update.
// No bound is configured; the published staleness is mostly below 3, at most 4.
type Laminar struct {
	// Every is the ticks from one repacking to the next.
	Every int `yaml:"every" default:"5000000" range:"[1,1000000000]"`
	// Hop is the ticks from one relay of the chain to the next.
	Hop int `yaml:"hop" default:"1000" range:"[0,1000000000]"`
	// Roofline is the most requests a worker is packed with; 0 for its slots.
	Roofline int `yaml:"roofline" range:"[0,2^20]"`
	// Cache is the most tokens a worker is packed with; 0 for any number.
	Cache int `yaml:"cache" range:"[0,1000000000]"`
}

// Traits implements Policy.
func (p *Laminar) Traits() Traits {
	return Traits{Every: p.Every, Hop: p.Hop, Old: Rollout, Bound: Unbounded}
}

// Admit keeps all slots busy, unless two batches wait.
func (*Laminar) Admit(v View) int {
	return min(v.capacity()-v.Running, v.capacity()+2*v.Batch-v.Running-len(v.Done))
}

// Place frees what workers it can, then gives waiting requests to the emptiest.
func (p *Laminar) Place(v View) []Move {
	pl := newPlan(v)
	roofline := cmp.Or(p.Roofline, v.SlotsEach)
	fits := func(w *Worker) bool {
		return w.Stale() && pl.load(w) < roofline && (p.Cache == 0 || w.Tokens(v.Now) < p.Cache)
	}
	if v.Due || v.Published {
		// Past their peak they take nothing new and are at most half full.
		for _, w := range emptiestOf(v, func(w *Worker) bool { return w.Stale() && len(w.Active) > 0 && 2*len(w.Active) <= v.SlotsEach }) {
			if pl.load(w) == len(w.Active) { // nothing has come to it meanwhile
				pl.vacate(w, fits)
			}
		}
	}
	return pl.queue(v.Queue, 0)
}

// tailBatching is synchronous and puts the long responses of many steps together: a short round starts more
// than it needs and keeps what ends first, and the prompts that it leaves over wait until there is a batch of
// them, which is a long round of its own. It needs no memory: a prompt that was left over is one that was
// submitted again.
type tailBatching struct {
	// PromptsPercent is the prompts of a short round in hundredths of a batch. Default 125 (ours).
	PromptsPercent int `yaml:"prompts_percent" default:"125" range:"[100,1000]"`
	// Extra is the responses of a short round's prompt beyond its group. Default 2 (ours).
	Extra int `yaml:"extra_responses" default:"2" range:"[0,1024]"`
}

func (p *tailBatching) Traits() Traits {
	return Traits{Colocated: true, Reload: Interrupt, Extra: p.Extra}
}

// fresh reports whether a sample's prompt comes for the first time.
func fresh(s *Sample) bool { return s.ID == s.Origin }

// begun reports whether a worker has had any of its responses.
func begun(s *Sample) bool { return s.Oldest >= 0 }

// Admit starts a short round, unless a batch is left over, and makes up for what is refused.
func (p *tailBatching) Admit(v View) int {
	left, current := 0, len(v.Done)
	for _, s := range v.Flight {
		if fresh(s) || begun(s) {
			current++
		} else {
			left++
		}
	}
	if !v.Idle || v.Unpublished > 0 || current >= v.Batch || current+left >= v.Batch && (current == 0 || p.long(v)) {
		return 0
	}
	return ceilDiv(p.PromptsPercent*(v.Batch-current), 100)
}

// long reports whether this is a long round, or the time for one.
func (p *tailBatching) long(v View) bool {
	again := 0
	for _, s := range v.Flight {
		if fresh(s) {
			return false
		}
		again++
	}
	return v.Idle && v.Unpublished == 0 && again+len(v.Done) >= v.Batch
}

// Place keeps what was left over waiting, but for a batch of it in a long round, which has no surplus.
func (p *tailBatching) Place(v View) []Move {
	batch := 0
	if p.long(v) {
		batch = v.Batch - len(v.Done)
	}
	of := v.Flight[:min(batch, len(v.Flight))]
	return newPlan(v).queue(slices.DeleteFunc(slices.Clone(v.Queue), func(r *Request) bool {
		return !fresh(r.Sample) && (r.ID-r.Sample.Requests[0].ID >= v.Group || !slices.Contains(of, r.Sample))
	}), 0)
}

// Verdict leaves over what a round began and did not keep.
func (*tailBatching) Verdict(v View, s *Sample) Fate {
	return takeUnless(v.Published && (fresh(s) || begun(s)), Requeue)
}
