package schedule

import (
	"flag"
	"math/rand/v2"
	"reflect"
	"testing"

	"driftlab/trainer/method"
)

// tiny is a cluster whose numbers can be followed by hand.
func tiny() Config {
	return Config{
		Workers: 2, Engine: 1, Slots: 4, Trainers: 1, Batch: 4, Group: 2, Prompt: 3, Steps: 3,
		Costs: Costs{PrefillRequest: 1, PrefillToken: 1, DecodeStep: 10, DecodeSlot: 1, LearnToken: 1, Sync: 20, Push: 20, Copy: 7, Migrate: 5},
	}
}

// random is a cluster of any shape.
func random(r *rand.Rand) Config {
	return Config{
		Workers: 1 + r.IntN(5), Engine: 1 + r.IntN(2), Slots: 1 + r.IntN(8), Trainers: 1 + r.IntN(3), Batch: 1 + r.IntN(6), Group: 1 + r.IntN(4),
		Prompt: 1 + r.IntN(9), Steps: 2 + r.IntN(8),
		Costs: Costs{
			PrefillRequest: r.IntN(5), PrefillToken: r.IntN(3), DecodeStep: 1 + r.IntN(20), DecodeSlot: r.IntN(5),
			LearnToken: 1 + r.IntN(12), Sync: r.IntN(60), Push: r.IntN(60), Copy: r.IntN(30), Migrate: r.IntN(9),
		},
	}
}

// Every policy, on clusters of any shape: what it promises holds at every event,
// and nothing is lost, trained twice or forgotten without a count.
func TestPromises(t *testing.T) {
	for _, e := range Systems {
		t.Run(e.Name, func(t *testing.T) {
			for seed := range fewSeeds(40) {
				r := rand.New(rand.NewPCG(seed, 1))
				config, policy := random(r), e.New()
				vary(r, policy)
				d := newDesk(t, config, policy, drawn(seed, 1+r.IntN(30)))
				d.check = func(c *Core) { invariants(t, c) }
				d.run()
				promised(t, d, seed)
			}
		})
	}
}

// promised checks a run that is over: it made its updates, trained no sample twice and kept the
// policy's bound of the lag. It returns the samples that were trained.
func promised(t *testing.T, d *desk, seed uint64) map[int]bool {
	t.Helper()
	trained := map[int]bool{}
	updates := 0
	for _, c := range d.commands {
		if c.Kind != Train {
			continue
		}
		for _, s := range c.Samples {
			if trained[s] {
				t.Fatalf("seed %d: sample %d is trained twice", seed, s)
			}
			trained[s] = true
		}
		if c.Update {
			updates++
		}
	}
	config, policy := d.core.config, d.core.policy
	if last := d.commands[len(d.commands)-1]; last.Stuck || updates != config.Steps {
		t.Fatalf("%T, seed %d, %+v, %+v: %d of %d updates, stuck %v", policy, seed, config, policy, updates, config.Steps, last.Stuck)
	}
	if b := policy.Traits().Bound; b >= 0 && len(d.core.counts.Lags) > b+1 {
		t.Errorf("%T, seed %d, %+v: lags %v above the bound %d", policy, seed, policy, d.core.counts.Lags, b)
	}
	return trained
}

// seeds is how many a test tries, fewer in a hurry.
func seeds(n uint64) uint64 {
	if *exhaustive {
		return n
	}
	return n / 4
}

// fewSeeds is seeds for what takes long and counts no events over them.
func fewSeeds(n uint64) uint64 {
	if *exhaustive {
		return n
	}
	return max(n/10, 1)
}

var exhaustive = flag.Bool("exhaustive", false, "all seeds and events, as in nightly tests, in place of a quarter of them or less")

// sometimes checks the invariants at every event, or at one of four unless the test is exhaustive.
func sometimes(t *testing.T) func(*Core) {
	events := 0
	return func(c *Core) {
		if events++; *exhaustive || events%4 == 0 {
			invariants(t, c)
		}
	}
}

