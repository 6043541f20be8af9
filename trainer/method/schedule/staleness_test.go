package schedule

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"driftlab/precision/must"
)

// The bound of windowedFIFO holds for all that runs, waits or is trained, at every event, under random costs and
// clusters, by the dispatch and by the oldest token, also where samples are refused; and it is reached.
func TestWindowedFIFOBound(t *testing.T) {
	reached := 0
	for seed := range seeds(400) {
		r := rand.New(rand.NewPCG(seed, 11))
		config := random(r)
		config.Graded, config.Steps = seed%3 == 0, 12
		p := &windowedFIFO{Steps: r.IntN(4), WindowPercent: r.IntN(101)}
		bound, promised := lagBound(p, config.Batch), p.Traits().Bound
		if bound > promised || bound != ((p.Steps+1)*config.Batch+p.window(config.Batch)-2)/config.Batch {
			t.Fatalf("%+v, batches of %d: bound %d, promised %d", p, config.Batch, bound, promised)
		}
		d := newDesk(t, config, p, straggling(seed))
		most := 0
		d.check = func(c *Core) {
			for _, list := range [...][]*Sample{c.flight, c.done, c.batch} {
				for _, s := range list {
					if most = max(most, c.version-s.Version); most > bound || s.Lag(c.version) > bound {
						t.Fatalf("seed %d, %+v, %+v: sample %d of version %d, oldest token %d, is not trained at version %d, bound %d",
							seed, config, p, s.ID, s.Version, s.Oldest, c.version, bound)
					}
				}
			}
		}
		d.run()
		if d.commands[len(d.commands)-1].Stuck {
			t.Fatalf("seed %d, %+v: stands still", seed, p)
		}
		if most == bound && p.window(config.Batch) > config.Batch {
			reached++
		}
	}
	if reached == 0 {
		t.Error("no run with a window of more than a batch reached its bound: the test tries nothing")
	}
}

// straggling is a distribution of lengths under which one response in twenty takes as long as many updates.
func straggling(seed uint64) func(origin, response int) int {
	return func(origin, response int) int {
		r := rand.New(rand.NewPCG(seed, uint64(origin)<<20+uint64(response)))
		if r.IntN(20) == 0 {
			return 300
		}
		return 1 + r.IntN(9)
	}
}

// Reference: torchtitan's page: S 1, P 3, f 0.5; samples 0, 1, 3, 4 and 5 are done and 2 runs.
func TestWindowedFIFOExample(t *testing.T) {
	p := &windowedFIFO{Steps: 1, WindowPercent: 50}
	samples := make([]*Sample, 6)
	for i := range samples {
		samples[i] = &Sample{ID: i}
	}
	v := View{Batch: 3, Flight: samples[2:3], Done: []*Sample{samples[5], samples[0], samples[4], samples[1], samples[3]}}
	if got := p.Batch(v); !slices.Equal(got, []*Sample{samples[0], samples[1], samples[3]}) {
		t.Errorf("the first batch is %v", got)
	}
	v.Done = []*Sample{samples[5], samples[4], {ID: 6}}
	if got := p.Batch(v); got != nil {
		t.Errorf("5 is outside the window and in %v", got)
	}
	if p.window(3) != 3 || lagBound(p, 3) != 2 {
		t.Errorf("window %d, bound %d", p.window(3), lagBound(p, 3))
	}
}

// Systems of several frameworks are one rule of admission: with equal counts, order and reload their commands are equal.
func TestOneAdmissionRule(t *testing.T) {
	const all = 1 << 20
	for seed := range seeds(40) {
		r := rand.New(rand.NewPCG(seed, 12))
		config := random(r)
		config.Graded = seed%2 == 0
		config.Costs.PrefillRequest, config.Costs.PrefillToken = 0, 0 // kept and new keys and values cost the same
		a := r.IntN(4)
		for _, pair := range [][2]Policy{
			{&nemo{order: inOrder, MaxStaleness: a, InFlight: true}, &windowedFIFO{Steps: a}},
			{&nemo{order: weightFIFO, MaxStaleness: a, InFlight: true}, &RollFlash{RatioPercent: 100 * a}},
			{&nemo{MaxStaleness: a, InFlight: true}, &AReaL{Eta: a, Concurrent: all}},
			{&SkyRL{Staleness: a, Workers: all}, &pipelineRL{MaxLag: a * config.Batch * config.Group}},
			{&miles{Pool: (a + 1) * config.Batch, Group: true}, &miles{Pool: (a + 1) * config.Batch, Group: true, MaxStaleness: 1024}},
		} {
			x := newDesk(t, config, pair[0], drawn(seed, 15)).run()
			y := newDesk(t, config, pair[1], drawn(seed, 15)).run()
			if !reflect.DeepEqual(bare(x.commands), bare(y.commands)) {
				t.Fatalf("seed %d: %T %+v is not %T %+v\n%s\n%s", seed, pair[0], pair[0], pair[1], pair[1], script(x.commands), script(y.commands))
			}
		}
	}
}

// aborting are the systems that throw unfinished samples away.
var aborting = map[string]bool{"prime_rl": true, "echo2": true, "roll_flash": true, "roll_flash_agentic": true, "nemo_windowed": true, "tail_batching": true}

