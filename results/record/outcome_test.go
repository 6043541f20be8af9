package record

import (
	"math"
	"testing"

	"driftlab/results/stats"
)

// TestHasCollapsed pins the convention at its edges: a loss of exactly the share counts,
// however the means were rounded, and a curve that never rose has not collapsed.
func TestHasCollapsed(t *testing.T) {
	for _, c := range []struct {
		peak, final float64
		want        bool
	}{{1, 0.71, false}, {1, 0.7, true}, {1, 0, true}, {0, 0, false}, {0.5, 0.5, false}} {
		if got := HasCollapsed(c.peak, c.final); got != c.want {
			t.Errorf("HasCollapsed(%v, %v) = %v, want %v", c.peak, c.final, got, c.want)
		}
	}
	for prompts := 1; prompts <= 256; prompts++ {
		for solved := 10; solved <= 3*prompts; solved += 10 {
			n := float64(prompts)
			peak, final := stats.Average([]float64{float64(solved-2*(solved/3)) / n, float64(solved/3) / n, float64(solved/3) / n}), float64(solved*7/10)/n/3
			if !HasCollapsed(peak, final) {
				t.Fatalf("%d of %d prompts to %d: not a loss of 30 %%", solved, 3*prompts, solved*7/10)
			}
		}
	}
}

// recordOf is a finished run with pass rates at the steps.
func recordOf(steps []int, rates ...float64) *Record {
	r := &Record{Summary: &Summary{Status: StatusFinished}}
	for i, v := range rates {
		r.Add(steps[i], []Metric{{"val/learner/pass_rate", v}})
	}
	return r
}

func TestJudge(t *testing.T) {
	nan := math.NaN()
	from0, from1 := []int{0, 1, 20, 40, 60, 80, 100, 120, 140, 160, 180, 200, 220}, []int{1, 20, 40, 60, 80, 100, 120, 140, 160, 180, 200}
	for _, c := range []struct {
		name               string
		steps              []int
		rates              []float64
		verdict            Verdict
		start, peak, final float64
	}{
		{"a learning rate of 10", from0, []float64{0.56, 0, 0, 0}, DeadAtOnce, 0.56, 0.56, 0},
		{"a stray sample afterwards", from0, []float64{0.56, 0, 0.02, 0, 0}, DeadAtOnce, 0.56, 0.56, 0.02 / 3},
		{"low from the first evaluation on", from0, []float64{0.56, 0.1, 0.1, 0.1}, Collapsed, 0.56, 0.56, 0.1},
		{"the same without its start", from1, []float64{0.1, 0.1, 0.1, 0.1}, NotCollapsed, nan, 0.1, 0.1},
		{"above its start, then down", from0, []float64{0.5, 0.6, 0.9, 0.9, 0.9, 0.6, 0.6, 0.6}, Collapsed, 0.5, 0.9, 0.6},
		{"nothing at any time", from0, []float64{0, 0, 0, 0, 0}, NeverLearned, 0, 0, 0},
		{"as good as nothing", from0, []float64{0.02, 0, 0.03, 0, 0}, NeverLearned, 0.02, 0.02, 0.01},
		{"nothing, start unknown", from1, []float64{0, 0, 0, 0, 0}, NeverLearned, nan, 0, 0},
		{"learned from nothing", from0, []float64{0, 0, 0.3, 0.6, 0.6, 0.6}, NotCollapsed, 0, 0.6, 0.6},
		{"unmoved", from0, []float64{0.5, 0.5, 0.5, 0.5}, NotCollapsed, 0.5, 0.5, 0.5},
		{"two evaluations and the start", from0, []float64{0.5, 0, 0}, TooFew, 0.5, 0.5, 0},
		{"three evaluations, no start", from1, []float64{0.5, 0, 0}, TooFew, nan, 0.5 / 3, 0.5 / 3},
		{"the start only", from0, []float64{0.5}, NotJudged, 0.5, nan, nan},
		{"a dip of 60 updates", from0, []float64{0.5, 0.9, 0.9, 0.9, 0.3, 0.3, 0.3, 0.9, 0.9, 0.9}, NotCollapsed, 0.5, 0.9, 0.9},
		{"down for 100 updates, then up", from0, []float64{0.5, 0.9, 0.9, 0.9, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.9, 0.9, 0.9}, Collapsed, 0.5, 0.9, 0.9},
		{"no value that is finite", from0, []float64{nan, nan, math.Inf(1), nan, nan}, NotJudged, nan, nan, nan},
	} {
		got := Judge(recordOf(c.steps, c.rates...), "val/learner/pass_rate")
		same := func(a, b float64) bool { return a == b || math.Abs(a-b) < 1e-12 || math.IsNaN(a) && math.IsNaN(b) }
		if got.Verdict != c.verdict || !same(float64(got.Start), c.start) || !same(float64(got.Peak), c.peak) || !same(float64(got.Final), c.final) {
			t.Errorf("%s: %+v, want %+v", c.name, got, c)
		}
	}
	r := recordOf(from0, 0.5, 0, 0, 0, 0)
	r.Summary.Status = StatusStopped
	if c := Judge(r, "val/learner/pass_rate"); c.Verdict != Stopped {
		t.Errorf("a stopped run: %s", c.Verdict)
	}
	if r.Summary = nil; Judge(r, "val/learner/pass_rate").Verdict != Running {
		t.Error("a run without a summary is judged")
	}
}

func TestPeakAndEnd(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		values      []float64
		peak, final float64
		ok          bool
	}{
		{nil, 0, 0, false}, {[]float64{nan, math.Inf(1)}, 0, 0, false}, {[]float64{2}, 2, 2, true}, {[]float64{1, 2}, 1.5, 1.5, true},
		{[]float64{1, 9, 2, 3, 4}, 14. / 3, 3, true}, {[]float64{-1, nan, -2, -3, -4}, -2, -3, true},
	} {
		peak, final, ok := PeakAndEnd(c.values)
		if math.Abs(peak-c.peak) > 1e-12 || math.Abs(final-c.final) > 1e-12 || ok != c.ok {
			t.Errorf("%v: %v %v %v, want %v %v %v", c.values, peak, final, ok, c.peak, c.final, c.ok)
		}
	}
}
