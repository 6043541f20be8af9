package results

import (
	"bytes"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"driftlab/precision/must"
	"driftlab/results/figure"
	"driftlab/results/record"
)

// demoRun writes a run of a given fate and reads it back.
func demoRun(t *testing.T, dir, name string, seed int, extra, fate string) *record.Record {
	t.Helper()
	r := must.Get(record.Create(dir, fmt.Appendf(nil, "name: %s\nseed: %d\nsteps: 40\n%s", name, seed, extra)))(t)
	steps := 40
	if fate == "stopped" || fate == "running" {
		steps = 25
	}
	for s := 1; s <= steps; s++ {
		x := float64(s)
		rate := 0.5 + 0.4*(1-math.Exp(-x/10)) + 0.002*float64(seed)
		gap := 0.0
		if fate == "collapsed" && s > 20 {
			rate *= math.Exp(-(x - 20) / 5)
		}
		if fate != "held" {
			gap = 1e-4 * math.Exp(x/5)
		}
		m := []record.Metric{{Name: "critic/score/mean", Value: rate - 0.05}, {Name: "gap/k3", Value: gap}, {Name: "actor/grad_norm", Value: 1 / x}, {Name: "actor/lr", Value: 1e-3}, {Name: "perf/odd", Value: x}}
		if s%5 == 0 {
			m = append(m, record.Metric{Name: "val/learner/pass_rate", Value: rate})
		}
		must.Do(t, r.Step(s, m))
	}
	switch fate {
	case "running":
		r.Close()
	case "stopped":
		must.Do(t, r.Finish(record.Summary{Name: name, Seed: uint64(seed), Steps: steps, Status: record.StatusStopped, Reason: "step 26: tensor lm_head holds NaN."}))
	default:
		must.Do(t, r.Finish(record.Summary{Name: name, Seed: uint64(seed), Steps: steps, Status: record.StatusFinished}))
	}
	return must.Get(record.Load(dir))(t)
}

// demoRecords are five groups with every fate.
func demoRecords(t *testing.T) []*record.Record {
	dir := t.TempDir()
	var all []*record.Record
	add := func(name string, seed int, extra, fate string) {
		all = append(all, demoRun(t, filepath.Join(dir, fmt.Sprint(len(all))), name, seed, extra, fate))
	}
	for seed := 3; seed >= 1; seed-- { // out of order on purpose
		add("matched", seed, "lr: 1\n", "held")
		add("fp8", seed, "lr: 1\n", "collapsed")
	}
	add("fp8", 2, "lr: 1\n", "collapsed") // the same run once more
	add("fp8", 1, "lr: 2\n", "held")
	add("broken", 1, "lr: 1\n", "stopped")
	add("late", 1, "lr: 1\n", "running")
	return all
}

func TestGroup(t *testing.T) {
	groups := Group(demoRecords(t))
	var got []string
	for _, g := range groups {
		s := g.Name + ":"
		for _, r := range g.Runs {
			s += fmt.Sprint(" ", r.Seed)
		}
		got = append(got, fmt.Sprintf("%s; %d", s, g.Repeats))
	}
	want := "matched: 1 2 3; 0|fp8: 1 2 3; 1|fp8 (lr: 2): 1; 0|broken: 1; 0|late: 1; 0"
	if strings.Join(got, "|") != want {
		t.Errorf("groups %s\nwant   %s", strings.Join(got, "|"), want)
	}
	// No name and no difference to tell: still different names.
	same := Group([]*record.Record{
		{Dir: "x/a", Recipe: []byte("lr: 1\n\n")}, {Dir: "y/a", Recipe: []byte("lr: 1\n")}, {Dir: "z/a", Recipe: []byte("lr: 1")},
	})
	if len(same) != 3 || same[0].Name != "a" || same[1].Name != "a #2" || same[2].Name != "a #3" {
		t.Errorf("%+v", same)
	}
}

