package table_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"driftlab/experiments/sweep"
	"driftlab/experiments/table"
	"driftlab/results/record"
)

// ran makes the outcome of a run with the pass rates of its evaluations, the first
// before any update.
func ran(method, stressor, against string, seed uint64, trace string, rates ...float64) sweep.Outcome {
	letter := map[string]string{"age": "C", "calm": "G"}[stressor]
	o := sweep.Outcome{Run: method + stressor + trace, Values: map[string]string{"method": method, "group": "g-" + method, "stressor": stressor, "letter": letter, "dose": "16", "rate": "1e-3", "against": against},
		Seed: seed, Status: record.StatusFinished, RunOutcome: record.RunOutcome{Verdict: record.NotCollapsed}, Trace: sweep.Trace(trace), Tokens: sweep.Tokens{Generated: 100, Scored: 100, Trained: 100}}
	for i, v := range rates {
		o.Evals.Step = append(o.Evals.Step, 10*i)
		o.Evals.Value = append(o.Evals.Value, record.Number(v))
	}
	return o
}

// stage is a stage whose plan is what has run and no more.
func stage(runs ...sweep.Outcome) *table.Stage {
	s := &table.Stage{Name: "screen", Index: &sweep.Index{Name: "screen"}, Runs: runs}
	for _, o := range runs {
		s.Index.Points = append(s.Index.Points, sweep.IndexPoint{Values: o.Values, Runs: []string{o.Run}})
		if !slices.Contains(s.Index.Seeds, o.Seed) {
			s.Index.Seeds = append(s.Index.Seeds, o.Seed)
		}
	}
	return s
}

