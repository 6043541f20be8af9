package tables

import (
	"math"
	"strings"
	"testing"

	"driftlab/engine"
	"driftlab/experiments/measure"
	"driftlab/trainer/method/metrics"
)

// TestLevelTable shows each level once, and what the correction leaves after the last.
func TestLevelTable(t *testing.T) {
	d := &measure.LevelTable{Checkpoint: "c", Task: "t", Seed: 3, Mechanisms: []measure.LevelResponse{{
		Mechanism: "head", About: "format of the head", Ordered: true,
		Levels:     []measure.LevelGap{{Level: "fp32"}, {Level: "bf16", K3: 1e-6, Unequal: 0.5}, {Level: "fp8", K3: 1e-4, Unequal: 1, Set: []string{"a=b", "c=d"}}},
		Correction: &measure.Correction{Name: "fp32 head", LevelGap: measure.LevelGap{K3: 5e-5}, Left: 0.5},
	}, {
		Mechanism: "noise", Levels: []measure.LevelGap{{Level: "0"}, {Level: "1", K3: 1}},
	}}}
	table := LevelTable(d)
	if len(table.Rows) != 6 {
		t.Fatalf("%d rows", len(table.Rows))
	}
	text := strings.Join(strings.Fields(table.Markdown()), " ")
	for _, want := range []string{"| **head** | fp32 |", "| | bf16 |", "| | fp8 |", "| | correction: fp32 head |", "| **noise** | 0 |", "| | 1 |"} {
		if strings.Count(text, want) != 1 {
			t.Errorf("no single %q in\n%s", want, table.Markdown())
		}
	}
	if text := LevelReading(d).Markdown(); !strings.Contains(text, "a=b  c=d") || !strings.Contains(text, "format of the head") {
		t.Errorf("reading:\n%s", text)
	}
	bars := LevelBars(d)
	if strings.Join(bars.Labels, " ") != "noise head" || bars.Series[0].Y[1] != 1e-6 || bars.Series[1].Y[1] != 1e-4 || bars.Series[2].Y[1] != 5e-5 ||
		!math.IsNaN(bars.Series[2].Y[0]) {
		t.Errorf("bars %+v", bars)
	}
}

// TestPresetTable has a row for every preset.
func TestPresetTable(t *testing.T) {
	if table := PresetTable(); len(table.Rows) != len(engine.Presets()) || len(table.Rows[0]) != len(table.Columns) {
		t.Errorf("%d rows of %d cells for %d presets", len(table.Rows), len(table.Rows[0]), len(engine.Presets()))
	}
}

// TestKeptMassTable leaves out pairs without the self-test, and says which fail.
func TestKeptMassTable(t *testing.T) {
	m := &measure.Measurement{Pairs: []measure.PairGap{
		{Rollout: "a", Learner: "b"}, {Rollout: "c", Learner: "d", KeptMass: &metrics.KeptMass{Kept: 0.9, Expected: 0.9, Ratio: 1, StdErr: 0.01}},
	}}
	if table := KeptMassTable(m); len(table.Rows) != 1 || !strings.Contains(table.Markdown(), "**no**") {
		t.Errorf("%s", KeptMassTable(m).Markdown())
	}
}