// outcomeGolden has ~ for a back quote.
const outcomeGolden = `| recipe      | verdict                | seeds   | steps |  peak |  final | lowest to highest (final) | lost (of the peak) |
|-------------|------------------------|---------|------:|------:|-------:|--------------------------:|-------------------:|
| matched     | **no collapse 3 of 3** | 1, 2, 3 |    40 | 0.891 |  0.891 |            0.889 to 0.893 |                 0% |
| fp8         | **collapsed 3 of 3**   | 1, 2, 3 |    40 | 0.807 | 0.0602 |          0.0600 to 0.0603 |                93% |
| fp8 (lr: 2) | **no collapse**        | 1       |    40 | 0.889 |  0.889 |                           |                 0% |
| broken      | **stopped early**      | 1       |    25 | 0.843 |  0.843 |                           |                 0% |
| late        | **still running**      | 1       |    25 | 0.843 |  0.843 |                           |                 0% |

Judged by ~val/learner/pass_rate~. Peak and final are means of 3 consecutive values of a run; a run that never rises above its start has the start as its peak. Collapsed: 30 % or more below the run's own peak, to the end or for 100 updates.
`

func TestFromRuns(t *testing.T) {
	records := demoRecords(t)
	terms := []Term{{Name: "gap/k3", Unit: "nats per token", Formula: "mean(exp(e) - 1 - e)"}, {Name: "never/logged"}}
	r := FromRuns(records, terms...)
	again := FromRuns(records, terms...)
	if !bytes.Equal(r.HTML(), again.HTML()) {
		t.Error("two reports of the same runs differ")
	}
	wellFormed(t, string(r.HTML()))
	// By hand, with the rates of demoRun at steps 30, 35, 40 (.8801, .8879, .8927 plus .004 for the mean seed):
	// mean .8909; collapsed, times exp(-2), exp(-3), exp(-4): mean .0602.
	wantLead := "Collapsed: **fp8** (3 of 3). By `val/learner/pass_rate` at the end, **matched** stands highest (0.891) " +
		"and **fp8** lowest (0.0602). 10 runs of 5 recipes."
	if r.Lead != wantLead {
		t.Errorf("lead\n%s\nwant\n%s", r.Lead, wantLead)
	}
	table := r.Sections[0].Blocks[1].(*figure.Figure) // below the chart
	table.Title = ""
	if got := table.Markdown(); got != strings.ReplaceAll(outcomeGolden, "~", "`") {
		t.Errorf("table:\n%s\nwant:\n%s", got, outcomeGolden)
	}
	var headings []string
	for _, s := range r.Sections {
		headings = append(headings, s.Heading)
	}
	if got := strings.Join(headings, "|"); got != "Outcome|Reward and pass rate|Training-inference mismatch|The updates|All other metrics" {
		t.Errorf("sections %s", got)
	}
	if len(r.Glossary) != 1 || r.Glossary[0].Name != "gap/k3" {
		t.Errorf("glossary %+v", r.Glossary)
	}
	text := string(r.HTML())
	for _, want := range []string{
		"<strong>broken</strong>, seed 1 stopped early: step 26: tensor lm_head holds NaN.</p>", "1 run left out: the same recipe and seed are already shown.",
		"<summary>1 more metric</summary>", "recipe.yaml --seed 3", "nats per token",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q", want)
		}
	}
}

func TestChartOf(t *testing.T) {
	groups := Group(demoRecords(t))
	c := ChartOf(groups, "gap/k3", nil)
	if !c.Y.Log || len(c.Series) != 5 || c.Series[0].Slot != 1 || len(c.Series[1].Seeds) != 3 || c.Series[1].Seeds[0].Name != "seed 1" || c.Title != "Training-inference mismatch (k3)" {
		t.Errorf("%+v", c)
	}
	if c = ChartOf(groups, "val/learner/pass_rate", nil); c.Y.Low != 0 || c.Y.High != 1 || c.Y.Log || c.Series[0].Seeds[0].X[0] != 5 {
		t.Errorf("%+v", c)
	}
	if c = ChartOf(groups, "perf/odd", nil); c.Y.Log || c.Y.High != 0 || c.Title != "perf/odd" || c.Metric != "" {
		t.Errorf("%+v", c)
	}
	if c = ChartOf(groups, "absent", nil); len(c.Series) != 0 {
		t.Errorf("%+v", c)
	}
}

// TestFromRunsWithoutMetrics has nothing to judge by.
func TestFromRunsWithoutMetrics(t *testing.T) {
	r := FromRuns([]*record.Record{{Name: "a", Dir: "it's here"}})
	wellFormed(t, string(r.HTML()))
	if r.Title != "a" || len(r.Sections) != 1 || r.Reruns[0].Command != `simulate train 'it'\''s here/recipe.yaml' --seed 0` {
		t.Errorf("%+v", r)
	}
}
