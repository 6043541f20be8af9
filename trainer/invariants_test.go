package trainer

import (
	"slices"
	"testing"

	"driftlab/engine/learner"
	"driftlab/model"
	"driftlab/trainer/engines"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/trainertest"
)

// TestBeforeMeasurement makes the steps up to the measurement as a run makes them, with
// the drafter that the recipe names.
func TestBeforeMeasurement(t *testing.T) {
	sets := []string{"rollout.numerics={base: bf16, kv_cache: fp8_e4m3}", "rollout.kv_scales={prompts: 2, every: 3}"}
	for _, drafter := range []string{
		"drafter: " + trainertest.Model(t),
		"drafter: " + trainertest.Model(t) + ", distill: {every: 1}",
		"refresh: 2", // due at the step that is measured
	} {
		s := sessionOf(t, Options{}, append(sets, "rollout.speculative={draft: 3, verify: lossy, tau: 0.5, "+drafter+"}")...)
		w, err := BeforeMeasurement(s.recipe, s.initial, 1)
		if err != nil {
			t.Fatal(err)
		}
		steps(t, s, 2, func(int) {})
		if !slices.Equal(w.Current.Theta, s.learner.Params().Theta) {
			t.Errorf("%s: the weights are not those of a run", drafter)
		}
		s.generate(2)
		if !slices.Equal(w.Drafter.Theta, s.speculation.params.Theta) {
			t.Errorf("%s: the drafter is not that of a run", drafter)
		}
	}
}

// TestFrozenScales calibrates the static KV caches of reference and teacher from
// the step's prompts, each with its own weights.
func TestFrozenScales(t *testing.T) {
	s := sessionOf(t, Options{}, "rollout.numerics={base: bf16, kv_cache: fp8_e4m3}", "learner.numerics={base: bf16, kv_cache: fp8_e4m3}",
		"rollout.kv_scales={prompts: 2, margin: 3}", "teacher="+trainertest.Model(t), "loss={name: prime_geo, teacher_tau: 0.5}", "correction.mode=bypass", "kl=k3")
	runTo(t, s, 0, "teacher")
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
