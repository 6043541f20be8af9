package schedule

import (
	"math/rand/v2"
	"slices"
	"testing"

	"driftlab/precision/must"
)

// Each test is of a property that systems.md gives for its system, by section.

// ample is a cluster in which nothing waits for a slot.
func ample() Config {
	config := tiny()
	config.Slots, config.Steps = 8, 8
	return config
}

// durations are the ticks that the lanes spent on an activity, by version.
func durations(c *Core, lane int, a Activity) []int {
	var d []int
	for _, s := range c.log {
		if s.Lane == lane && s.Activity == a {
			d = append(d, s.To-s.From)
		}
	}
	return d
}

// rollouts are the times from the first Start of each batch to the end of its last
// response, for systems that generate batch by batch.
func rollouts(commands []Command) []int {
	var times []int
	begin, end := -1, 0
	for _, c := range commands {
		switch c.Kind {
		case Start:
			if c.Requests[0]%8 == 0 && begin >= 0 {
				times, begin = append(times, end-begin), -1
			}
			if begin < 0 {
				begin = c.Time
			}
		case Decode:
			end = c.Time
		}
	}
	return append(times, end-begin)
}

// 2.1: one version; the wall time is the sum of generation, scoring, training and
// synchronisation, exactly.
func TestSyncIsASum(t *testing.T) {
	d := newDesk(t, ample(), &Sync{}, drawn(1, 12)).run()
	sum := 0
	for _, list := range [][]int{rollouts(d.commands), durations(d.core, Learner, Scoring), durations(d.core, Learner, Training), durations(d.core, Learner, Pushing)} {
		if len(list) != 8 {
			t.Fatalf("%d steps of 8", len(list))
		}
		for _, ticks := range list {
			sum += ticks
		}
	}
	if sum != d.core.now || d.core.counts.Span != 0 || len(d.core.counts.Lags) != 1 {
		t.Errorf("the parts take %d ticks, the run %d; %+v", sum, d.core.now, d.core.counts)
	}
}

// 2.2: lags 0, 1, 1, ...; wall(n) = max(gen, logp + train) + Sync.
func TestOneStepOffOverlaps(t *testing.T) {
	d := newDesk(t, ample(), &OneStepOff{Interval: 1}, drawn(1, 12)).run()
	lags := d.core.counts.Lags
	if len(lags) != 2 || lags[0] != 4 || lags[1] != 28 {
		t.Errorf("lags %v", lags)
	}
	gen, train := rollouts(d.commands), durations(d.core, Learner, Training)
	var starts []int
	for _, c := range d.commands {
		if c.Kind == Train {
			starts = append(starts, c.Time)
		}
	}
	for n := 1; n < len(starts); n++ {
		if got, want := starts[n]-starts[n-1], max(gen[n], train[n-1])+d.core.config.Costs.Sync; got != want {
			t.Errorf("step %d takes %d, not %d", n, got, want)
		}
	}
}

// 2.3, 2.15: streaming is never slower than waiting for the batch, and by
// asynchrony alone at most twice as fast; the samples of each update are the same.
func TestStreamingGains(t *testing.T) {
	for seed := range uint64(10) {
		sync := newDesk(t, ample(), &Sync{}, drawn(seed, 12)).run()
		for _, p := range []Policy{&streamRL{Micro: 1}, &Periodic{Micro: 1}, &asyncFlow{Micro: 2}} {
			d := newDesk(t, ample(), p, drawn(seed, 12)).run()
			if d.core.now > sync.core.now || 2*d.core.now < sync.core.now {
				t.Errorf("%T: %d ticks, %d when synchronous", p, d.core.now, sync.core.now)
			}
			if a, b := updates(d.commands), updates(sync.commands); !slices.EqualFunc(a, b, slices.Equal) {
				t.Errorf("%T: updates of %v, not %v", p, a, b)
			}
		}
	}
}

// updates are the samples of each update, in order.
func updates(commands []Command) [][]int {
	var all [][]int
	var one []int
	for _, c := range commands {
		if c.Kind == Train {
			if one = append(one, c.Samples...); c.Update {
				slices.Sort(one)
				all, one = append(all, one), nil
			}
		}
	}
	return all
}

// 2.4, 2.7: the count inequality holds at every event, also when nine of ten samples
// are refused, and the run comes to its end.
func TestCountHolds(t *testing.T) {
	for seed := range seeds(40) {
		r := rand.New(rand.NewPCG(seed, 6))
		config, eta := random(r), r.IntN(4)
		for _, p := range []Policy{&AReaL{Eta: eta}, &SkyRL{Staleness: eta}} {
			config.Graded = true
			d := newDesk(t, config, p, drawn(seed, 10))
			d.refuse = mostly(seed)
			d.check = func(c *Core) {
				invariants(t, c)
				if n, most := c.accepted+len(c.flight), (eta+c.version+1)*config.Batch; n > most {
					t.Fatalf("%T: %d accepted and running at version %d, at most %d", p, n, c.version, most)
				}
			}
			d.run()
			if last := d.commands[len(d.commands)-1]; last.Stuck {
				t.Fatalf("%T, seed %d: stands still", p, seed)
			}
			if d.core.counts.Dropped == 0 && d.core.counts.Submitted > 40 {
				t.Errorf("%T, seed %d: nothing was refused of %d", p, seed, d.core.counts.Submitted)
			}
		}
	}
}