// The contract of admission, selection and eviction, of every system at every event: asking changes nothing; what is
// selected is not refused; only some systems refuse what runs; an age grows by one at a publication alone.
func TestStalenessContract(t *testing.T) {
	for _, e := range Systems {
		refusedRunning := false
		for seed := range seeds(20) {
			r := rand.New(rand.NewPCG(seed, 13))
			config, policy := random(r), e.New()
			config.Graded = seed%2 == 0
			vary(r, policy)
			d := newDesk(t, config, policy, straggling(seed))
			f, filters := policy.(filter)
			ages, version, events, running := map[int]int{}, 0, 0, []*Sample(nil)
			var before, after []byte
			d.check = func(c *Core) {
				asks := *exhaustive || events%8 == 0 || len(c.batch) > 0
				if asks {
					before = c.AppendState(before[:0])
				}
				v := c.view()
				if admits := policy.Admit(v); admits != policy.Admit(v) {
					t.Fatalf("%s, seed %d: admits %d, then another number", e.Name, seed, admits)
				}
				if v.Idle {
					c.nextBatch(v)
				}
				for _, s := range running {
					if !s.Done() && !slices.Contains(c.flight, s) {
						refusedRunning = true
					}
				}
				running = slices.Clone(c.flight)
				if events++; events%64 == 1 { // once its answer is submitted, it admits no more
					again := newDesk(t, config, policy, nil).core
					must.Do(t, again.SetState(before))
					again.admit()
					submitted := again.submitted
					if again.admit(); again.submitted != submitted {
						t.Fatalf("%s, seed %d: admits again what it was given", e.Name, seed)
					}
				}
				if after = after[:0]; asks {
					after = c.AppendState(after)
				}
				if asks && !bytes.Equal(after, before) {
					t.Fatalf("%s, seed %d: asking changed the state", e.Name, seed)
				}
				for _, s := range slices.Concat(c.flight, c.done) {
					age := s.Lag(c.version)
					if was, known := ages[s.ID]; known && age > was+c.version-version && s.Oldest >= 0 && was > 0 {
						t.Fatalf("%s, seed %d: sample %d was %d versions old and is %d, %d publications later", e.Name, seed, s.ID, was, age, c.version-version)
					}
					ages[s.ID] = age
				}
				version = c.version
				if len(c.pending) > 0 && c.pending[c.given].Kind == Train && len(c.batch) > 0 {
					if most := config.Batch; len(c.batch) > most*requires(policy) {
						t.Fatalf("%s, seed %d: %d samples are selected of at most %d", e.Name, seed, len(c.batch), most)
					}
					v.Published = false // April drops by it what the batch of this very time left over
					for _, s := range c.batch {
						if filters && f.Verdict(v, s) != Take {
							t.Fatalf("%s, seed %d, %+v: sample %d is selected and refused", e.Name, seed, policy, s.ID)
						}
					}
				}
			}
			d.run()
		}
		if refusedRunning != aborting[e.Name] {
			t.Errorf("%s: refuses running samples: %v", e.Name, refusedRunning)
		}
	}
}

// requires is the number of batches in one update.
func requires(p Policy) int {
	if v, ok := p.(*Verl); ok {
		return v.RequireBatches
	}
	return 1
}

// Of verl's strategies drop bounds the span of what is trained by the threshold; wait does not.
func TestVerlWaitDoesNotBound(t *testing.T) {
	above := 0
	for seed := range seeds(120) {
		r := rand.New(rand.NewPCG(seed, 14))
		config, threshold := random(r), 1+r.IntN(3)
		config.Steps = 12
		for _, wait := range []bool{false, true} {
			d := newDesk(t, config, &verlV1{Threshold: threshold, Warmup: 3, Wait: wait, SyncStep: 1}, straggling(seed)).run()
			switch span := len(d.core.counts.Lags); {
			case wait && span > threshold:
				above++
			case !wait && span > threshold:
				t.Errorf("seed %d: drop trained a span of %d, threshold %d", seed, span, threshold)
			}
			if d.core.counts.Dropped > 0 && wait {
				t.Errorf("seed %d: wait dropped %d", seed, d.core.counts.Dropped)
			}
		}
	}
	if above == 0 {
		t.Error("wait kept every span within the threshold")
	}
}

// Prompts that need more versions than the limit are never trained by a filter and always by a system that waits.
func TestStarvation(t *testing.T) {
	config := ample()
	config.Steps = 30
	long := func(origin, _ int) int {
		if origin%4 == 0 {
			return 60
		}
		return 3
	}
	for _, c := range []struct {
		policy Policy
		starve bool
	}{
		{&NeMoWindowed{MaxStaleness: 1, InFlight: true}, true}, {&primeRL{MaxOffPolicy: 1}, true},
		{&nemo{MaxStaleness: 1, InFlight: true}, false}, {&nemo{order: inOrder, MaxStaleness: 1}, false}, {&nemo{order: weightFIFO, MaxStaleness: 1}, false},
		{&windowedFIFO{Steps: 1, WindowPercent: 50}, false}, {&tinkerPaced{MaxOffPolicy: 1, Depth: 1}, false}, {&dora{K: 1}, false},
	} {
		d := newDesk(t, config, c.policy, long).run()
		trained := 0
		for _, command := range d.commands {
			for _, s := range command.Samples {
				if command.Kind == Train && s%4 == 0 {
					trained++
				}
			}
		}
		if (trained == 0) != c.starve {
			t.Errorf("%T: %d long samples were trained", c.policy, trained)
		}
	}
}

// lagBound is the greatest lag, in versions, for batches of that many samples: a sample that is admitted last has
// at most (S + 1)·P - 1 elders, at most W - 1 younger ones are taken before it, and P are taken per version.
func lagBound(p *windowedFIFO, batch int) int { return p.Steps + ceilDiv(p.window(batch)-1, batch) }
