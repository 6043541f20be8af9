package results

import (
	"testing"

	"driftlab/results/figure"
	"driftlab/results/record"
)

func TestVerdict(t *testing.T) {
	for _, c := range []struct {
		verdicts []record.Verdict
		want     string
		mood     figure.Emphasis
	}{
		{[]record.Verdict{record.NotCollapsed, record.NotCollapsed}, "no collapse 2 of 2", figure.Good},
		{[]record.Verdict{record.NotCollapsed, record.Collapsed, record.NotCollapsed}, "collapsed 1 of 3", figure.Warn},
		{[]record.Verdict{record.DeadAtOnce, record.DeadAtOnce}, "collapsed at once 2 of 2", figure.Bad},
		{[]record.Verdict{record.Collapsed, record.NeverLearned, record.DeadAtOnce}, "collapsed at once 1 of 3, collapsed 1 of 3, never learned 1 of 3", figure.Warn},
		{[]record.Verdict{record.TooFew, record.TooFew}, "too few evaluations 2 of 2", figure.Muted},
		{[]record.Verdict{record.Stopped, record.NotCollapsed}, "stopped early 1 of 2", figure.Warn},
		{[]record.Verdict{record.NotCollapsed}, "no collapse", figure.Good}, {[]record.Verdict{record.DeadAtOnce}, "collapsed at once", figure.Bad},
		{nil, "not judged", figure.Muted},
	} {
		if got := Verdict(c.verdicts); got.Text != c.want || got.Emphasis != c.mood {
			t.Errorf("%v: %q %v, want %q %v", c.verdicts, got.Text, got.Emphasis, c.want, c.mood)
		}
	}
}

// TestTie never ranks figures that print alike.
func TestTie(t *testing.T) {
	run := func(name string, final float64) *record.Record {
		r := &record.Record{Name: name, Recipe: []byte("name: " + name), Summary: &record.Summary{Status: record.StatusFinished}}
		for step, rate := range []float64{0.5, final, final, final, final} {
			r.Add(step, []record.Metric{{Name: "val/learner/pass_rate", Value: rate}})
		}
		return r
	}
	for _, c := range []struct {
		records []*record.Record
		want    string
	}{
		{[]*record.Record{run("a", 0.856), run("b", 0.8561)}, "By `val/learner/pass_rate` at the end, all are equal (0.856). 2 runs of 2 recipes."},
		{[]*record.Record{run("a", 0.9), run("b", 0.8), run("c", 0.9)},
			"By `val/learner/pass_rate` at the end, **a** and **c** stand highest (0.900) and **b** lowest (0.800). 3 runs of 3 recipes."},
	} {
		if got := FromRuns(c.records).Lead; got != c.want {
			t.Errorf("%s\nwant %s", got, c.want)
		}
	}
}
