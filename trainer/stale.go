package trainer

import (
	"cmp"

	"driftlab/model"
	"driftlab/trainer/recipe"
)

// Weights are those of a run at one moment: the current ones of both engines, the
// ones at which the scales of a static KV cache were last found, and the drafter's.
type Weights struct{ Current, Calibrated, Drafter *model.Params }

// BeforeCalibration returns the weights of a run whose KV scales are as old as the
// recipe lets them get: it makes the steps from one calibration to the last before
// the next, and draws up the drafter for that one. Where scales never get old,
// nothing is trained.
func BeforeCalibration(r recipe.Recipe, p *model.Params, workers int) (Weights, error) {
	drafter, err := openDrafter(r)
	if err != nil {
		return Weights{}, err
	}
	w := Weights{p, p, cmp.Or(drafter, p)}
	k := r.Rollout.KVScales
	if k.Prompts == 0 || k.Every == 1 {
		return w, nil
	}
	r.Eval.Every, r.Steps = 0, max(r.Steps, k.Every)
	w.Current = p.Clone()
	s, err := NewSession(r, w.Current, Options{Workers: workers})
	if err != nil {
		return w, err
	}
	defer s.Close()
	for step := range k.Every - 1 {
		if err := s.Step(step); err != nil {
			return w, &StepError{Step: step + 1, Err: err}
		}
	}
	if s.speculation != nil {
		s.prepareDrafter(k.Every-1, s.learner.Updates(), w.Current)
		w.Drafter = s.speculation.params
	}
	return w, nil
}
