package schedule

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"driftlab/trainer/method"
)

// shelf is a buffer of samples of so much worth each, one submitted per update.
func shelf(worths ...float64) []*Sample {
	var buffer []*Sample
	for i, w := range worths {
		buffer = append(buffer, &Sample{ID: i, Step: i, Worth: Worth(w)})
	}
	return buffer
}

// Reference: 2604.16918: entries are drawn as often as p = ((|R|+e)·exp(-age/tau))^exponent
// says, within four standard deviations, and the weight undoes beta of it.
func TestReplayFrequencies(t *testing.T) {
	buffer := shelf(1, -0.25, 0, 0.5, 2, 1, 1, 0.01)
	for _, order := range []string{FreshFirst, ByPriority, Uniformly} {
		p := Replay{Draws: 3, Order: order, Capacity: 8, Tau: 4, Exponent: 0.6, Beta: 0.4}
		rng := rand.New(rand.NewPCG(1, 2))
		want := make([]float64, len(buffer))
		total := 0.0
		for i, s := range buffer {
			reward := float64(s.Worth)/1e6 + 1e-6
			want[i] = map[string]float64{FreshFirst: math.Pow(reward*math.Exp(-float64(10-s.Step)/4), 0.6), ByPriority: math.Pow(reward, 0.6), Uniformly: 1}[order]
			total += want[i]
		}
		const rounds = 40_000
		counts := make([]float64, len(buffer))
		for range rounds {
			drawn, weights := p.draw(buffer, 10, 100, rng)
			most := 0.0
			for _, s := range drawn {
				counts[s.ID]++
				most = max(most, math.Pow(want[s.ID], -p.beta(10, 100)))
			}
			for k, s := range drawn {
				if w := math.Pow(want[s.ID], -p.beta(10, 100)) / most; math.Abs(float64(weights[k])/WeightUnit-w) > 1e-6 {
					t.Fatalf("%s: sample %d weighs %v of the heaviest, want %v", order, s.ID, float64(weights[k])/WeightUnit, w)
				}
			}
		}
		for i, n := range counts {
			share := want[i] / total
			if sigma := math.Sqrt(3 * rounds * share * (1 - share)); math.Abs(n-3*rounds*share) > 4*sigma {
				t.Errorf("%s: sample %d was drawn %v times of %v, its share is %.4f", order, i, n, 3*rounds, share)
			}
		}
	}
}

// Freshness with an endless tau is plain PER, draw for draw; with exponent 0 PER is
// uniform; first in goes round.
func TestReplayLimits(t *testing.T) {
	buffer := shelf(1, 0.25, 0, 0.5, 2, 1, 1, 0.01)
	draws := func(p Replay) (all [][]*Sample) {
		rng := rand.New(rand.NewPCG(3, 4))
		for range 200 {
			drawn, _ := p.draw(buffer, 90, 100, rng)
			all = append(all, drawn)
		}
		return all
	}
	p := Replay{Draws: 4, Order: FreshFirst, Capacity: 8, Tau: math.MaxFloat64, Exponent: 0.6, Beta: 0.4}
	per, uniform := p, p
	per.Order, uniform.Order = ByPriority, Uniformly
	if !reflect.DeepEqual(draws(p), draws(per)) {
		t.Error("an endless tau is not plain PER")
	}
	per.Exponent = 0
	if !reflect.DeepEqual(draws(per), draws(uniform)) {
		t.Error("exponent 0 is not uniform")
	}
	p.Tau = 1e-2 // no priority is left
	if drawn, weights := p.draw(buffer, 90_000, 100_000, rand.New(rand.NewPCG(3, 4))); len(drawn) != 4 || weights[0] != WeightUnit {
		t.Errorf("of priorities that are all 0: %v with %v", drawn, weights)
	}
	p.Order = FirstIn
	var ids []int
	for range 4 {
		drawn, _ := p.draw(buffer, 90, 100, nil)
		for _, s := range drawn {
			s.Uses++
			ids = append(ids, s.ID)
		}
	}
	if !slices.Equal(ids, []int{0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7}) {
		t.Errorf("first in first out: %v", ids)
	}
	if drawn, _ := p.draw(buffer[:3], 90, 100, nil); drawn != nil {
		t.Error("more draws than entries")
	}
}