// 2.5: stale samples never exceed LIM; right after a publication they are at most
// LIM - Rb·K.
func TestVerlGate(t *testing.T) {
	for seed := range seeds(40) {
		r := rand.New(rand.NewPCG(seed, 7))
		config := random(r)
		p := &Verl{K: 1 + r.IntN(3), StalenessPercent: 25 * r.IntN(5), Partial: r.IntN(2) == 0, RequireBatches: 1 + r.IntN(2)}
		limit := p.limit(config.Batch)
		d := newDesk(t, config, p, drawn(seed, 10))
		d.check = func(c *Core) {
			if stale := c.accepted + len(c.flight) - c.trainedBefore; stale > limit {
				t.Fatalf("%+v: %d stale of at most %d", p, stale, limit)
			}
			if left := len(c.flight) + len(c.done); c.phase == publishing && c.published && left > limit-p.RequireBatches*config.Batch*p.K {
				t.Fatalf("%+v: %d left over by a publication, limit %d", p, left, limit)
			}
		}
		d.run()
	}
}

// 2.6: of G + redundancy responses the first G are kept, the others evicted.
func TestRedundancy(t *testing.T) {
	p := &rollAgentic{RatioPercent: 100, Redundancy: 2}
	d := newDesk(t, ample(), p, drawn(2, 30)).run()
	evicted := 0
	for _, c := range d.commands {
		if c.Kind == Evict {
			evicted += len(c.Requests)
		}
	}
	n := d.core.counts
	if n.Responses != 2*n.Trained || evicted == 0 || n.WastedTokens == 0 {
		t.Errorf("%d responses of %d samples, %d evicted: %+v", n.Responses, n.Trained, evicted, n)
	}
}

// 2.9: a response that is interrupted any number of times loses and repeats nothing.
func TestPartialRolloutsLoseNothing(t *testing.T) {
	for _, p := range []Policy{&kimi{Budget: 3}, &april{}, &copris{Pool: 7}} {
		d := newDesk(t, ample(), p, drawn(4, 9))
		d.check = func(c *Core) { invariants(t, c) }
		d.run()
		if n := d.core.counts; n.Mixed == 0 || n.Dropped == 0 && n.WastedTokens > 0 {
			t.Errorf("%T: %+v", p, n)
		}
	}
}

// 2.10: with equal lengths the learner never waits if the inequality holds, and
// waits the less the greater S.
func TestEcho2(t *testing.T) {
	last := -1
	for s := 1; s <= 5; s++ {
		config := ample()
		config.Steps = 30
		d := newDesk(t, config, &echo2{Staleness: s, Hop: 5}, func(int, int) int { return 20 }).run()
		busy := 0
		for _, a := range []Activity{Scoring, Training, Pushing} {
			for _, ticks := range durations(d.core, Learner, a) {
				busy += ticks
			}
		}
		idle := d.core.now - busy
		if last >= 0 && idle > last {
			t.Errorf("S = %d: idle %d, before %d", s, idle, last)
		}
		last = idle
	}
}

// 2.11: depth 1 gives lag 1; overlap alone gains at most (T_g + T_t)/max ≤ 2.
func TestLlamaRL(t *testing.T) {
	config := ample()
	equal := func(int, int) int { return 15 }
	d := newDesk(t, config, &LlamaRL{Depth: 1}, equal).run()
	sync := newDesk(t, config, &Sync{}, equal).run()
	if len(d.core.counts.Lags) > 2 {
		t.Errorf("lags %v", d.core.counts.Lags)
	}
	if 2*d.core.now < sync.core.now {
		t.Errorf("%d ticks, %d when synchronous", d.core.now, sync.core.now)
	}
}

// 2.13: the training of Sync; the wall time differs by N·c·(1 - 1/W).
func TestDistFlow(t *testing.T) {
	one := newDesk(t, ample(), &distFlow{Service: 40, Controllers: 1}, drawn(1, 12)).run()
	four := newDesk(t, ample(), &distFlow{Service: 40, Controllers: 4}, drawn(1, 12)).run()
	sync := newDesk(t, ample(), &Sync{}, drawn(1, 12)).run()
	const samples = 8 * 4
	if got := one.core.now - four.core.now; got != samples*40*3/4 {
		t.Errorf("four controllers save %d ticks, not %d", got, samples*40*3/4)
	}
	if !slices.EqualFunc(updates(one.commands), updates(sync.commands), slices.Equal) {
		t.Error("the updates are not those of sync")
	}
}

