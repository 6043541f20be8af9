package trainer

import (
	"context"
	"path/filepath"
	"slices"
	"testing"

	"driftlab/engine"
	"driftlab/results/record"
	"driftlab/trainer/recipe"
)

// toolRecipe is a short run of the shipped policy that calls its tool.
func toolRecipe(t *testing.T, sets ...string) recipe.Recipe {
	t.Helper()
	r, err := recipe.Load("lookup", append([]string{"steps=2", "rollout.prompts=4", "rollout.group=4", "eval.prompts=16", "eval.every=1"}, sets...)...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// With equal numerics a run with a tool has no gap, in any bit, with drafted
// tokens or without; and neither workers, slots, the reading of prompts, the
// replay of routes nor a second engine of the kind changes a weight.
func TestToolRun(t *testing.T) {
	equal := []string{"rollout.numerics=bf16", "learner.numerics=bf16"}
	want := mustRun(t, toolRecipe(t, equal...), Options{})
	drafted := mustRun(t, toolRecipe(t, append(equal, "rollout.speculative={draft: 3}")...), Options{})
	for _, r := range []*Result{want, drafted} {
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

// A measurement of a tool's task counts the tokens of the policy alone, and its
// dump tells who wrote what.
func TestToolMeasure(t *testing.T) {
	file := filepath.Join(t.TempDir(), "dump.jsonl")
	dump, err := record.CreateDump(file)
	if err != nil {
		t.Fatal(err)
	}
	bf16, _ := engine.Preset("bf16")
	fp32, _ := engine.Preset("fp32")
	m, err := Measure(context.Background(), MeasureRequest{Recipe: toolRecipe(t, "rollout.prompts=16"), Pairs: []Pair{{bf16, fp32}, {fp32, fp32}}, Dump: dump})
	if err != nil {
		t.Fatal(err)
	}
	if err := dump.Close(); err != nil {
		t.Fatal(err)
	}
	generated, replies, turns := 0, 0, int32(0)
	err = record.ReadDump(file, func(line *record.DumpLine) error {
		if line.Run != "bf16-to-fp32" {
			return nil
		}
		for n, own := range line.Mask {
			if own {
				generated++
			} else {
				replies++
				if line.LogpRollout[n] != 0 || line.LogpOld[n] != 0 {
					t.Fatalf("log-probs %v and %v of a reply", line.LogpRollout[n], line.LogpOld[n])
				}
			}
			turns = max(turns, line.TurnID[n])
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if m.Pairs[0].Gap.Tokens != generated || replies == 0 || turns < 3 {
		t.Errorf("%d tokens compared, %d generated, %d of replies, turns up to %d", m.Pairs[0].Gap.Tokens, generated, replies, turns)
	}
	sum := 0
	for k, turn := range m.Pairs[0].Turns {
		sum += turn.Tokens
		if turn.Turn != k || turn.MeanAbsDlogp <= 0 {
			t.Errorf("turn %d: %+v", k, turn)
		}
	}
	if sum != generated || len(m.Pairs[0].Turns) != int(turns)+1 {
		t.Errorf("%d tokens in %d turns, want %d in %d", sum, len(m.Pairs[0].Turns), generated, turns+1)
	}
	if g := m.Pairs[1].Gap; g.Unequal != 0 || g.MaxKL != 0 || g.FlipToken != 0 {
		t.Errorf("equal engines: %+v", g)
	}
}

// Attribution decodes what was sampled once more, replies and all: its
// zero-update test compares every bit, also where these depend on the company.
func TestToolAttribution(t *testing.T) {
	variant, _ := engine.Preset("bf16-batch-variant")
	fp32, _ := engine.Preset("fp32")
	a, err := Attribute(context.Background(), AttributeRequest{Recipe: toolRecipe(t), Pair: Pair{variant, fp32}, ExactLimit: 1})
	if err != nil {
		t.Fatal(err)
	}
	if a.Total.K3 <= 0 || len(a.Mechanisms) < 3 {
		t.Errorf("total %v of %d mechanisms", a.Total, len(a.Mechanisms))
	}
}