// Every system with a replay: what it promises holds; what is replayed was trained
// before and is among the newest that the buffer holds; the clock pays for it; fresh
// batches equal those of the run without replay where the time that the learner takes decides
// nothing.
func TestReplays(t *testing.T) {
	for _, e := range Systems {
		t.Run(e.Name, func(t *testing.T) {
			for seed := range seeds(12) {
				r := rand.New(rand.NewPCG(seed, 10))
				config, policy := random(r), e.New()
				vary(r, policy)
				config.Graded, config.Seed = true, seed
				config.Replay = *method.New[Replay]()
				config.Replay.Order = []string{FreshFirst, ByPriority, Uniformly, FirstIn}[r.IntN(4)]
				config.Replay.Draws, config.Replay.Capacity, config.Replay.Clear = 1+r.IntN(4), 1+r.IntN(20), r.IntN(4) == 0
				d := newDesk(t, config, policy, drawn(seed, 1+r.IntN(20)))
				d.check = func(c *Core) {
					invariants(t, c)
					if len(c.buffer) > config.Replay.Capacity {
						t.Fatalf("%d samples in a buffer of %d", len(c.buffer), config.Replay.Capacity)
					}
				}
				d.run()
				var trained []int
				replayed := 0
				for _, c := range d.commands {
					if c.Kind != Train {
						continue
					}
					for k, id := range c.Replayed {
						if i := slices.Index(trained, id); i < 0 || len(trained)-i > config.Replay.Capacity || c.Weights[k] <= 0 || c.Weights[k] > WeightUnit {
							t.Fatalf("seed %d: sample %d is replayed with weight %d; trained so far: %v", seed, id, c.Weights[k], trained)
						}
						replayed++
					}
					trained = append(trained, c.Samples...)
				}
				if last := d.commands[len(d.commands)-1]; last.Stuck || d.core.step != config.Steps || d.core.counts.Replayed != replayed {
					t.Fatalf("seed %d: %d updates of %d, %d replays of %d", seed, d.core.step, config.Steps, d.core.counts.Replayed, replayed)
				}
			}
		})
	}
}

// Without draws a replay is none, command for command; with them the synchronous run
// trains the same fresh samples, and takes as much longer as the replayed tokens do.
func TestReplayBesideSync(t *testing.T) {
	config := ample()
	config.Graded = true
	plain := newDesk(t, config, &Sync{}, drawn(1, 12)).run()
	config.Replay = *method.New[Replay]()
	config.Replay.Draws = 0
	none := newDesk(t, config, &Sync{}, drawn(1, 12)).run()
	if !reflect.DeepEqual(plain.commands, none.commands) || logText(plain.core) != logText(none.core) {
		t.Error("a replay without draws is one")
	}
	config.Replay.Draws = 3
	some := newDesk(t, config, &Sync{}, drawn(1, 12)).run()
	if !slices.EqualFunc(updates(some.commands), updates(plain.commands), slices.Equal) {
		t.Error("other fresh samples")
	}
	n := some.core.counts
	tokens := n.ReplayedTokens + n.Replayed*config.Prompt*config.Group
	if got, want := some.core.now-plain.core.now, config.Costs.Logp(tokens, 1)+config.Costs.train(tokens, 1); n.Replayed != 7*3 || got != want {
		t.Errorf("%d replays take %d ticks, not %d", n.Replayed, got, want)
	}
	if mean, most := some.core.Reuse(); mean < 1.5 || most < 2 {
		t.Errorf("reuse %v, at most %d", mean, most)
	}
}
