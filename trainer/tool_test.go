package trainer

import (
	"slices"
	"testing"

	"driftlab/trainer/recipe"
)

// toolRecipe is a short run of the shipped policy that calls its tool.
func toolRecipe(t *testing.T, sets ...string) recipe.Recipe {
	t.Helper()
	r := loaded(t, "lookup", append([]string{"steps=2", "rollout.prompts=4", "rollout.group=4", "eval.prompts=16", "eval.every=1"}, sets...)...)
	return r
}

// With equal numerics a run with a tool has no gap, in any bit, with drafted
// tokens or without; and neither workers, slots, the reading of prompts, the
// replay of routes nor a second engine of the kind changes a weight.
func TestToolRun(t *testing.T) {
	equal := []string{"rollout.numerics=bf16", "learner.numerics=bf16"}
	want := mustRun(t, toolRecipe(t, equal...), Options{})
	drafted := mustRun(t, toolRecipe(t, append(equal, "rollout.speculative={draft: 3}")...), Options{})
	for _, r := range []*ran{want, drafted} {
		for _, name := range []string{"gap/dlogp_max", "gap/unequal", "gap/exact_kl_max", "routes/flip_token"} {
			c := r.Record.Column(name)
			if c == nil || len(c.Value) != 2 {
				t.Fatalf("%s has no value per step", name)
			}
			for step, v := range c.Value {
				if v != 0 {
					t.Errorf("step %d: %s is %v between equal engines", step+1, name, v)
				}
			}
		}
	}
	for _, c := range []struct {
		workers int
		sets    []string
	}{{3, nil}, {2, []string{"rollout.slots=3"}}, {1, []string{"rollout.prefill_chunk=2", "rollout.prefix_cache=true"}}, {1, []string{"routing.replay=r3"}},
		{2, []string{"rollout.fleet=[{numerics: bf16, share: 0.4}]"}}} {
		got := mustRun(t, toolRecipe(t, append(c.sets, equal...)...), Options{Workers: c.workers})
		if !slices.Equal(want.Params.Theta, got.Params.Theta) {
			t.Errorf("%d workers, %v: other weights", c.workers, c.sets)
		}
	}
	if other := mustRun(t, toolRecipe(t), Options{}); slices.Equal(want.Params.Theta, other.Params.Theta) {
		t.Error("unequal engines come to the same weights")
	}
}

// On a clock a tool takes its time: its request makes no step until it is answered, and
// the slot waits. Where replies cost nothing the run is the same as
// without costs of tools, and where nothing runs ahead of the learner they move the clock alone.
func TestToolsOnTheClock(t *testing.T) {
	run := func(schedule, costs string) *ran {
		return mustRun(t, toolRecipe(t, "steps=3", "eval.every=0", "schedule="+schedule, "rollout.slots=3", "cluster={workers: 2, costs: "+costs+"}"), Options{})
	}
	free, dear := run("{name: areal, eta: 0}", "{tool_call: 0, tool_token: 0}"), run("{name: areal, eta: 0}", "{tool_call: 3000000}")
	if !slices.Equal(free.Params.Theta, dear.Params.Theta) {
		t.Error("the time that tools take changes the weights where nothing runs ahead")
	}
	if free.Record.Column("clock/tool_calls") != nil || free.Record.Column("clock/tool_wait") != nil {
		t.Error("replies that cost nothing are counted")
	}
	calls, wait := valuesOf(t, dear.Record, "clock/tool_calls"), valuesOf(t, dear.Record, "clock/tool_wait")
	before, after := valuesOf(t, free.Record, "clock/ticks"), valuesOf(t, dear.Record, "clock/ticks")
	for step := range calls {
		// A batch of sixteen on six slots waits for one call at least.
		if calls[step] == 0 || wait[step] <= 0 || wait[step] >= 1 || after[step] < before[step]+float64(3_000_000*(step+1)) {
			t.Errorf("step %d: %v calls, %v of the slots wait, %v ticks and %v without", step, calls[step], wait[step], after[step], before[step])
		}
	}
	ahead := run("{name: areal, eta: 2}", "{tool_call: 3000000}")
	if now := run("{name: areal, eta: 2}", "{tool_call: 0, tool_token: 0}"); slices.Equal(now.Params.Theta, ahead.Params.Theta) {
		t.Error("a wait changes nothing of who samples with which weights")
	}
}
