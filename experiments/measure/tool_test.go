package measure

import (
	"context"
	"testing"

	"driftlab/engine"
	"driftlab/precision/must"
	"driftlab/results/record"
	"driftlab/trainer/recipe"
	"driftlab/trainer/trainertest"
)

// toolRecipe is a short run of the shipped policy that calls its tool.
func toolRecipe(t *testing.T, sets ...string) recipe.Recipe {
	t.Helper()
	return must.Get(recipe.Load("lookup", append([]string{"steps=2", "rollout.prompts=4", "rollout.group=4", "eval.prompts=16", "eval.every=1"}, sets...)...))(t)
}

// A measurement of a tool's task counts the tokens of the policy alone, and its
// dump tells who wrote what.
func TestToolMeasure(t *testing.T) {
	bf16, _ := engine.Preset("bf16")
	fp32, _ := engine.Preset("fp32")
	r := toolRecipe(t, "rollout.prompts=16")
	var m *Measurement
	lines := trainertest.Dumped(t, func(w *record.DumpWriter) (err error) {
		m, err = Gaps(context.Background(), GapRequest{Recipe: r, Pairs: []Pair{{bf16, fp32}, {fp32, fp32}}, Responses: into(w, r)})
		return err
	})
	generated, replies, turns := 0, 0, int32(0)
	for _, line := range lines {
		if line.Run != "bf16-to-fp32" {
			continue
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
	a := must.Get(Attribute(context.Background(), AttributeRequest{Recipe: toolRecipe(t), Pair: Pair{variant, fp32}, ExactLimit: 1}))(t)
	if a.Total.K3 <= 0 || len(a.Mechanisms) < 3 {
		t.Errorf("total %v of %d mechanisms", a.Total, len(a.Mechanisms))
	}
}
