package study

import (
	"fmt"
	"strings"
	"testing"

	"driftlab/results/record"
)

// mapped is a study of arms over rates whose runs end as given: arm, rate, then a final pass rate for each seed. Every run was at
// 0.9 before.
func mapped(ends map[string][][]float64, arms [][2]string, rates ...string) *Folder {
	d := &Folder{Index: &Index{Factors: []IndexFactor{{Name: ArmFactor}, {Name: rateField, Values: rates}}}}
	for _, arm := range arms {
		d.Factors[0].Values = append(d.Factors[0].Values, arm[0])
		for r, finals := range ends[arm[0]] {
			for seed, final := range finals {
				o := Outcome{Status: record.StatusFinished, RunOutcome: record.RunOutcome{Peak: 0.9, Final: record.Number(final)}}
				d.Rows = append(d.Rows, Row{Seed: uint64(seed), Outcome: o, Values: map[string]string{ArmFactor: arm[0], rateField: rates[r], problemLabel: arm[1]}})
			}
		}
	}
	return d
}

// TestRateMap: limits, levels and the finding, of arms that are stable everywhere, up to a rate, above an unstable rate, and nowhere.
func TestRateMap(t *testing.T) {
	good, bad := []float64{0.9, 0.85}, []float64{0.9, 0.1}
	d := mapped(map[string][][]float64{
		"equal": {good, good, good}, "none": {good, bad, good}, "mask": {{0.9, 0.9}, good, bad}, "drop": {bad, bad, {0.2, 0.2}},
	}, [][2]string{{"equal", ""}, {"none", "lag"}, {"mask", "lag"}, {"drop", "lag"}}, "1e-3", "2e-3", "5e-4")
	// Rates are in numeric order: 5e-4 is the third list.
	m := d.rateMap()
	if got := strings.Join(m.rates, " "); got != "5e-4 1e-3 2e-3" {
		t.Fatalf("rates %s", got)
	}
	for i, want := range []string{"2e-3 or more 0.88", "1e-3 0.88", "none 0.90", "none 0.50"} {
		if got := fmt.Sprintf("%s %.2f", m.limitText(&m.arms[i]), m.arms[i].level()); got != want {
			t.Errorf("%s: %s, want %s", m.arms[i].name, got, want)
		}
	}
	finding := d.Finding() + " " + strings.ReplaceAll(m.limits(), "**", "")
	for _, want := range []string{
		"Lag: the largest stable learning rate is 1e-3 without a correction, none with mask and none with drop (equal: 2e-3 or more); the pass rate there is 0.88, 0.90 and 0.50 (0.88).",
		"With lag, lower the learning rate before you add a correction: without one, 1 of 2 runs lose more than 0.1 at 2e-3, and at 1e-3 none does (pass rate 0.88, equal 0.88).",
	} {
		if !strings.Contains(finding, want) {
			t.Errorf("the finding lacks %q:\n%s", want, finding)
		}
	}
	text := strings.Join(strings.Fields(m.table().Markdown()), " ")
	for _, want := range []string{"| equal | | 0.88 (2/2) | 0.88 (2/2) | 0.88 (2/2) |", "| mask | | **0.50 (1/2)** | 0.90 (2/2) | 0.88 (2/2) |"} {
		if !strings.Contains(text, want) {
			t.Errorf("the table lacks %q:\n%s", want, text)
		}
	}
	if p := m.picture(); len(p.Parts) != 1 || len(p.Parts[0].Series) != 4 || len(p.Parts[0].Series[1].Seeds[1].X) != 3 {
		t.Errorf("picture %+v", p)
	}
}

// TestRateMapUnfinished: a run that stopped is not stable, an arm without runs says nothing, and other plans have no map.
func TestRateMapUnfinished(t *testing.T) {
	d := mapped(map[string][][]float64{"equal": {{0.9}, {0.9}}}, [][2]string{{"equal", ""}, {"none", "lag"}}, "1e-3", "2e-3")
	d.Rows[1].Status = record.StatusStopped
	if got := d.rateMap().arms[0].limit(); got != 0 {
		t.Errorf("limit at %d", got)
	}
	if text := d.rateMap().table().Markdown(); !strings.Contains(text, " - ") {
		t.Errorf("table\n%s", text)
	}
	d = mapped(map[string][][]float64{"equal": {{0.9}, {0.9}}, "none": {{0.85}, {0.8}}}, [][2]string{{"equal", ""}, {"none", "router"}}, "1e-3", "2e-3")
	d.Rows[2].Final, d.Rows[3].Final, d.Rows[2].Peak, d.Rows[3].Peak = 0.6, 0.5, 0.6, 0.5
	if want := "With router, no learning rate is enough: without a correction the best pass rate is 0.60 (equal 0.90)."; !strings.HasSuffix(d.Finding(), want) {
		t.Errorf("finding %q", d.Finding())
	}
	d.Rows = nil
	if got := d.Finding(); got != "" {
		t.Errorf("finding %q", got)
	}
	d.Factors[0].Name = "method"
	if d.rateMap() != nil {
		t.Error("a map of methods")
	}
}
