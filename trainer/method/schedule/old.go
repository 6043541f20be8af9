package schedule

import (
	"cmp"
	"slices"

	"driftlab/trainer/method"
)

// Old says where the denominator of the clipped ratio comes from, and so what the
// clock pays for it.
type Old int

// Anchors.
const (
	// OfSystem is what the policy says.
	OfSystem Old = iota
	// BatchStart scores the batch with the learner's weights before its first minibatch.
	BatchStart
	// Rollout takes the sampler's log-probs.
	Rollout
	// SyncStart scores it with the learner's weights of the last publication.
	SyncStart
	// ByVersion scores every token with the version that sampled it, from kept copies.
	ByVersion
	// Dedicated has a copy of the learner for every rollout engine, which follows its
	// version and scores each token as it is decoded.
	Dedicated
	// AtInterrupt scores partial responses before other weights come, and again their
	// prefixes at every stop.
	AtInterrupt
	// MovingAverage scores the batch with a moving average of the learner's weights.
	MovingAverage
	// Interpolated mixes the sampler's and the present log-probs (A-3PO).
	Interpolated
	// Mixture scores the whole batch with each version in it, from kept copies.
	Mixture
)

// oldLogProbs are the ways of getting old log-probs, each with what it costs; a row
// for each Old. What a simulator scores in addition to that, to compare with, is not charged.
//
// Source: 2605.12070 for the exact ways: copies of max lag + 1 versions, one copy and a
// pass per token, or a stall.
var oldLogProbs = [...]struct {
	// Name is what a recipe or a simulation calls it.
	Name string
	// Batch says that the learner scores every batch; Versions that it reads a response
	// once for each version that it has tokens of, EveryVersion for each of the batch.
	Batch, Versions, EveryVersion bool
	// Copies is the copies of the weights in addition to the learner's own; PerVersion that
	// there is one for each version that can still be trained.
	Copies     int
	PerVersion bool
	// Swaps says that the learner's weights give way to a copy while it scores, where
	// they are not the same; Keeps that a copy is made at each publication, Averages
	// that one is brought up to date at each update.
	Swaps, Keeps, Averages bool
	// Decoded says that each token is scored where it is decoded, by weights that are
	// loaded in addition to the engine's; Stalls that what is partial is scored before other
	// weights come.
	Decoded, Stalls bool
}{
	OfSystem:      {Name: "system"},
	BatchStart:    {Name: "batch_start", Batch: true},
	Rollout:       {Name: "rollout"},
	SyncStart:     {Name: "sync_start", Batch: true, Copies: 1, Swaps: true, Keeps: true},
	ByVersion:     {Name: "snapshots", Batch: true, Versions: true, PerVersion: true, Swaps: true, Keeps: true},
	Dedicated:     {Name: "dedicated", Copies: 1, Decoded: true},
	AtInterrupt:   {Name: "interrupt", Batch: true, Stalls: true},
	MovingAverage: {Name: "ewma", Batch: true, Copies: 1, Swaps: true, Averages: true},
	Interpolated:  {Name: "interpolated"},
	Mixture:       {Name: "mixture", Batch: true, EveryVersion: true, PerVersion: true, Swaps: true, Keeps: true},
}

// LookupOld finds a way by its name.
func LookupOld(name string) (Old, error) {
	var names []string
	for old, how := range oldLogProbs {
		if how.Name == name {
			return Old(old), nil
		}
		names = append(names, how.Name)
	}
	return 0, method.UnknownName(name, names)
}

// old is where the old log-probs come from.
func (c *Core) old() Old {
	if c.config.Old != OfSystem {
		return c.config.Old
	}
	return cmp.Or(c.traits.Old, BatchStart)
}

// scoring is the ticks that the learner takes for the old log-probs of its batch, fresh
// and replayed, of that many tokens with their prompts.
func (c *Core) scoring(tokens int) int {
	how, costs := oldLogProbs[c.old()], c.config.Costs
	if !how.Batch {
		return 0
	}
	if how.Stalls && c.traits.Colocated { // these devices score what is partial
		for _, s := range c.flight {
			for _, r := range s.Requests {
				tokens += r.Made
			}
		}
	}
	swaps := 0
	switch {
	case how.Versions || how.EveryVersion:
		own, versions := c.byVersion()
		if tokens *= len(versions); how.Versions {
			tokens = own
		}
		for _, v := range versions {
			if v != c.version || c.unpublished > 0 {
				swaps++
			}
		}
	case how.Averages || how.Swaps && c.unpublished > 0:
		swaps = 1
	}
	if swaps > 0 {
		swaps++ // back to the learner's own
	}
	return costs.Logp(tokens, c.config.Trainers) + swaps*costs.Copy
}

// byVersion is the tokens that the learner reads if it scores every response of its
// batch once for each version in it, and these versions.
func (c *Core) byVersion() (tokens int, versions []int) {
	for _, list := range [...][]*Sample{c.batch, c.replayed} {
		for _, s := range list {
			for _, r := range s.Requests {
				if r.at != finished {
					continue
				}
				var of []int
				for _, p := range r.Pieces {
					if !slices.Contains(of, p.Version) {
						of = append(of, p.Version)
					}
					if !slices.Contains(versions, p.Version) {
						versions = append(versions, p.Version)
					}
				}
				tokens += len(of) * r.Prefix()
			}
		}
	}
	return tokens, versions
}

// charged are the ticks that something takes where the way to the old log-probs has it.
func charged(has bool, ticks int) int {
	if has {
		return ticks
	}
	return 0
}

// scoredBefore is the ticks that a worker takes before it loads other weights.
func (c *Core) scoredBefore(w *Worker) int {
	if !oldLogProbs[c.old()].Stalls || c.traits.Colocated {
		return 0
	}
	tokens := 0
	for _, r := range w.Active {
		if r.Made > 0 {
			tokens += r.Prefix()
		}
	}
	return c.config.Costs.Logp(tokens, c.config.Engine)
}

// copies counts the copies of the weights that there are now in addition to the learner's and
// one in each worker: those of the old log-probs, and the published one that waits for
// workers whose requests keep their version.
func (c *Core) copies() int {
	how := oldLogProbs[c.old()]
	n := how.Copies
	if how.PerVersion {
		n += c.version - c.oldestIn(c.flight, c.done) + 1
	}
	if slices.ContainsFunc(c.workers, func(w *Worker) bool { return w.Stale() && w.reload == Pin }) {
		n++
	}
	return n
}
