package trainer

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"driftlab/engine"
	"driftlab/results/record"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/trainertest"
)

// valuesOf are a figure over the steps.
func valuesOf(t *testing.T, r *record.Record, name string) []float64 {
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
	common := []string{"anchor=old", "rollout.numerics=bf16", "learner.minibatches=2", "routing.replay=r3", "correction.weights=token_tis",
		"task={name: lookup, difficulty: [1, 2], calls: [0, 1], max_calls: 2, output: 2}"}
	sync := tinyRun(t, common...)
	scaled := "cluster={workers: 5, costs: {prefill_request: 2000, prefill_token: 80, decode_step: 4800, decode_slot: 3000, learn_token: 280, sync: 1280000, push: 1280000, migrate: 20000}}"
	for i, sets := range [][]string{
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
		{"schedule={name: seer, chunk: 3, draft: 2}"},
		{"schedule={name: dora, k: 0}"},
		{"schedule={name: pipeline_rl, max_lag: 0}"},
		{"schedule={name: roll_flash_agentic, ratio_percent: 0}"},
		{"schedule={name: asyncflow, threshold: 0, micro: 3}"},
		{"schedule={name: april, over_sampling: 1}"},
		{"schedule={name: kimi, budget: 1000}"},
	} {
		if i%2 == 1 && !*exhaustive {
			continue
		}
		t.Run(strings.Join(sets, " "), func(t *testing.T) {
			result := tinyRun(t, append(sets, common...)...)
			sameRun(t, "beside the synchronous run", sync, result)
			for _, v := range valuesOf(t, result.Record, "staleness/tokens/max") {
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
	result := tinyRun(t, "schedule={name: areal, eta: 2}", "steps=8", "rollout.max_tokens=24")
	for name, least := range map[string]float64{"staleness/tokens/max": 1, "staleness/mixed_responses": 0.01, "clock/tokens_per_s": 1, "clock/reprefilled_tokens": 1} {
		if most := slices.Max(valuesOf(t, result.Record, name)); most < least {
			t.Errorf("%s is at most %v", name, most)
		}
	}
	if !slices.IsSorted(valuesOf(t, result.Record, "clock/ticks")) {
		t.Error("the clock goes back")
	}
}

// The log-ratio of the trained policy to the sampler is drift, lag and engine, token
// by token of a dump. Tokens of the first minibatch have no drift, fresh ones no lag.
func TestFourPolicies(t *testing.T) {
	for _, name := range []string{"areal", "skyrl"} {
		r, _ := prepared(t, trainertest.Recipe(t, "schedule="+name, "rollout.numerics=bf16", "learner.minibatches=2", "rollout.max_tokens=24", "steps=5", "eval.every=0"))
		drifts, lags, engines, first, saw := 0, 0, 0, 0, false
		lines := trainertest.Dumped(t, func(w *record.DumpWriter) error {
			s := sessionIn(t, r, Options{KeepTrained: true})
			return s.Run(t.Context(), 0, func(step int, _ []batch.Metric) error { return dumpStep(w, s, step) })
		})
		for _, d := range lines {
			saw = saw || d.Stale != nil
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
		if saw != (name == "skyrl") {
			t.Errorf("%s: a token saw older keys: %v", name, saw)
		}
		if drifts == 0 || lags == 0 || engines == 0 || first < drifts/3 {
			t.Errorf("%s: %d tokens drift, %d do not, %d lag, %d differ by engine", name, drifts, first, lags, engines)
		}
	}
}

// Reading again is refused where a compressed cache gave up what was read.
func TestRefusedContinuation(t *testing.T) {
	err := Check(trainertest.Recipe(t, "schedule=areal", "rollout.kv_retention={}").Resolved())
	if err == nil || !strings.Contains(err.Error(), "rollout.kv_retention: schedule areal: reprefill cannot read again") || strings.Contains(err.Error(), "\n") {
		t.Errorf("%v", err)
	}
	for _, name := range []string{"skyrl", "one_step_off"} {
		if err := Check(trainertest.Recipe(t, "schedule="+name, "rollout.kv_retention={}").Resolved()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Twice the ticks, the systems' own too, change nothing but the clock, whatever runs
// ahead.
func TestScaleOfTicks(t *testing.T) {
	own := map[string][2]string{
		"laminar":  {"{name: laminar, every: 5000, hop: 1000}", "{name: laminar, every: 10000, hop: 2000}"},
		"echo2":    {"{name: echo2, hop: 3000}", "{name: echo2, hop: 6000}"},
		"distflow": {"{name: distflow, service: 900, controllers: 1}", "{name: distflow, service: 1800, controllers: 1}"},
	}
	costs := func(k int) string {
		return fmt.Sprintf("cluster.costs={prefill_request: %d, prefill_token: %d, decode_step: %d, decode_slot: %d, learn_token: %d, sync: %d, push: %d, migrate: %d}",
			k*100, k*4, k*240, k*150, k*10, k*300, k*200, k*100)
	}
	for _, name := range onClock(t) {
		systems, found := own[name]
		if !found {
			systems = [2]string{name, name}
		}
		var ends [2]*ran
		for k := range ends {
			ends[k] = tinyRun(t, "schedule="+systems[k], costs(1+k), "eval.every=0", "rollout.slots=2", "rollout.max_tokens=20")
		}
		if !slices.Equal(ends[0].Params.Theta, ends[1].Params.Theta) {
			t.Errorf("%s: other weights on a clock of twice the ticks", name)
		}
		for _, c := range ends[0].Record.Columns {
			factor := map[string]float64{"clock/ticks": 2, "clock/tokens_per_s": 0.5}[c.Name]
			for i, x := range valuesOf(t, ends[1].Record, c.Name) {
				if x != c.Value[i]*cmp.Or(factor, 1) {
					t.Errorf("%s: %s is %v, and %v on a clock of twice the ticks", name, c.Name, c.Value[i], x)
				}
			}
		}
	}
}

// A dump says what the keys of every token were, whether read again, kept or pinned:
// its versions alone, with their weights, give back each log-prob of a real run.
func TestTraceOfDump(t *testing.T) {
	for name, keeps := range map[string]bool{"areal": false, "pipeline_rl": true, "dora": false} {
		s := sessionOf(t, Options{KeepTrained: true}, slices.Concat(lagging, []string{"schedule=" + name, "model.layers=2", "steps=6"})...)
		weights := history{}
		lines := trainertest.Dumped(t, func(w *record.DumpWriter) error {
			weights.keep(s)
			return s.Run(t.Context(), 0, func(step int, _ []batch.Metric) error {
				weights.keep(s)
				return dumpStep(w, s, step)
			})
		})
		packed := weights.packed(s)
		pass, cache := engine.NewPass(s.initial.Config, 1), engine.NewCache(s.initial.Config, s.recipe.Rollout.Numerics, 1)
		row := make([]float32, s.initial.Config.Vocab)
		stale := 0
		for _, d := range lines {
			b := &batch.Sampled{Offsets: []int{0, len(d.TokenIDs)}, Prompt: [][]int32{d.PromptIDs}, Token: d.TokenIDs, Version: d.Version, Stale: d.Stale, Vocab: len(row)}
			if d.Stale == nil {
				b.Stale = make([]bool, len(d.TokenIDs))
			}
			for n := range d.TokenIDs {
				if logp, _ := traced(b, 0, n, packed, pass, cache, row); logp != d.LogpRollout[n] {
					t.Fatalf("%s: token %d of version %d has log-prob %v, the trace of its versions %v", name, n, d.Version[n], d.LogpRollout[n], logp)
				}
				if b.Stale[n] {
					stale++
				}
			}
		}
		pass.Close()
		if (stale > 0) != keeps {
			t.Errorf("%s: %d tokens saw older keys", name, stale)
		}
	}
}
