package experiments

import (
	"math"
	"strings"
	"testing"

	"driftlab/engine"
	"driftlab/experiments/measure"
	"driftlab/trainer/method/metrics"
)

// TestDoseTable shows each dose once, and what the cure leaves after the last.
func TestDoseTable(t *testing.T) {
	d := &measure.DoseTable{Checkpoint: "c", Task: "t", Seed: 3, Mechanisms: []measure.DoseResponse{{
		Mechanism: "head", About: "format of the head", Ordered: true,
		Doses: []measure.DoseGap{{Dose: "fp32"}, {Dose: "bf16", K3: 1e-6, Unequal: 0.5}, {Dose: "fp8", K3: 1e-4, Unequal: 1, Set: []string{"a=b", "c=d"}}},
		Cure:  &measure.Cure{Name: "fp32 head", DoseGap: measure.DoseGap{K3: 5e-5}, Left: 0.5},
	}, {
		Mechanism: "noise", Doses: []measure.DoseGap{{Dose: "0"}, {Dose: "1", K3: 1}},
	}}}
	table := DoseTable(d)
	if len(table.Rows) != 6 {
		t.Fatalf("%d rows", len(table.Rows))
	}
	text := strings.Join(strings.Fields(table.Markdown()), " ")
	for _, want := range []string{"| **head** | fp32 |", "| | bf16 |", "| | fp8 |", "| | correction: fp32 head |", "| **noise** | 0 |", "| | 1 |"} {
		if strings.Count(text, want) != 1 {
			t.Errorf("no single %q in\n%s", want, table.Markdown())
		}
	}
	if text := DoseReading(d).Markdown(); !strings.Contains(text, "a=b  c=d") || !strings.Contains(text, "format of the head") {
		t.Errorf("reading:\n%s", text)
	}
	bars := DoseBars(d)
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
