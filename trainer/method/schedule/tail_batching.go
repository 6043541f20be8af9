package schedule

import (
	"slices"

	"driftlab/trainer/method"
)

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

// Traits implements Policy.
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
	pl, batch := newPlan(v), 0
	if p.long(v) {
		batch = v.Batch - len(v.Done)
	}
	of := v.Flight[:min(batch, len(v.Flight))]
	for _, r := range v.Queue {
		if !fresh(r.Sample) && (r.ID-r.Sample.Requests[0].ID >= v.Group || !slices.Contains(of, r.Sample)) {
			continue
		}
		w := pl.emptiest()
		if w == nil {
			break
		}
		pl.move(Move{Request: r, Worker: w.ID})
	}
	return pl.moves
}

// Verdict leaves over what a round began and did not keep.
func (*tailBatching) Verdict(v View, s *Sample) Fate {
	if v.Published && (fresh(s) || begun(s)) {
		return Requeue
	}
	return Take
}

var tailBatchingSpec = method.Spec{
	Name: "tail_batching", Aliases: []string{"rollpacker"},
	Does:    "Starts surplus prompts and responses, keeps a batch of what ends first, and collects the prompts left over into long rounds of their own.",
	When:    "Use it to shorten the tail of a synchronous step without staleness; the long responses are trained later and together.",
	Source:  "RollPacker, arXiv:2509.21009, read through a review",
	Formula: "short round: η·P prompts with R + extra responses, the first P·R are kept, the other prompts wait; long round, once P wait: those P with R responses",
	Reconstruction: "What is left over begins again: its tokens are waste. Both surpluses are ours. Where dynamic sampling refuses part of a long round, others that wait fill it, then new prompts. " +
		"SortedRL (arXiv:2603.23414), which updates on short responses first and limits the rest by a cache, is left out: its abstract alone was read, which gives no rule and no parameters.",
}
