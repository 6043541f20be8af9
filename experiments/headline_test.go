package experiments

import (
	"slices"
	"strings"
	"testing"

	"driftlab/results/record"
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
		got = append(got, o.Verdict().Text)
	}
	if want := []string{"held", "dead at once", "collapsed", "never learned", "too few evaluations", "stopped early"}; !slices.Equal(got, want) {
		t.Errorf("verdicts %q, want %q", got, want)
	}
	if want := "Held on every seed: **held**. Collapsed with one: **dead** (1 of 1), **low** (1 of 1). " +
		"Neither: **never** (never learned), **short** (too few evaluations), **stopped** (stopped early)."; h.lead() != want {
		t.Errorf("the headline says %s\nwant %s", h.lead(), want)
	}
}

// TestHeadlineColours: a method has one colour, which no other method has.
func TestHeadlineColours(t *testing.T) {
	methods := map[int]string{}
	for _, arm := range HeadlineArms() {
		_, method := titleParts(arm.Title)
		method, _, _ = strings.Cut(method, " δ=")
		switch s := slot(arm.Title); {
		case s < 1:
			t.Errorf("%s has no colour", arm.Title)
		case methods[s] != "" && methods[s] != method:
			t.Errorf("%s has the colour of %s", method, methods[s])
		default:
			methods[s] = method
		}
	}
	h := &HeadlineResult{Arms: []HeadlineArm{{Title: "fp4 rollouts, uncorrected"}}, Runs: [][]*record.Record{nil}}
	if want := "Collapsed without a correction: **fp4 rollouts** in **0 of 0**."; h.lead() != want {
		t.Errorf("the headline says %s\nwant %s", h.lead(), want)
	}
}
