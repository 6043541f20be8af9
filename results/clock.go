package results

import (
	"fmt"
	"slices"
	"strconv"

	"driftlab/results/figure"
	"driftlab/results/record"
)

// ticksMetric is the virtual time of a step on record; a tick of the default costs is
// a microsecond.
const ticksMetric = "clock/ticks"

func seconds(ticks int) float64 { return float64(ticks) / 1e6 }

// mostLanes bounds the workers of a timeline.
const mostLanes = 24

// TimelineOf draws the learner and the workers of a clock, or some of these if they
// are many.
func TimelineOf(c *record.Clock) *figure.Figure {
	shown := min(mostLanes, c.Workers)
	t := &figure.Figure{Kind: figure.Timeline,
		Title: fmt.Sprintf("%s: the learner and %d of %d workers", c.System, shown, c.Workers),
		X:     figure.Axis{Label: "s", Low: seconds(c.From), High: seconds(c.To)},
		Y:     figure.Axis{Label: "height: share of busy slots, half for prefill and scoring; grey: transfer of weights; low: waiting for tools"},
		Lanes: []figure.Lane{{Name: "learner"}},
	}
	row := map[int]int{-1: 0}
	for i := range shown {
		worker := i * c.Workers / shown
		row[worker] = len(t.Lanes)
		t.Lanes = append(t.Lanes, figure.Lane{Name: fmt.Sprintf("worker %d", worker)})
	}
	for _, s := range c.Spans {
		i, ok := row[s.Lane]
		if !ok || s.From >= c.To || s.To <= c.From {
			continue
		}
		span := figure.Span{From: seconds(s.From), To: seconds(s.To), Version: s.Version, Share: 1}
		switch s.Activity {
		case "generating":
			span.Share = s.Busy
		case "scoring", "prefilling":
			span.Share = 0.5
		case "loading", "pushing":
			span.Version = -1
		case "calling":
			span.Version, span.Share = -1, 0.15
		}
		t.Lanes[i].Spans = append(t.Lanes[i].Spans, span)
	}
	return t
}

// mostLags bounds the rows of a lag histogram; the last has all above it.
const mostLags = 20

// LagsOf is the lag histogram of a clock, over its whole run.
func LagsOf(c *record.Clock) *figure.Figure {
	b := &figure.Figure{Kind: figure.Bars, Title: c.System + ": staleness of the trained tokens and samples, over the whole run", Y: figure.Axis{Label: "percent, by lag in published versions"}}
	rows := min(max(len(c.Lags), len(c.TokenLags)), mostLags)
	for lag := range rows {
		name := strconv.Itoa(lag)
		if lag == mostLags-1 && max(len(c.Lags), len(c.TokenLags)) > mostLags {
			name += " or more"
		}
		b.Labels = append(b.Labels, name)
	}
	for _, g := range []struct {
		name   string
		counts []int
	}{{"samples, by their oldest token", c.Lags}, {"tokens", c.TokenLags}} {
		all, shares := 0, make([]float64, rows)
		for _, n := range g.counts {
			all += n
		}
		for lag, n := range g.counts {
			shares[min(lag, rows-1)] += 100 * float64(n) / float64(all)
		}
		b.Series = append(b.Series, figure.Series{Name: g.name, Y: shares})
	}
	return b
}

// TimeChartOf is ChartOf over virtual time instead of steps. Runs without a clock
// are not on it. Seeds reach a step at different times: where a line has several,
// each is read off at the same times, between its neighbours, as far as all go.
func TimeChartOf(groups []RunGroup, metric string, terms []Term) figure.Figure {
	c := chartOf(groups, metric, terms, (*RunGroup).timed)
	c.X.Label = "virtual time, s"
	c.Title += " against virtual time"
	return c
}

func (g *RunGroup) timed(metric string) figure.Series {
	clocked := RunGroup{Name: g.Name}
	for _, r := range g.Runs {
		if r.Column(ticksMetric) != nil && r.Column(metric) != nil {
			clocked.Runs = append(clocked.Runs, r)
		}
	}
	arm := clocked.arm(metric)
	for i, s := range arm.Seeds {
		ticks := clocked.Runs[i].Column(ticksMetric)
		for k, step := range s.X {
			s.X[k] = 0 // the evaluation before the first update
			if t, ok := ticks.At(int(step)); ok {
				s.X[k] = t / 1e6
			}
		}
	}
	if len(arm.Seeds) > 1 {
		align(arm.Seeds)
	}
	return arm
}

// align gives curves the same X, as many as the shortest has, from the latest first
// one to the earliest last.
func align(curves []figure.Series) {
	from, to, n := 0.0, 0.0, 0
	for i, c := range curves {
		first, last := c.X[0], c.X[len(c.X)-1]
		if i == 0 {
			from, to, n = first, last, len(c.X)
		}
		from, to, n = max(from, first), min(to, last), min(n, len(c.X))
	}
	if to <= from {
		n = 1
	}
	for i, c := range curves {
		x, y := make([]float64, n), make([]float64, n)
		for k := range n {
			x[k] = from + float64((to-from)*float64(k)/float64(max(n-1, 1)))
			if k == n-1 && n > 1 {
				x[k] = to
			}
			y[k] = interpolated(&c, x[k])
		}
		curves[i].X, curves[i].Y = x, y
	}
}

// interpolated is a curve's value at x, on the line between its neighbours.
func interpolated(c *figure.Series, x float64) float64 {
	i, found := slices.BinarySearch(c.X, x)
	switch {
	case found:
		return c.Y[i]
	case i == 0:
		return c.Y[0]
	case i == len(c.X):
		return c.Y[i-1]
	}
	share := (x - c.X[i-1]) / (c.X[i] - c.X[i-1])
	return float64(c.Y[i-1]*(1-share)) + float64(c.Y[i]*share)
}

// clockSection shows what the clocks of the runs say: reward against virtual time
// in addition to reward against steps, and of each group's first run the timeline and how
// old its tokens were.
func clockSection(groups []RunGroup, judged string, terms []Term) (s Section, ok bool) {
	s = Section{Heading: "On the virtual clock", Blocks: []Block{Prose("An asynchronous schedule runs in virtual time, which is computed from the costs in the recipe. " +
		"A step is drawn at the end of its training. Runs without a clock are not drawn over time.")}}
	for _, metric := range slices.Compact([]string{judged, "critic/score/mean"}) {
		if over := TimeChartOf(groups, metric, terms); len(over.Series) > 0 {
			beside := ChartOf(groups, metric, terms)
			beside.Title += " against steps"
			s.Blocks = append(s.Blocks, Charts{over, beside})
			ok = true
		}
	}
	var drawings []Block
	for _, g := range groups {
		if c := g.Runs[0].Clock; c != nil {
			timeline, lags := TimelineOf(c), LagsOf(c)
			timeline.Note = fmt.Sprintf("Who generates, trains and waits in **%s**, seed %d, over its last updates, %s to %s s; the colour is the version of the weights. "+
				"It ends at the start of the last recorded training.", g.Name, g.Runs[0].Seed, figure.FormatNumber(seconds(c.From), 4), figure.FormatNumber(seconds(c.To), 4))
			lags.Note = "The staleness is counted from the version published when the training began. Replayed groups are counted once."
			drawings = append(drawings, timeline, lags)
		}
	}
	if ok = ok || len(drawings) > 0; len(groups) > 1 && len(drawings) > 0 {
		return Section{s.Heading, nil, append(s.Blocks, Fold{"Timelines and staleness", drawings})}, ok
	}
	s.Blocks = append(s.Blocks, drawings...)
	return s, ok
}