// find is the row of a method under a stressor.
func find(t *testing.T, rows []table.Row, method, stressor string) table.Row {
	t.Helper()
	for _, r := range rows {
		if r.Method == method && r.Stressor == stressor {
			return r
		}
	}
	t.Fatalf("no row of %s under %s", method, stressor)
	return table.Row{}
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-12 {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// Differences are to the matched run of the same seed: of the means after the start,
// and of the last three evaluations.
func TestRowIsPaired(t *testing.T) {
	fell := ran("x", "age", "matched", 1, "AAAACCCC", .5, .5, .4, .3, .2)
	fell.Verdict, fell.Drawdown = record.Collapsed, .3
	fell.Tokens.Scored = 0
	rows := stage(
		ran("none", "matched", "", 1, "AAAAAAAA", .5, .6, .7, .8, .9), ran("none", "matched", "", 2, "BBBBBBBB", .5, .5, .5, .5, .5),
		ran("none", "age", "matched", 1, "AAAABBBB", .5, .6, .7, .8, .9), ran("none", "age", "matched", 2, "BBBBBBBB", .5, .5, .5, .5, .5),
		fell, ran("x", "age", "matched", 2, "BBBBBBBB", .5, .6, .6, .6, .6),
	).Rows()
	r := find(t, rows, "x", "age")
	// Seed 1: (.5+.4+.3+.2)/4 - .75 = -.4, end .3-.8 = -.5; seed 2: +.1 and +.1.
	near(t, "whole run", r.AUC.Estimate, -.15)
	near(t, "end", r.Final.Estimate, -.2)
	// The t quantile of one degree of freedom is 12.706, the standard error .25.
	if math.Abs(r.AUC.High-(-.15+12.7062*.25)) > 1e-3 {
		t.Errorf("the interval ends at %v", r.AUC.High)
	}
	near(t, "drawdown", r.Drawdown, .3)
	near(t, "cost", r.Cost, (400./500+1)/2)
	if r.N != 2 || r.Collapses != 1 || r.Acted != 1 {
		t.Errorf("n %d, collapses %d, acted %d; want 2, 1, 1", r.N, r.Collapses, r.Acted)
	}
	if bare := find(t, rows, "none", "age"); bare.Acted != 1 {
		t.Errorf("age acted on %d seeds, want 1", bare.Acted)
	}
	if len(rows) != 2 {
		t.Errorf("%d rows, want 2: a matched run is none", len(rows))
	}
	if c := r.Command(); c != "simulate sweep screen --only method=none+x,stressor=matched+age,rate=1e-3" {
		t.Errorf("made by %q", c)
	}
}

// A run that stopped solves nothing where it no longer is.
func TestStoppedRunGainsNothing(t *testing.T) {
	stopped := ran("x", "age", "matched", 1, "C", .5, .8, .8)
	stopped.Status, stopped.Verdict = record.StatusStopped, record.Stopped
	rows := stage(ran("none", "matched", "", 1, "A", .5, .8, .8, .8, .8), stopped).Rows()
	r := find(t, rows, "x", "age")
	near(t, "whole run", r.AUC.Estimate, -.4)
	near(t, "end", r.Final.Estimate, .8/3-.8)
	if r.Collapses != 1 {
		t.Errorf("%d collapses, want 1", r.Collapses)
	}
	if !math.IsNaN(r.Cost) {
		t.Errorf("cost %v without a control", r.Cost)
	}
	if sheet := table.Sheet(rows).CSV(); !strings.Contains(sheet, "-0.4,nan,nan,") {
		t.Errorf("the sheet gives one seed an interval:\n%s", sheet)
	}
}

// two are a stage of three methods under two stressors, x left out of calm by the plan.
func two() *table.Stage {
	return stage(
		ran("none", "matched", "", 1, "A", .5, .8), ran("none", "age", "matched", 1, "B", .5, .3), ran("none", "calm", "matched", 1, "A", .5, .8),
		ran("x", "age", "matched", 1, "C", .5, .7),
		ran("y", "age", "matched", 1, "D", .5, .6), ran("y", "calm", "matched", 1, "D", .5, .9),
		ran("z", "age", "matched", 1, "E", .5, .2), ran("z", "calm", "matched", 1, "E", .5, .6),
	)
}

// Regret is the distance from the best of each stressor; a method that the plan leaves
// out of one is there what no method is.
func TestRegret(t *testing.T) {
	s := two()
	list := s.Rank().Methods
	var names []string
	for _, m := range list {
		names = append(names, m.Method)
	}
	// Below the best: y .1 and 0, x 0 and .1, none .4 and .1, z .5 and .3.
	if got := strings.Join(names, " "); got != "x y none z" && got != "y x none z" {
		t.Fatalf("ranked %s", got)
	}
	for _, m := range list {
		want := map[string][2]float64{"x": {.05, .1}, "y": {.05, .1}, "none": {.25, .4}, "z": {.4, .5}}[m.Method]
		near(t, m.Method+" regret", m.Regret.Estimate, want[0])
		near(t, m.Method+" worst", m.Worst, want[1])
		if dominated := m.Method == "none" || m.Method == "z"; dominated != (m.DominatedBy != "") {
			t.Errorf("%s is dominated by %q", m.Method, m.DominatedBy)
		}
	}
}

// What is planned and not there yet is not ranked.
func TestUnfinishedIsNotRanked(t *testing.T) {
	s := two()
	s.Index.Points = append(s.Index.Points, sweep.IndexPoint{Values: map[string]string{"method": "x", "stressor": "calm"}})
	for _, m := range s.Rank().Methods {
		if m.Method == "x" {
			t.Error("x has no run under calm and a rank")
		}
	}
}

// What escapes a stressor has rows and no rank, and the page says why.
func TestEscapedIsNotRanked(t *testing.T) {
	s := two()
	for i := range s.Runs {
		if v := s.Runs[i].Values; v["method"] == "x" {
			v["escapes"], v["learns"] = "negatives", "negatives"
		} else if v["stressor"] == "age" {
			v["learns"] = "negatives"
		}
	}
	ranking := s.Rank()
	if rows := ranking.Rows; !find(t, rows, "x", "age").Escapes || find(t, rows, "y", "age").Escapes {
		t.Error("x alone escapes")
	}
	for _, m := range ranking.Methods {
		if m.Method == "x" {
			t.Error("x escapes a stressor and has a rank")
		}
	}
	files, err := table.Measure([]table.Stage{*s}).Files()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(files, func(f table.File) bool { return strings.Contains(string(f.Data), "Not ranked: `x`.") }) {
		t.Error("the page does not say that x has no rank")
	}
}
