package schedule

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
)

// zero are policies whose setting allows no staleness.
var zero = map[string]Policy{
	"areal": &AReaL{}, "skyrl": &SkyRL{}, "pipeline_rl": &pipelineRL{}, "verl_on_policy": &Verl{K: 1, RequireBatches: 1},
	"roll_flash": &RollFlash{}, "roll_flash_agentic": &rollAgentic{}, "dora": &dora{}, "distflow": &distFlow{Controllers: 1},
	"asyncflow": &asyncFlow{Micro: 1 << 20}, "stream": &streamRL{Micro: 1 << 20}, "periodic": &Periodic{Micro: 1 << 20},
	"april": &april{OverSampling: 1}, "kimi": &kimi{Budget: 1 << 20}, "tail_batching": &tailBatching{PromptsPercent: 100},
}

// bare is a script up to the last batch, without what differs between systems that
// do the same: the time, which passes score the batch, and what would become of
// requests that there are not.
func bare(commands []Command) []Command {
	bare := slices.Clone(commands)
	for bare[len(bare)-1].Kind != Train {
		bare = bare[:len(bare)-1]
	}
	for i := range bare {
		bare[i].Time, bare[i].Old = 0, 0
		if bare[i].Kind == Load {
			bare[i].Cache = 0
		}
	}
	return bare
}

// Reference: systems.md, section 6: without staleness every system is the
// synchronous one, command for command, when B = W.
func TestZeroStalenessIsSync(t *testing.T) {
	for _, e := range Systems {
		policy, ok := zero[e.Name]
		if !ok {
			continue
		}
		for seed := range fewSeeds(20) {
			r := rand.New(rand.NewPCG(seed, 3))
			config := random(r)
			config.Slots = config.Batch
			config.Workers = config.Group                    // all slots hold exactly a batch
			config.Graded = seed%2 == 0 && e.Name != "april" // which starts more than what was refused
			want := newDesk(t, config, &Sync{}, drawn(seed, 15)).run()
			got := newDesk(t, config, policy, drawn(seed, 15)).run()
			if !reflect.DeepEqual(bare(want.commands), bare(got.commands)) {
				t.Fatalf("%s, seed %d, %+v\n%s\nsync\n%s", e.Name, seed, config, script(got.commands), script(want.commands))
			}
		}
	}
}

// learning is what the learner is told, and when.
func learning(commands []Command) []Command {
	return slices.DeleteFunc(slices.Clone(commands), func(c Command) bool { return c.Kind != Train && c.Kind != Publish && c.Kind != Stop })
}

// Reference: systems.md, section 6: the numbers of the workers decide nothing.
func TestWorkerNumbers(t *testing.T) {
	for _, e := range Systems {
		for seed := range fewSeeds(30) {
			r := rand.New(rand.NewPCG(seed, 4))
			config, policy := random(r), e.New()
			config.Graded = seed%2 == 0
			vary(r, policy)
			want := newDesk(t, config, policy, drawn(seed, 15)).run()
			got := newDesk(t, config, policy, drawn(seed, 15))
			got.core.Arrange(r.Perm(config.Workers))
			got.run()
			if !reflect.DeepEqual(learning(want.commands), learning(got.commands)) || !reflect.DeepEqual(want.core.counts, got.core.counts) {
				t.Fatalf("%s, seed %d: %+v with workers in the order %v\n%s\n%s", e.Name, seed, policy, got.core.sequence, script(got.commands), script(want.commands))
			}
		}
	}
}

// slower is a policy whose own times are twice as long.
func slower(p Policy) Policy {
	switch p := p.(type) {
	case *Laminar:
		q := *p
		q.Every, q.Hop = 2*p.Every, 2*p.Hop
		return &q
	case *echo2:
		q := *p
		q.Hop *= 2
		return &q
	case *distFlow:
		q := *p
		q.Service *= 2
		return &q
	}
	return p
}

// Reference: systems.md, section 6: twice the ticks change no order.
func TestScaleOfTicks(t *testing.T) {
	for _, e := range Systems {
		for seed := range fewSeeds(20) {
			r := rand.New(rand.NewPCG(seed, 5))
			config, policy := random(r), e.New()
			config.Engine, config.Trainers = 1, 1 // nothing is rounded
			config.Graded = seed%2 == 0
			vary(r, policy)
			switch p := policy.(type) {
			case *Seer:
				p.Draft = 0
			case *distFlow:
				p.Controllers = 1
			}
			want := newDesk(t, config, policy, drawn(seed, 15)).run()
			config.Costs = scaled(config.Costs, 2)
			got := newDesk(t, config, slower(policy), drawn(seed, 15)).run()
			for i := range want.commands {
				want.commands[i].Time *= 2
			}
			if !reflect.DeepEqual(want.commands, got.commands) {
				t.Fatalf("%s, seed %d, %+v\n%s\n%s", e.Name, seed, policy, script(got.commands), script(want.commands))
			}
		}
	}
}

// scaled returns the costs in ticks that are shorter by the factor.
func scaled(c Costs, factor int) Costs {
	for _, cost := range []*int{
		&c.PrefillRequest, &c.PrefillToken, &c.DecodeStep, &c.DecodeSlot, &c.LearnToken,
		&c.Sync, &c.Push, &c.Copy, &c.Migrate, &c.ToolCall, &c.ToolToken,
	} {
		*cost *= factor
	}
	return c
}