// invariants are what holds for every policy at every event.
func invariants(t *testing.T, c *Core) {
	t.Helper()
	n := c.counts
	open, made := 0, 0
	for _, s := range c.known() {
		for _, r := range s.Requests {
			sum := 0
			for _, p := range r.Pieces {
				sum += p.Tokens
			}
			if sum != r.pieced || sum != r.Made && r.at != active && r.at != leaving {
				t.Fatalf("request %d has %d tokens, its pieces %d", r.ID, r.Made, sum)
			}
			if r.at != gone && (!s.taken || r.at != finished) {
				made += r.Made
			}
			if r.at != finished && r.at != gone {
				open++
			}
		}
	}
	for _, s := range c.batch { // not counted as trained yet
		made += s.Tokens
	}
	if open != c.unfinished {
		t.Fatalf("%d requests are open, %d are counted", open, c.unfinished)
	}
	if n.DecodedTokens != n.TrainedTokens+n.WastedTokens+made {
		t.Fatalf("%d tokens decoded, %d trained, %d wasted, %d on their way", n.DecodedTokens, n.TrainedTokens, n.WastedTokens, made)
	}
	if n.Submitted != n.Trained+n.Dropped+n.Requeued+len(c.flight)+len(c.done)+len(c.batch) {
		t.Fatalf("%d samples submitted; %+v, %d in flight, %d done", n.Submitted, n, len(c.flight), len(c.done))
	}
	for _, w := range c.workers {
		if w.Load() > c.config.Slots || w.leaves < 0 || w.coming < 0 {
			t.Fatalf("worker %d has %d requests in %d slots", w.ID, w.Load(), c.config.Slots)
		}
	}
}

// Whether lengths are known beforehand changes nothing but how many commands it takes.
func TestKnownLengths(t *testing.T) {
	for _, e := range Systems {
		for seed := range fewSeeds(40) {
			r := rand.New(rand.NewPCG(seed, 2))
			config, policy := random(r), e.New()
			config.Graded = seed%2 == 0
			vary(r, policy)
			known := newDesk(t, config, policy, drawn(seed, 20)).run()
			unknown := newDesk(t, config, policy, drawn(seed, 20))
			unknown.known = false
			unknown.run()
			a, b := known.core, unknown.core
			if logText(a) != logText(b) || !reflect.DeepEqual(a.counts, b.counts) {
				t.Fatalf("%s, seed %d: %+v and %+v\n%s\n%s", e.Name, seed, a.counts, b.counts, logText(a), logText(b))
			}
		}
	}
}

// timeline is a log without its order: spans by lane.
func timeline(c *Core) map[int][]Span {
	lanes := map[int][]Span{}
	for _, s := range c.log {
		lanes[s.Lane] = append(lanes[s.Lane], s)
	}
	return lanes
}

// A run that is killed at any event goes on to the same bytes: at one of eight events of
// every system, unless the test is exhaustive.
func TestKill(t *testing.T) {
	for i, e := range Systems {
		config := tiny()
		config.Steps, config.Graded = 2, i%2 == 0
		if i%4 == 0 {
			config.Replay = *method.New[Replay]()
			config.Replay.Draws = 2
		}
		want := newDesk(t, config, e.New(), drawn(3, 6)).run()
		end := string(want.core.AppendState(nil))
		d := newDesk(t, config, e.New(), drawn(3, 6))
		for event := 0; ; event++ {
			d.core.Next()
			if !*exhaustive && event%8 != i%8 {
				if !d.step() {
					break
				}
				continue
			}
			state := d.core.AppendState(nil)
			again := newDesk(t, config, e.New(), drawn(3, 6))
			if err := again.core.SetState(state); err != nil {
				t.Fatalf("%s, event %d: %v", e.Name, event, err)
			}
			again.total = d.total
			if got := string(again.run().core.AppendState(nil)); got != end {
				t.Fatalf("%s, killed at event %d: another end", e.Name, event)
			}
			for n := range 16 * max(0, 6-event) { // a few whole words and parts of them
				if newDesk(t, config, e.New(), nil).core.SetState(state[:len(state)-n-1]) == nil {
					t.Fatalf("%s: a state that is cut short was taken", e.Name)
				}
			}
			if !d.step() {
				break
			}
		}
	}
}

// vary gives a policy's integers other values, within their ranges.
func vary(r *rand.Rand, p Policy) {
	v := reflect.ValueOf(p).Elem()
	for i := range v.NumField() {
		f := v.Field(i)
		if !f.CanSet() {
			continue
		}
		was := f.Interface()
		switch f.Kind() {
		case reflect.Int:
			f.SetInt(int64(r.IntN(4)))
			if v.Type().Field(i).Name == "Every" { // of all ticks, one in some
				f.SetInt(int64(20 + r.IntN(100)))
			}
		case reflect.Bool:
			f.SetBool(r.IntN(2) == 0)
		}
		if method.Check(p) != nil {
			f.Set(reflect.ValueOf(was))
		}
	}
}
