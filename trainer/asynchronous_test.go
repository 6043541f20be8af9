package trainer

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"driftlab/results/record"
	"driftlab/trainer/batch"
	"driftlab/trainer/schedule"
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

// Where nothing runs ahead, a system is the synchronous run, to the bit: its
// weights, and every figure but those of clock and age. The number of workers and
// the scale of the costs change nothing.
func TestZeroStaleness(t *testing.T) {
	want := sessionOf(t, Options{}, "anchor=old")
	sync, err := finish(t.Context(), want)
	if err != nil {
		t.Fatal(err)
	}
	scaled := "cluster={workers: 5, costs: {prefill_request: 2000, prefill_token: 80, decode_step: 4800, decode_slot: 3000, learn_token: 280, sync: 1280000, push: 1280000, migrate: 20000}}"
	for _, sets := range [][]string{
		{"schedule={name: areal, eta: 0}"},
		{"schedule={name: areal, eta: 0}", "cluster={workers: 1}"},
		{"schedule={name: areal, eta: 0}", scaled},
		{"schedule={name: skyrl, staleness: 0}"},
		{"schedule={name: verl_on_policy}"},
		{"schedule={name: roll_flash, ratio_percent: 0}"},
		{"schedule=stream"},
		{"schedule=periodic"},
		{"schedule=distflow"},
		{"schedule=seer"},
	} {
		t.Run(strings.Join(sets, " "), func(t *testing.T) {
			got := sessionOf(t, Options{}, append(sets, "anchor=old")...)
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

// Versions are exact: where decoding and scoring agree, the weights of a token's
// version reproduce its log-prob bit for bit, unless it saw keys of older ones. Every
// token that the core counts as trained is in a batch, once.
func TestVersions(t *testing.T) {
	for _, name := range []string{"areal", "dora", "laminar", "trl", "copris", "skyrl"} {
		t.Run(name, func(t *testing.T) {
			s := sessionOf(t, Options{}, "schedule="+name, "eval.every=0", "rollout.max_tokens=24")
			tokens, old, stale, other := 0, 0, 0, 0
			for step := range 6 {
				if err := s.Step(step); err != nil {
					t.Fatal(err)
				}
				b := &s.batch
				tokens += b.Tokens()
				for n := range b.Token {
					if int(b.Version[n]) < b.LearnerVersion {
						old++
					}
					same := b.Behaviour.Logp[n] == b.LogpRoll[n]
					switch {
					case b.Stale[n]:
						stale++
						if !same {
							other++
						}
					case !same:
						t.Fatalf("step %d: token %d of version %d has log-prob %v, its weights say %v", step, n, b.Version[n], b.LogpRoll[n], b.Behaviour.Logp[n])
					}
				}
			}
			if old == 0 {
				t.Error("no token is old")
			}
			if keeps := name == "skyrl"; (stale > 0) != keeps || (other > 0) != keeps {
				t.Errorf("%d tokens saw older keys, %d of them another log-prob", stale, other)
			}
			if n := stageOf[*asynchronous](s).Core().Counts(); n.TrainedTokens != tokens || n.Trained != 6*4 {
				t.Errorf("%d tokens trained of %d samples, the batches had %d", n.TrainedTokens, n.Trained, tokens)
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

// The log-ratio of the trained policy to the sampler is drift, lag and engine, token
// by token of a dump. Tokens of the first minibatch have no drift, fresh ones no lag.
func TestFourPolicies(t *testing.T) {
	for _, name := range []string{"areal", "skyrl"} {
		r, _, err := Prepare(tiny.Recipe(t, "schedule="+name, "rollout.numerics=bf16", "learner.minibatches=2", "rollout.max_tokens=24", "steps=5", "eval.every=0"))
		if err != nil {
			t.Fatal(err)
		}
		drifts, lags, engines, first := 0, 0, 0, 0
		lines := tiny.Dumped(t, func(w *record.DumpWriter) error {
			s := sessionIn(t, r, Options{KeepTrained: true})
			return s.Run(t.Context(), 0, func(step int, _ []batch.Metric) error { return dumpStep(w, s, step) })
		})
		for _, d := range lines {
			for n := range d.TokenIDs {
				drift, lag, engine := d.LogpNew[n]-d.LogpOld[n], d.LogpOld[n]-d.LogpBehaviour[n], d.LogpBehaviour[n]-d.LogpRollout[n]
				if whole := d.LogpNew[n] - d.LogpRollout[n]; math.Abs(drift+lag+engine-whole) > 1e-12 {
					t.Fatalf("%s: %v + %v + %v are not %v", name, drift, lag, engine, whole)
				}
				switch {
				case drift != 0:
					drifts++
				default:
					first++
				}
				if fresh := int(d.Version[n]) == 2*(d.Step-1); lag != 0 {
					lags++
					if fresh {
						t.Fatalf("%s: a fresh token has a lag of %v", name, lag)
					}
				}
				if engine != 0 {
					engines++
				}
			}
		}
		if drifts == 0 || lags == 0 || engines == 0 || first < drifts/3 {
			t.Errorf("%s: %d tokens drift, %d do not, %d lag, %d differ by engine", name, drifts, first, lags, engines)
		}
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

// A run killed after any step goes on to the same bytes: weights, responses in
// progress, core and clock. Systems that sample ahead have some in progress then.
func TestAsynchronousResume(t *testing.T) {
	for _, e := range schedule.Systems {
		sets := []string{"schedule=" + e.Name, "steps=5", "eval.every=0", "rollout.max_tokens=16"}
		if tiny.Recipe(t, sets...).Constant() != nil || testing.Short() && e.Name != "areal" && e.Name != "skyrl" {
			continue
		}
		t.Run(e.Name, func(t *testing.T) {
			want := sessionOf(t, Options{}, sets...)
			ahead := 0
			for step := range 5 {
				if err := want.Step(step); err != nil {
					t.Fatal(err)
				}
				ahead += len(stageOf[*asynchronous](want).Core().Samples())
			}
			if ahead == 0 && e.Name == "areal" {
				t.Error("nothing is in progress when a step ends")
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
					t.Errorf("killed after step %d the run goes on otherwise", kill)
				}
			}
		})
	}
}
