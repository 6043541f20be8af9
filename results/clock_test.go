package results

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"driftlab/results/record"
)

// clocked is a run in memory, one second a step and so much more for its seed.
func clocked(name string, seed int, ticks float64) *record.Record {
	r := &record.Record{Name: name, Seed: uint64(seed), Recipe: fmt.Appendf(nil, "name: %s\nseed: %d\n", name, seed)}
	r.Add(0, []record.Metric{{Name: "val/learner/pass_rate", Value: 0}})
	for step := 1; step <= 10; step++ {
		m := []record.Metric{{Name: "val/learner/pass_rate", Value: float64(step) * ticks / 1e7}, {Name: "critic/score/mean", Value: 0.5}}
		if ticks > 0 {
			m = append(m, record.Metric{Name: "clock/ticks", Value: float64(step) * ticks})
		}
		r.Add(step, m)
	}
	return r
}

// Over virtual time, seeds that reach their steps at other times are one line: here
// all rise by a tenth per second. Runs without a clock are left out, and the others
// keep their colour.
func TestTimeChart(t *testing.T) {
	groups := Group([]*record.Record{clocked("sync", 1, 0), clocked("a", 1, 1e6), clocked("a", 2, 1.3e6), clocked("b", 1, 2e6)})
	c := TimeChartOf(groups, "val/learner/pass_rate", nil)
	if len(c.Series) != 2 || c.Series[0].Slot != 2 || c.Series[1].Slot != 3 || c.X.Label != "virtual time, s" {
		t.Fatalf("%+v", c)
	}
	points := newChart(&c).pointsOf(&c.Series[0])
	if len(points) != 11 || points[0].X != 0 || points[10].X != 10 {
		t.Errorf("points %+v", points)
	}
	for _, p := range points {
		if !(math.Abs(p.Mean-p.X/10) <= 1e-12) || p.High-p.Low > 1e-12 {
			t.Errorf("%+v, want a tenth of the time", p)
		}
	}
	if p := newChart(&c).pointsOf(&c.Series[1]); p[10].X != 20 || p[1].X != 2 {
		t.Errorf("a single seed: %+v", p)
	}
}

// A timeline has some of many workers and nothing outside its ends; lags are shares,
// and the last row has all that are greater.
func TestClockPictures(t *testing.T) {
	c := &record.Clock{System: "areal", Workers: 60, Slots: 4, From: 1_000_000, To: 3_000_000, Lags: make([]int, 40), TokenLags: []int{1, 3}}
	for lag := range c.Lags {
		c.Lags[lag] = 2
	}
	for lane := -1; lane < 60; lane++ {
		for i, does := range []string{"generating", "training", "scoring", "loading"} {
			c.Spans = append(c.Spans, record.ClockSpan{Lane: lane, Activity: does, From: i * 1_000_000, To: (i + 1) * 1_000_000, Version: i, Busy: 0.25})
		}
	}
	f := TimelineOf(c)
	if len(f.Lanes) != 1+mostLanes || f.X.Low != 1 || f.X.High != 3 {
		t.Fatalf("%d lanes from %v to %v", len(f.Lanes), f.X.Low, f.X.High)
	}
	for _, lane := range f.Lanes {
		if len(lane.Spans) != 2 || lane.Spans[0].Share != 1 || lane.Spans[1].Share != 0.5 {
			t.Errorf("%+v", lane)
		}
	}
	b := LagsOf(c)
	if len(b.Labels) != mostLags || b.Labels[mostLags-1] != "19 or more" || b.Series[0].Y[0] != 5-2.5 || b.Series[1].Y[1] != 75 {
		t.Errorf("%+v", b)
	}
	if last := b.Series[0].Y[mostLags-1]; math.Abs(last-52.5) > 1e-12 {
		t.Errorf("beyond 18: %v %%", last)
	}
}

// The report shows the clock, the reward over time beside that over steps; without a
// clock it has no such section.
func TestClockSection(t *testing.T) {
	r := clocked("a", 1, 1e6)
	r.Clock = &record.Clock{System: "areal", Workers: 1, Slots: 1, To: 9, Lags: []int{1}, TokenLags: []int{1}, Spans: []record.ClockSpan{{Lane: -1, Activity: "training", To: 9}}}
	report := FromRuns([]*record.Record{r})
	text := string(report.HTML())
	wellFormed(t, text)
	for _, want := range []string{"engine against virtual time", "Training reward against virtual time", "Training reward against steps", "areal: the learner and 1 of 1 workers", "areal: staleness of the trained tokens and samples"} {
		if strings.Count(text, want) == 0 {
			t.Errorf("no %q", want)
		}
	}
	if section := report.Sections[1]; section.Heading != "On the virtual clock" || len(section.Blocks) != 5 {
		t.Errorf("%s with %d blocks", section.Heading, len(section.Blocks))
	}
	plain := FromRuns([]*record.Record{clocked("sync", 1, 0)})
	if text := string(plain.HTML()); strings.Contains(text, "virtual") {
		t.Error("a run without a clock has a clock")
	}
}
