package trainer

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"driftlab/results/record"
	"driftlab/trainer/tiny"
)

// column is a figure over the steps.
func column(t *testing.T, r *record.Record, name string) []float64 {
	t.Helper()
	for _, c := range r.Columns {
		if c.Name == name {
			return c.Value
		}
	}
	t.Fatalf("no figure %s", name)
	return nil
}

// Where nothing runs ahead, an asynchronous system is the synchronous run, to the
// bit: its weights, and every figure but those of clock and age. The number of
// workers and the scale of the costs change nothing.
func TestZeroStaleness(t *testing.T) {
	want := sessionOf(t, Options{})
	sync, err := finish(t.Context(), want)
	if err != nil {
		t.Fatal(err)
	}
	for _, sets := range [][]string{
		{"schedule={name: areal, eta: 0}"},
		{"schedule={name: areal, eta: 0}", "cluster={workers: 1}"},
		{"schedule={name: areal, eta: 0}", "cluster={workers: 5, costs: {prefill_request: 2000, prefill_token: 80, decode_step: 4800, decode_slot: 3000, learn_token: 240, sync: 1280000, push: 1280000, migrate: 20000}}"},
	} {
		t.Run(strings.Join(sets, " "), func(t *testing.T) {
			got := sessionOf(t, Options{}, sets...)
			result, err := finish(t.Context(), got)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got.Params().Theta, want.Params().Theta) {
				t.Error("other weights than the synchronous run's")
			}
			for _, c := range sync.Record.Columns {
				if !slices.Equal(c.Value, column(t, result.Record, c.Name)) {
					t.Errorf("%s differs from the synchronous run's", c.Name)
				}
			}
			for _, v := range column(t, result.Record, "staleness/tokens/max") {
				if v != 0 {
					t.Errorf("a token is %v updates old", v)
				}
			}
		})
	}
}

// AReaL trains on tokens of several ages, in whole responses that continue under
// new weights, and ends at other weights than the synchronous run.
func TestAReaL(t *testing.T) {
	s := sessionOf(t, Options{}, "schedule={name: areal, eta: 2}", "steps=8", "rollout.max_tokens=24")
	result, err := finish(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	for name, least := range map[string]float64{"staleness/tokens/max": 1, "staleness/mixed_responses": 0.01, "clock/tokens_per_s": 1, "clock/reprefilled_tokens": 1} {
		if most := slices.Max(column(t, result.Record, name)); most < least {
			t.Errorf("%s is at most %v", name, most)
		}
	}
	if !slices.IsSorted(column(t, result.Record, "clock/ticks")) {
		t.Error("the clock goes back")
	}
}

// Reading again is refused where a compressed cache gave up what was read.
func TestRefusedContinuation(t *testing.T) {
	err := Check(tiny.Recipe(t, "schedule=areal", "rollout.kv_retention={}").Resolved())
	if err == nil || !strings.Contains(err.Error(), "rollout.kv_retention: schedule areal: reprefill cannot read again") || strings.Contains(err.Error(), "\n") {
		t.Errorf("%v", err)
	}
	for _, name := range []string{"skyrl", "one_step_off"} {
		if err := Check(tiny.Recipe(t, "schedule="+name, "rollout.kv_retention={}").Resolved()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A run killed after any step goes on to the same weights and figures.
func TestAsynchronousResume(t *testing.T) {
	for _, name := range []string{"areal", "skyrl"} {
		sets := []string{"schedule=" + name, "steps=5", "eval.every=0", "rollout.max_tokens=16"}
		want := sessionOf(t, Options{}, sets...)
		all, err := finish(t.Context(), want)
		if err != nil {
			t.Fatal(err)
		}
		if most := slices.Max(column(t, all.Record, "staleness/mixed_responses")); most == 0 {
			t.Errorf("%s: no response is in progress when a step ends", name)
		}
		_, _, state := want.Snapshot()
		for kill := 1; kill < 5; kill++ {
			s := sessionOf(t, Options{}, sets...)
			for step := range 5 {
				if step == kill {
					if err := s.spread(1); err != nil {
						t.Fatal(err)
					}
				}
				if err := s.Step(step); err != nil {
					t.Fatal(err)
				}
			}
			_, _, got := s.Snapshot()
			if !slices.Equal(s.Params().Theta, want.Params().Theta) || !reflect.DeepEqual(got, state) {
				t.Errorf("%s: killed after step %d the run goes on otherwise", name, kill)
			}
		}
	}
}
