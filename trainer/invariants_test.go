package trainer

import (
	"path/filepath"
	"slices"
	"testing"

	"driftlab/engine"
	"driftlab/engine/learner"
	"driftlab/model"
	"driftlab/trainer/batch"
	"driftlab/trainer/engines"
	"driftlab/trainer/stream"
)

// otherModel saves random weights of the tiny shape and returns their folder.
func otherModel(t *testing.T) string {
	t.Helper()
	p := model.New(tinyRecipe(t).Resolved().Model)
	p.Init(99)
	dir := filepath.Join(t.TempDir(), "other")
	if err := model.Save(dir, p, model.Extras{}); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestMeasuringIsTraining gives a measurement the prompts of a run's first step:
// both engines' log-probs are those of the run, whatever parts the recipe has.
func TestMeasuringIsTraining(t *testing.T) {
	for _, sets := range [][]string{
		nil,
		// More responses than an evaluation decodes side by side.
		{"rollout.prompts=20", "rollout.numerics=fp32-batch-variant"},
		{"rollout.slots=3", "rollout.numerics=bf16-batch-variant", "rollout.prefill_chunk=2", "rollout.prefix_cache=true"},
		{"rollout.numerics={base: bf16, kv_cache: fp8_e4m3}", "learner.numerics={base: bf16, kv_cache: fp8_e4m3}", "rollout.kv_scales={prompts: 2}"},
		{"rollout.fleet=[{numerics: fp16, share: 0.3}]", "rollout.numerics=fp8-w8a8", "invariant_scale=1.5"},
		{"rollout.speculative={draft: 3, drafter: " + otherModel(t) + ", verify: lossy, tau: 0.5, log_probs: law}"},
		{"rollout.speculative={draft: 3, numerics: fp4-all, verify: greedy}", "rollout.numerics=bf16"},
		{"rollout.kv_retention={policy: heavy_hitter, keep: 0.5}", "retention.replay=true"},
		{"rollout.top_p=0.8", "rollout.temperature=1.2", "learner.temperature=1", "rollout.log_probs=raw"},
		{"rollout.top_p=0.8", "support.replay=true", "rollout.numerics=bf16"},
	} {
		s := sessionOf(t, Options{}, sets...)
		r := s.recipe
		s.generate(0)
		if err := s.score(); err != nil {
			t.Fatal(err)
		}
		w, err := aged(r, s.initial, 1)
		if err != nil {
			t.Fatal(err)
		}
		_, b, err := measurePair(r, w, Pair{r.Rollout.Numerics, r.Learner.Numerics}, s.requests, 1)
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case !slices.Equal(b.Token, s.batch.Token) || !slices.Equal(b.LogpRoll, s.batch.LogpRoll):
			t.Errorf("%v: the rollout engine measured is not the run's", sets)
		case !slices.Equal(b.Old.Logp, s.batch.Old.Logp):
			t.Errorf("%v: the learner measured is not the run's", sets)
		}
	}
}

// TestNoisyScales finds the scales of a measured engine's cache with the noise
// that a step has when it calibrates.
func TestNoisyScales(t *testing.T) {
	s := sessionOf(t, Options{}, "rollout.numerics={base: bf16, kv_cache: fp8_e4m3}", "rollout.kv_scales={prompts: 2}", "rollout.noise={start: 0.3, stages: 2}", "steps=2")
	r := s.recipe
	s.generate(1)
	find := func(sigma float64) engine.KVScales {
		s.fleet.Publish(s.initial, 0, sigma, stream.New(r.Seed, stream.Noise, 0))
		s.fleet.Calibrate(0, s.requests)
		return slices.Clone(s.fleet.Main().KVScales())
	}
	quiet, noisy := find(0), find(r.Rollout.Noise.Start)
	f := measuredFleet(r, weights{s.initial, s.initial, s.initial}, r.Rollout.Numerics, s.requests, 1)
	defer f.Close()
	if got := f.Main().KVScales(); !slices.Equal(got, noisy) || slices.Equal(got, quiet) {
		t.Errorf("scales %v, with noise %v, without %v", got, noisy, quiet)
	}
}

// TestAgedWeights makes the steps up to the measurement as a run makes them, with
// the drafter that the recipe names.
func TestAgedWeights(t *testing.T) {
	sets := []string{"rollout.numerics={base: bf16, kv_cache: fp8_e4m3}", "rollout.kv_scales={prompts: 2, every: 3}"}
	for _, drafter := range []string{
		"drafter: " + otherModel(t),
		"drafter: " + otherModel(t) + ", distill: {every: 1}",
		"refresh: 2", // due at the step that is measured
	} {
		s := sessionOf(t, Options{}, append(sets, "rollout.speculative={draft: 3, verify: lossy, tau: 0.5, "+drafter+"}")...)
		w, err := aged(s.recipe, s.initial, 1)
		if err != nil {
			t.Fatal(err)
		}
		steps(t, s, 2, func(int) {})
		if !slices.Equal(w.current.Theta, s.learner.Params().Theta) {
			t.Errorf("%s: the weights are not those of a run", drafter)
		}
		s.generate(2)
		if !slices.Equal(w.drafter.Theta, s.speculation.params.Theta) {
			t.Errorf("%s: the drafter is not that of a run", drafter)
		}
	}
}

// TestFrozenScales calibrates the static KV caches of reference and teacher from
// the step's prompts, each with its own weights.
func TestFrozenScales(t *testing.T) {
	s := sessionOf(t, Options{}, "rollout.numerics={base: bf16, kv_cache: fp8_e4m3}", "learner.numerics={base: bf16, kv_cache: fp8_e4m3}",
		"rollout.kv_scales={prompts: 2, margin: 3}", "teacher="+otherModel(t), "loss={name: prime_geo, teacher_tau: 0.5}", "correction.mode=bypass", "kl=k3")
	s.generate(0)
	if err := s.score(); err != nil {
		t.Fatal(err)
	}
	teacher, err := openTeacher(s.recipe)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		params *model.Params
		column []float64
	}{"teacher": {teacher, s.batch.Teacher.Logp}, "reference": {s.initial, s.batch.Ref.Logp}} {
		for _, calibrated := range []bool{true, false} {
			var b batch.Batch
			s.batch.Select(&b, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15})
			scorer := learner.NewScorer(c.params.Config, s.recipe.Learner.Numerics, 1)
			defer scorer.Close()
			scorer.Publish(c.params, 0)
			if calibrated {
				scorer.Calibrate(engines.CalibrationPrompts(s.recipe.Rollout, s.requests), 3)
			}
			scorer.Score(&b.Old, &b.Sampled, learner.ScoreOptions{Policy: learner.Policy{Temperature: 1}})
			if slices.Equal(b.Old.Logp, c.column) != calibrated {
				t.Errorf("%s, calibrated %t: the column is equal: %t", name, calibrated, !calibrated)
			}
		}
	}
}
