package schedule

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
)

// added is a whole log, added up span by span.
func added(c *Core) Use {
	learner, workers, held, slots, end := 0, 0, 0, 0, c.now
	for _, s := range c.log {
		if s.Lane == Learner {
			learner += s.To - s.From
			end = max(end, s.To)
			continue
		}
		if s.Activity == Calling { // nothing is done
			continue
		}
		workers += min(s.To, c.now) - s.From
		if s.Activity == Generating {
			held += (s.To - s.From) * c.config.Slots
			slots += s.Work
		}
	}
	if c.now == 0 {
		return Use{}
	}
	all := float64(c.now * c.config.Workers * c.config.Slots)
	return Use{End: end, IdleTrainer: 1 - float64(learner)/float64(end), IdleRollout: 1 - float64(workers)/float64(c.now*c.config.Workers),
		BubbleIntra: float64(held-slots) / all, BubbleInter: (all - float64(held)) / all}
}

// idleBy is the share of the time up to a moment in which workers did nothing, by a
// log that goes on: but for steps that new weights cut off, which it does not have.
func idleBy(c *Core, now int) float64 {
	workers := 0
	for _, s := range c.log {
		if s.Lane != Learner {
			workers += max(0, min(s.To, now)-s.From)
		}
	}
	return 1 - float64(workers)/float64(now*c.config.Workers)
}

// alike fails unless two figures are the same but for rounding.
func alike(t *testing.T, what string, got, want Use) {
	t.Helper()
	g, w := reflect.ValueOf(got), reflect.ValueOf(want)
	for i := range g.NumField() {
		if g.Field(i).CanInt() && g.Field(i).Int() != w.Field(i).Int() ||
			g.Field(i).CanFloat() && math.Abs(g.Field(i).Float()-w.Field(i).Float()) > 1e-12 {
			t.Fatalf("%s: %+v, added up %+v", what, got, want)
		}
	}
}

// Who waited is what the log adds up to at the end, and the same at every training
// whether the log is told of a stretch of decoding step by step or when it is over.
// A log that is forgotten as it grows stays the end of the whole one, and changes no
// figure and no decision.
func TestUse(t *testing.T) {
	for _, e := range Systems {
		for seed := range fewSeeds(40) {
			r := rand.New(rand.NewPCG(seed, 5))
			config, policy := random(r), e.New()
			vary(r, policy)
			var at []int // when the learner begins
			run := func(known, forget bool) (uses []Use, d *desk) {
				at = at[:0]
				d = newDesk(t, config, policy, drawn(seed, 20))
				d.known = known
				trained := 0
				d.check = func(c *Core) {
					if c.counts.Trained > trained {
						trained = c.counts.Trained
						uses, at = append(uses, c.Use()), append(at, c.now)
						if forget {
							c.Forget(1)
							for _, s := range c.log {
								if s.Lane == Learner && s.Activity == Training && s.Version < c.version-1 {
									t.Fatalf("%s, seed %d: at version %d the log has %+v", e.Name, seed, c.version, s)
								}
							}
						}
					}
				}
				return uses, d.run()
			}
			known, whole := run(true, false)
			steps, _ := run(false, false)
			if !slices.Equal(known, steps) {
				t.Fatalf("%s, seed %d: %+v with lengths known, else %+v", e.Name, seed, known, steps)
			}
			alike(t, e.Name, whole.core.Use(), added(whole.core))
			for i, now := range at {
				if got, want, step := known[i].IdleRollout, idleBy(whole.core, now), float64(config.Costs.Decode(config.Slots, 1)); now > 0 && math.Abs(got-want) > step/float64(now)+1e-12 {
					t.Fatalf("%s, seed %d: at %d workers idle %v of the time, the log says %v", e.Name, seed, now, got, want)
				}
			}
			forgot, short := run(true, true)
			if !slices.Equal(known, forgot) || short.core.Use() != whole.core.Use() || !reflect.DeepEqual(short.core.counts, whole.core.counts) || script(short.commands) != script(whole.commands) {
				t.Fatalf("%s, seed %d: what is forgotten changes the run", e.Name, seed)
			}
			for lane, spans := range timeline(short.core) {
				all := timeline(whole.core)[lane]
				for i, s := range spans {
					want := all[len(all)-len(spans)+i]
					if i == 0 && s.To == want.To { // the first may have lost what it would have continued
						want.From, want.Work = s.From, s.Work
					}
					if s != want {
						t.Fatalf("%s, seed %d, lane %d: %+v, the whole log has %+v", e.Name, seed, lane, s, want)
					}
				}
			}
		}
	}
}
