package study

import (
	"math"
	"strings"
	"testing"

	"driftlab/results/record"
)

// Limits that follow a law are predicted, to less than the width of a rung; those of arms that are predicted are no part of the fit.
func TestPredictions(t *testing.T) {
	l := Ladder{From: 1e-3, Lowest: 1e-3 / 1024, Highest: 8e-3}
	if problem := l.fill(); problem != "" {
		t.Fatal(problem)
	}
	// A limit halves with each factor of 4 of the lag, and with each of 16 of the size, against equal engines of the size.
	limit := func(size, lag float64) float64 {
		equal := 4e-3 * math.Pow(2, .25) / math.Pow(size, .5)
		if lag == 0 {
			return equal
		}
		return equal * .5 * math.Pow(lag/4, -.5) * math.Pow(size, -.25)
	}
	sizes, lags := map[string]float64{"1M": 1, "16M": 16, "256M": 256}, map[string]float64{"0": 0, "4": 4, "16": 16}
	d := &Folder{Index: &Index{Ladder: &l, Within: "size", Predict: []string{"256M, 4, none", "256M, 16, none"},
		Factors: []IndexFactor{{Name: "size"}, {Name: "lag"}, {Name: methodFactor}, {Name: rateFactor, Values: l.names()}}}}
	for _, size := range []string{"1M", "16M", "256M"} {
		for _, lag := range []string{"0", "4", "16"} {
			for i, rate := range l.rates() {
				a := Arm{Values: map[string]string{"size": size, "lag": lag, methodFactor: "none", rateFactor: l.names()[i]}}
				d.Arms = append(d.Arms, a)
				o := Outcome{Status: record.StatusFinished, RunOutcome: record.RunOutcome{Peak: .9, Final: .1}}
				if rate < limit(sizes[size], lags[lag]) {
					o.Final = .9
				}
				for seed := range uint64(3) {
					d.Rows = append(d.Rows, Row{Seed: seed, Outcome: o, Values: a.Values})
				}
			}
		}
	}
	s := d.Limits()
	if len(s.Predictions) != 2 {
		t.Fatalf("%d predictions, not 2", len(s.Predictions))
	}
	for i, of := range []struct{ size, lag float64 }{{256, 4}, {256, 16}} {
		p := s.Predictions[i]
		want := limit(of.size, of.lag) / limit(of.size, 0)
		if off := float64(p.Ratio.Estimate) / want; p.Ratio.N != 4 || off < .97 || off > 1.03 {
			t.Errorf("%s: %v times equal engines by %d arms, want %v", p.Arm, p.Ratio.Estimate, p.Ratio.N, want)
		}
		if off := float64(p.Measured.From) / want; off < .97 || off > 1.03 {
			t.Errorf("%s: measured %v, want %v", p.Arm, p.Measured.From, want)
		}
	}
	if text := lawTable(s).Markdown(); !strings.Contains(text, "size -0.24 (-0.28 to -0.21); lag -0.49 (-0.56 to -0.43)") {
		t.Errorf("the exponents are not in\n%s", text)
	}
	for _, a := range s.Arms {
		if size, _, _ := strings.Cut(a.Stressor, ","); a.Equal != "" && a.Equal != size+", 0" {
			t.Errorf("%s is compared with %s", a.Stressor, a.Equal)
		}
	}
}
