package run

import (
	"testing"

	"driftlab/results/record"
	"driftlab/results/stats"
	"driftlab/trainer/trainertest"
)

// Every run says what share of its responses was truncated, and what share of all samples was trained whole: under a filter by
// staleness less than what was not truncated.
func TestCompletion(t *testing.T) {
	value := func(s *record.Summary, name string) (float64, bool) {
		for _, m := range s.Metrics {
			if m.Name == name {
				return m.Value, true
			}
		}
		return 0, false
	}
	for _, c := range []struct {
		name    string
		sets    []string
		filters bool
	}{
		{"synchronous", []string{"steps=6", "eval.every=0"}, false},
		{"every response is cut", []string{"steps=2", "eval.every=0", "rollout.max_tokens=1"}, false},
		{"a filter by staleness", []string{"steps=20", "eval.every=0", "schedule={name: prime_rl, max_off_policy: 1}"}, true},
	} {
		run := mustRun(t, trainertest.Recipe(t, c.sets...), Options{}).Record
		cut, ok := value(run.Summary, "response_length/clip_ratio/mean")
		rate, has := value(run.Summary, completionRate)
		if want := stats.Average(run.Column(truncated).Value); !ok || !has || cut != want {
			t.Fatalf("%s: truncation %v, want %v; %v %v", c.name, cut, want, ok, has)
		}
		if whole := 1 - cut; rate < 0 || rate > whole || (rate < whole) != c.filters {
			t.Errorf("%s: completion %v, truncation %v", c.name, rate, cut)
		}
		if _, has := value(run.Summary, "clock/trained_length_ratio"); has != c.filters {
			t.Errorf("%s: the ratio of lengths is there: %v", c.name, has)
		}
	}
}
