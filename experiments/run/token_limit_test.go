package run

import (
	"path/filepath"
	"testing"

	"driftlab/trainer/trainertest"
)

// TestTokenLimit: a run ends with the step that generates the last of its tokens and is
// evaluated there; taken up in the middle it ends in the same place.
func TestTokenLimit(t *testing.T) {
	sets := []string{"steps=40", "eval={every: 30, prompts: 4}", "learner={epochs: 2}"}
	free := mustRun(t, trainertest.Recipe(t, append(sets, "max_generated_tokens=1000000")...), Options{})
	generated := free.Record.Column("tokens/generated")
	const last = 9
	limit := generated.Value[last-1]
	r := trainertest.Recipe(t, sets...)
	r.MaxGeneratedTokens = int(limit)
	whole, parts := filepath.Join(t.TempDir(), "whole"), filepath.Join(t.TempDir(), "parts")
	ended := mustRun(t, r, Options{Dir: whole})
	if ended.Summary.Steps != last {
		t.Fatalf("%d steps to %v tokens, want %d", ended.Summary.Steps, limit, last)
	}
	trained := ended.Record.Column("tokens/trained")
	if got := trained.Value[last-1]; got != 2*limit {
		t.Errorf("%v tokens were generated and %v trained in two epochs", limit, got)
	}
	if rate := ended.Record.Column("val/learner/pass_rate"); rate == nil || rate.Step[len(rate.Step)-1] != last {
		t.Errorf("the last evaluation is not of the last step: %+v", rate)
	}
	interruptAt(t, r, parts, 4)
	mustRun(t, r, Options{Dir: parts})
	sameRun(t, "taken up", files(t, whole), files(t, parts))
	if plain := mustRun(t, trainertest.Recipe(t, sets...), Options{}); plain.Record.Steps != 40 {
		t.Errorf("%d steps without a limit", plain.Record.Steps)
	}
}
