package results

import (
	"slices"
	"testing"

	"driftlab/results/figure"
	"driftlab/results/record"
)

// TestPassRatesOf draws each evaluation by itself: a length that occurs only later has
// no point before training, and columns stand in any order.
func TestPassRatesOf(t *testing.T) {
	r := &record.Record{Columns: []record.Column{
		{Name: passOne, Step: []int{0, 10, 20}, Value: []float64{0.3, 0.4, 0.5}},
		{Name: "val/learner/pass_rate_of_length/96", Step: []int{20}, Value: []float64{0.9}},
		{Name: "val/learner/pass_rate_of_length/12", Step: []int{0, 10, 20}, Value: []float64{0.1, 0.2, 0.3}},
		{Name: "val/learner/pass_rate_of_length/24", Step: []int{0, 10}, Value: []float64{0.5, 0.6}},
	}}
	charts := passRatesOf([]RunGroup{{Name: "one", Runs: []*record.Record{r}}})
	if len(charts) != 1 || charts[0].Title != "Pass rate by length" || len(charts[0].Series) != 2 {
		t.Fatalf("%+v", charts)
	}
	for i, want := range []figure.Series{{X: []float64{12, 24}, Y: []float64{0.1, 0.5}}, {X: []float64{12, 96}, Y: []float64{0.3, 0.9}}} {
		if got := charts[0].Series[i].Seeds[0]; !slices.Equal(got.X, want.X) || !slices.Equal(got.Y, want.Y) {
			t.Errorf("%s: %v over %v, want %v over %v", charts[0].Series[i].Name, got.Y, got.X, want.Y, want.X)
		}
	}
	if charts := passRatesOf([]RunGroup{{Runs: []*record.Record{{Columns: r.Columns[:1]}}}}); len(charts) > 0 {
		t.Errorf("without samples: %+v", charts)
	}
}
