package experiments

import (
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"driftlab/experiments/measure"
	"driftlab/results/record"
	"driftlab/results/stats"
)

// TestHeadlineVerdicts tells arms that held from those that cannot have: dead
// from the start, never alive, evaluated too seldom, stopped.
func TestHeadlineVerdicts(t *testing.T) {
	run := func(status string, rates ...float64) *record.Record {
		r := &record.Record{Summary: &record.Summary{Status: status}}
		for step, v := range rates {
			r.Add(step, []record.Metric{{Name: judged, Value: v}})
		}
		return r
	}
	const finished = record.StatusFinished
	h := &HeadlineResult{}
	for _, c := range []struct {
		name string
		run  *record.Record
	}{
		{"held", run(finished, 0.5, 0.6, 0.7, 0.7)},
		{"dead", run(finished, 0.5, 0, 0, 0)},
		{"low", run(finished, 0.5, 0.1, 0.1, 0.1)},
		{"never", run(finished, 0, 0, 0, 0)},
		{"short", run(finished, 0.5, 0.6)},
		{"stopped", run(record.StatusStopped, 0.5, 0.6, 0.7, 0.7)},
	} {
		h.Arms = append(h.Arms, HeadlineArm{Name: c.name, Title: c.name})
		h.Runs = append(h.Runs, []*record.Record{c.run})
	}
	var got []string
	for _, o := range h.Outcomes() {
		got = append(got, o.verdict().Text)
	}
	if want := []string{"no collapse", "collapsed at once", "collapsed", "never learned", "too few evaluations", "stopped early"}; !slices.Equal(got, want) {
		t.Errorf("verdicts %q, want %q", got, want)
	}
	const oneSeed = " With 1 seed a paired sign-flip permutation test cannot be significant at 5 % (its smallest p-value is 1): at least six seeds are needed."
	if want := "With a correction, on no seed: **held**. With a correction, on at least one: **dead** (1 of 1 seed); **low** (1 of 1 seed). " +
		"Other outcomes: **never** (never learned); **short** (too few evaluations); **stopped** (stopped early)." + oneSeed; h.lead() != want {
		t.Errorf("the headline says %s\nwant %s", h.lead(), want)
	}
}

// Seeds are compared with equal engines in pairs, and with those fall by a tenth.
func TestHeadlineAgainstEqualEngines(t *testing.T) {
	ended := func(rates ...float64) (runs []*record.Record) {
		for _, v := range rates {
			r := &record.Record{Summary: &record.Summary{Status: record.StatusFinished}}
			for step, w := range []float64{0.5, v, v, v} {
				r.Add(step, []record.Metric{{Name: judged, Value: w}})
			}
			runs = append(runs, r)
		}
		return runs
	}
	h := &HeadlineResult{
		Arms: []HeadlineArm{{Name: control, Title: "equal engines"}, {Name: "bare", Title: "old, uncorrected"}, {Name: "cured", Title: "old, cured"}},
		Runs: [][]*record.Record{ended(0.9, 0.8, 0.7), ended(0.4, 0.75, 0.6), ended(0.9, 0.75, 0.75)},
	}
	outcomes := h.Outcomes()
	if outcomes[0].MinusEqual != nil {
		t.Errorf("equal engines are compared with themselves: %+v", outcomes[0].MinusEqual)
	}
	// By hand: differences -0.5, -0.05, -0.1; deviation 0.246644; t(0.975, 2) = 4.30265.
	d := outcomes[1].MinusEqual
	if d == nil || d.Final.N != 3 || d.Degraded != 1 || math.Abs(d.Final.Estimate+0.65/3) > 1e-12 || math.Abs(d.Final.Low-(-0.65/3-4.30265*0.246644/math.Sqrt(3))) > 1e-5 {
		t.Errorf("uncorrected minus equal engines: %+v", d)
	}
	const threeSeeds = " With 3 seeds a paired sign-flip permutation test cannot be significant at 5 % (its smallest p-value is 0.25): at least six seeds are needed."
	if want := "Without a correction the pass rate degrades (ends more than 0.1 below equal engines): **old** on **1 of 3 seeds**. With a correction, on no seed: **old, cured**." + threeSeeds; h.lead() != want {
		t.Errorf("the headline says %s\nwant %s", h.lead(), want)
	}
	table := h.OutcomeTable([]ArmOutcome{{Name: "bare", MinusEqual: &difference{Final: stats.Interval{Estimate: -0.25, Low: -0.5, N: 10}}}})
	row := table.Rows[2]
	if got := row[len(row)-2].Text + " " + row[len(row)-1].Text; got != "-0.25 -0.50 to +0.00" {
		t.Errorf("published beside it: %q", got)
	}
	h.Gap = &measure.Measurement{}
	page := h.Report([]ArmOutcome{{Name: "bare", MinusEqual: &difference{Final: stats.Interval{Estimate: -0.25, Low: -0.5, N: 10}}}}, nil)
	if html := string(page.HTML()); !strings.Contains(html, "-0.50 to +0.00") {
		t.Error("the page has no published outcomes beside its own")
	}
	// By hand: differences 0.5, 0 and 0.15, whose four of eight signs come as far; none of
	// three fell, which leaves 1 - 0.025^(1/3), and one of three without the correction.
	var rows []string
	for _, row := range h.correctionTable().Rows {
		text := ""
		for _, c := range row {
			text += c.Text + "|"
		}
		rows = append(rows, text)
	}
	if want := []string{"old, uncorrected|1 of 3|1% to 91%||||||", "old, cured|0 of 3|0% to 71%|1.000|+0.22|-0.42 to +0.85|0.500|0.84|"}; !slices.Equal(rows, want) {
		t.Errorf("what the correction brings: %q, want %q", rows, want)
	}
	h.Arms, h.Runs = h.Arms[1:2], h.Runs[1:2] // without the control: by its own peak
	if want := "Without a correction the pass rate collapses (ends 30 % or more below its own peak): **old** on **0 of 3 seeds**." + threeSeeds; h.lead() != want {
		t.Errorf("the headline says %s\nwant %s", h.lead(), want)
	}
}

// The published outcomes are of the arms that run, ten seeds each, and the
// published page shows their tables.
func TestPublishedHeadline(t *testing.T) {
	published, err := PublishedHeadline()
	if err != nil {
		t.Fatal(err)
	}
	arms := HeadlineArms()
	if len(published) != len(arms) {
		t.Fatalf("%d outcomes of %d arms are published", len(published), len(arms))
	}
	for i, o := range published {
		if o.Name != arms[i].Name || o.Title != arms[i].Title || len(o.Final) != 10 {
			t.Errorf("outcome %d is of %s (%s), %d seeds; the arm is %+v", i, o.Name, o.Title, len(o.Final), arms[i])
		}
	}
	page, err := os.ReadFile("../results/published/headline/headline.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{leadOf(published), outcomeTable(arms, published, nil).Markdown(), correctionTable(arms, published).Markdown()} {
		if !strings.Contains(string(page), part) {
			t.Errorf("the published page has not\n%s", part)
		}
	}
}

// TestHeadlineColours: a method has one colour, which no other method has.
func TestHeadlineColours(t *testing.T) {
	methods := map[int]string{}
	for _, arm := range HeadlineArms() {
		_, method := titleParts(arm.Title)
		switch s := slot(arm.Title); {
		case s < 1:
			t.Errorf("%s has no colour", arm.Title)
		case methods[s] != "" && methods[s] != method:
			t.Errorf("%s has the colour of %s", method, methods[s])
		default:
			methods[s] = method
		}
	}
}
