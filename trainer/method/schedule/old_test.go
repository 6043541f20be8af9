package schedule

import (
	"math/rand/v2"
	"testing"
)

// busy is the ticks that the learner's lane spent on something.
func busy(c *Core, activities ...Activity) int {
	sum := 0
	for _, a := range activities {
		for _, ticks := range durations(c, Learner, a) {
			sum += ticks
		}
	}
	return sum
}

// Every way of getting old log-probs beside a synchronous run that takes the
// sampler's: what it costs is what the table says, to the tick.
func TestOldCosts(t *testing.T) {
	config := ample()
	costs := config.Costs
	of := func(old Old) *Core {
		config.Old = old
		return newDesk(t, config, &Sync{}, drawn(1, 12)).run().core
	}
	free := of(Rollout)
	n := free.counts
	pass := costs.Logp(n.TrainedTokens+n.PromptTokens, config.Trainers)
	for old, want := range map[Old]struct{ ticks, copies int }{
		Interpolated:  {0, 0},
		BatchStart:    {pass, 0},
		OfSystem:      {pass, 0},
		AtInterrupt:   {pass, 0}, // nothing is interrupted
		SyncStart:     {pass + 8*costs.Copy, 1},
		ByVersion:     {pass + 8*costs.Copy, 1},
		Mixture:       {pass + 8*costs.Copy, 1},
		MovingAverage: {pass + 8*3*costs.Copy, 1},
	} {
		got := of(old)
		if ticks := got.now - free.now; ticks != want.ticks || got.counts.Copies != want.copies {
			t.Errorf("%s takes %d ticks and %d copies, not %d and %d", oldLogProbs[old].Name, ticks, got.counts.Copies, want.ticks, want.copies)
		}
	}
	// The dedicated model scores on the workers, and loads with them: a step of one
	// request takes a pass of one token longer.
	config.Workers, config.Slots, config.Batch, config.Group = 1, 1, 4, 1
	config.Old = Rollout
	free = newDesk(t, config, &Sync{}, drawn(1, 12)).run().core
	config.Old = Dedicated
	got := newDesk(t, config, &Sync{}, drawn(1, 12)).run().core
	// The last publication comes with the end of the run, before anything loads.
	if ticks, want := got.now-free.now, costs.Logp(free.counts.DecodedTokens, 1)+7*costs.Sync; ticks != want || got.counts.Copies != 1 {
		t.Errorf("the dedicated model takes %d ticks, not %d", ticks, want)
	}
}

// On clusters of any shape, for every system: what reads no batch takes no ticks of the
// learner; snapshots are never read for less than the batch itself; their copies are
// as many as versions can still be trained; interrupted or decoded tokens are scored
// on the workers.
func TestOldCostsOfSystems(t *testing.T) {
	for _, e := range Systems {
		for seed := range fewSeeds(16) {
			r := rand.New(rand.NewPCG(seed, 11))
			config, policy := random(r), e.New()
			config.Costs.Copy++
			vary(r, policy)
			for old, how := range oldLogProbs {
				config.Old = Old(old)
				if config.Old == OfSystem {
					continue
				}
				d := newDesk(t, config, policy, drawn(seed, 20))
				d.check = func(c *Core) { invariants(t, c) }
				c := d.run().core
				scored := busy(c, Scoring)
				tokens := c.counts.TrainedTokens + c.counts.PromptTokens
				switch {
				case !how.Batch && scored != 0:
					t.Fatalf("%s, %s: the learner scores for %d ticks", e.Name, how.Name, scored)
				case how.Batch && scored < tokens*config.Costs.LearnToken/config.Trainers:
					t.Fatalf("%s, %s: the learner scores %d tokens in %d ticks", e.Name, how.Name, tokens, scored)
				case how.PerVersion && c.counts.Copies < len(c.counts.Lags)-1:
					t.Fatalf("%s, %s: %d copies for lags %v", e.Name, how.Name, c.counts.Copies, c.counts.Lags)
				case !how.PerVersion && (c.counts.Copies < how.Copies || c.counts.Copies > how.Copies+1):
					t.Fatalf("%s, %s: %d copies", e.Name, how.Name, c.counts.Copies)
				}
			}
		}
	}
}
