package schedule

import (
	"cmp"
	"slices"

	"driftlab/trainer/method"
)

// Seer is synchronous and makes the rollout itself shorter: requests run in chunks,
// and their keys and values are in a global pool, so that another worker can go on. The
// tokens are those of any order: each request has its own random numbers.
type Seer struct {
	Sync `yaml:"-"`
	// Chunk is the tokens after which a request gives its slot up.
	Chunk int `yaml:"chunk" default:"2048" range:"[1,2^24]"`
	// Draft is k, the tokens that siblings' suffix trees propose.
	Draft int `yaml:"draft" range:"[0,64]"`
	// AcceptPercent is p in hundredths.
	AcceptPercent int `yaml:"accept_percent" default:"60" range:"[0,99]"`
}

// Traits are those of Sync, with the tokens per step.
func (p *Seer) Traits() Traits {
	t := p.Sync.Traits()
	t.Yield = p.yield()
	return t
}

// yield is the tokens of a thousand steps.
func (p *Seer) yield() int {
	yield, power := 0, 1000
	for range p.Draft + 1 {
		yield += power
		power = power * p.AcceptPercent / 100
	}
	return yield
}

// Place gives slots to probes, then to the longest groups.
func (p *Seer) Place(v View) []Move {
	pl := newPlan(v)
	type entry struct {
		r    *Request
		rank int
	}
	queue := make([]entry, len(v.Queue))
	for i, r := range v.Queue {
		queue[i] = entry{r, urgency(r)}
	}
	slices.SortFunc(queue, func(a, b entry) int {
		return cmp.Or(cmp.Compare(b.rank, a.rank), cmp.Compare(a.r.ID, b.r.ID))
	})
	for _, e := range queue {
		w := pl.emptiest()
		if w == nil {
			break
		}
		pl.move(Move{Request: e.r, Worker: w.ID, Steps: p.Chunk})
	}
	return pl.moves
}

// urgency is highest for probes, the first request of each group; then the length
// that its group is known to come to, the cap where nothing is known.
func urgency(r *Request) int {
	const most = 1 << 40
	longest := r.Sample.longest()
	switch {
	case r == r.Sample.Requests[0]:
		return most + 1
	case longest == 0:
		return most
	}
	return longest
}

var seerSpec = method.Spec{
	Name: "seer", Aliases: []string{"divided_rollout"},
	Does:    "Cuts rollouts into chunks, estimates a group's length from a probe response and starts the longest group first, within a synchronous step.",
	When:    "Use it to shorten the long tail of generation without staleness, where most requests of a batch have to wait for a slot.",
	Source:  "Seer, arXiv:2511.14617",
	Formula: "chunks; a probe per group first, then the longest group first, to the least busy worker; drafts yield (1 - p^(k+1))/(1 - p)",
	Reconstruction: "The yield is the exact law of independent acceptances, and drafts are free; both are inferred. What a group's length is becomes known when its probe ends. " +
		"Where a batch comes in one or two waves, most of it runs by then, the probes of short groups stand before siblings of long ones, and the tail is no shorter, even with equal lengths in a group (on the clock up to a tenth longer). " +
		"In eight waves it falls to about a third: the gain is what waits.",
}