// 2.14, 2.17: no trajectory has tokens of two versions; what moves stays with its
// version; DORA discards nothing.
func TestVersionsStay(t *testing.T) {
	for seed := range seeds(40) {
		r := rand.New(rand.NewPCG(seed, 8))
		config := random(r)
		config.Workers++
		for _, p := range []Policy{&Laminar{Every: 30, Hop: r.IntN(9)}, &dora{K: 1 + r.IntN(3)}} {
			d := newDesk(t, config, p, drawn(seed, 25))
			at := map[int]int{}
			for d.step() {
				c := d.commands[len(d.commands)-1]
				for _, id := range c.Requests {
					if c.Kind == Evict {
						at[id] = c.Version
					} else if v, moved := at[id]; moved && v != c.Version {
						t.Fatalf("%T: request %d moved from version %d to %d", p, id, v, c.Version)
					}
				}
			}
			if n := d.core.counts; n.Mixed > 0 || n.WastedTokens > 0 {
				t.Errorf("%T: %+v", p, n)
			}
		}
	}
}

// 2.16: the batches of Sync; at constant speed per slot and equal lengths within a
// group, longest first ends within 4/3 of the optimum after the probes.
func TestSeer(t *testing.T) {
	config := tiny()
	config.Workers, config.Slots, config.Batch, config.Group, config.Steps = 3, 1, 8, 4, 4
	config.Costs.DecodeSlot, config.Costs.PrefillRequest, config.Costs.PrefillToken, config.Costs.Migrate = 0, 0, 0, 0
	alike := func(origin, _ int) int { return drawn(9, 12)(origin, 0) }
	seer := newDesk(t, config, &Seer{Chunk: 1000, AcceptPercent: 60}, alike).run()
	sync := newDesk(t, config, &Sync{}, alike).run()
	if !slices.EqualFunc(updates(seer.commands), updates(sync.commands), slices.Equal) {
		t.Error("the updates are not those of sync")
	}
	var trains, publishes []int
	for _, c := range seer.commands {
		switch c.Kind {
		case Train:
			trains = append(trains, c.Time)
		case Publish:
			publishes = append(publishes, c.Time+config.Costs.Sync)
		}
	}
	for step := range config.Steps {
		begin := 0
		if step > 0 {
			begin = publishes[step-1]
		}
		probes, others, longest := 0, 0, 0
		for s := step * config.Batch; s < (step+1)*config.Batch; s++ {
			n := alike(s, 0) * config.Costs.DecodeStep
			probes, others, longest = probes+n, others+(config.Group-1)*n, max(longest, n)
		}
		best := max(ceilDiv(others, config.Workers), longest)
		afterProbes := probes/config.Workers + longest
		if got := trains[step] - begin; got > afterProbes+best*4/3 {
			t.Errorf("step %d takes %d: probes %d, then at most 4/3 of %d", step, got, afterProbes, best)
		}
	}
}

// What a driver says wrongly is an error that names it.
func TestWrongOutcomes(t *testing.T) {
	config := tiny()
	start := func() *Core {
		c, err := New(config, &Sync{})
		if err != nil || c.Next().Kind != Start {
			t.Fatal("no start")
		}
		return c
	}
	if c := start(); c.Done(Outcome{Lengths: []int{1}}) == nil {
		t.Error("one length for four requests")
	}
	if c := start(); c.Done(Outcome{Lengths: []int{1, 0, 1, 1}}) == nil {
		t.Error("a response without tokens")
	}
	begun := func() *Core {
		c := start()
		for c.Next().Kind == Start {
			n := make([]int, len(c.Next().Requests))
			for i := range n {
				n[i] = 2
			}
			must.Do(t, c.Done(Outcome{Lengths: n}))
		}
		return c
	}
	if c := begun(); c.Done(Outcome{Finished: []int{1}}) == nil {
		t.Error("a request of another worker ended")
	}
	if c := begun(); c.Done(Outcome{}) == nil {
		t.Error("a response with all of its tokens goes on")
	}
	for _, refused := range [][]int{{77}, {0, 0}} {
		config.Graded = true
		c := begun()
		for c.Next().Kind != Grade {
			must.Do(t, c.Done(Outcome{Finished: c.workers[c.Next().Worker].ids()}))
		}
		if c.Done(Outcome{Refused: refused}) == nil {
			t.Errorf("refused %v", refused)
		}
	}
	c, _ := New(config, &Sync{})
	if c.Done(Outcome{}) == nil {
		t.Error("done without a command")
	}
	if _, err := New(config, &AReaL{Eta: -1}); err == nil {
		t.Error("parameters out of their range")
	}
	config.Engine = 0
	if _, err := New(config, &Sync{}); err == nil {
		t.Error("an engine without devices")
	}
}

// ids are the requests of a worker.
func (w *Worker) ids() []int {
	var ids []int
	for _, r := range w.Active {
		ids = append(ids, r.ID)
	}
	return ids
}
