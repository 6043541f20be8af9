package trainer

import (
	"context"
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"driftlab/engine/learner"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/recipe"
	"driftlab/trainer/trainertest"
)

// sessionOf is the session of a recipe, for tests that reach into it.
func sessionOf(t testing.TB, o Options, sets ...string) *Session {
	t.Helper()
	return sessionIn(t, trainertest.Recipe(t, sets...), o)
}

// sessionIn is the session of any recipe.
func sessionIn(t testing.TB, r recipe.Recipe, o Options) *Session {
	t.Helper()
	r, p := prepared(t, r)
	s, err := NewSession(r, p, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// runTo makes a step as far as the stages of that name.
func runTo(t testing.TB, s *Session, step int, last string) {
	t.Helper()
	s.batch.Step, s.batch.LearnerVersion, s.metrics = step, s.learner.Updates(), s.metrics[:0]
	reached := false
	for _, m := range s.stages {
		if reached && m.name != last {
			break
		}
		must(t, m.stage.run(s))
		reached = reached || m.name == last
	}
	if !reached {
		t.Fatalf("no stage %s", last)
	}
}

// goesOn makes two runs, one of which is killed before the steps for which kill has a number of workers
// other than 0, and goes on in new engines on that many workers: it must end with the bytes of the other run, which is returned.
func goesOn(t *testing.T, kill func(step int) (workers int), sets ...string) *Session {
	t.Helper()
	want, killed := sessionOf(t, Options{}, sets...), sessionOf(t, Options{}, sets...)
	for step := range want.recipe.Steps {
		if workers := kill(step); workers > 0 {
			must(t, killed.spread(workers))
		}
		must(t, want.Step(step))
		must(t, killed.Step(step))
	}
	_, tensors, memories := want.Snapshot()
	_, gotTensors, gotMemories := killed.Snapshot()
	if !slices.Equal(killed.Params().Theta, want.Params().Theta) || !reflect.DeepEqual(gotTensors, tensors) || !reflect.DeepEqual(gotMemories, memories) {
		t.Errorf("%v: a run that was killed ends otherwise", sets)
	}
	return want
}

// killedAt is a kill before one step.
func killedAt(step, workers int) func(int) int {
	return func(at int) int {
		if at == step {
			return workers
		}
		return 0
	}
}

// TestNonFinite poisons runs: they stop with step, tensor and cause, and keep
// what they had.
func TestNonFinite(t *testing.T) {
	poison := func(name string, value float32) func(*Session) {
		return func(s *Session) { s.learner.Params().Tensor(name).Data[3] = value }
	}
	for _, tc := range []struct {
		name          string
		sets          []string
		at            int // the step after which the poison is given
		poison        func(*Session)
		step          int
		tensor, cause string
	}{
		{"weight", nil, 2, poison("lm_head.weight", float32(math.NaN())), 3, "NaN in lm_head.weight", "learner.optimizer.lr"},
		{"first step", nil, 0, poison("model.embed_tokens.weight", float32(math.Inf(1))), 1, "Inf in model.embed_tokens.weight", "learner.optimizer.lr"},
		{"rate", nil, 1, func(s *Session) { s.recipe.Learner.Optimizer.LR = math.Inf(1) }, 2, "in model.", "learner.optimizer.lr"},
		{"last update", []string{"steps=3"}, 3, poison("lm_head.weight", float32(math.Inf(-1))), 4, "Inf in lm_head.weight", "learner.optimizer.lr"},
		{"fp16", []string{"learner.numerics=fp16", "learner.loss_scale.mode=none"}, 1,
			func(s *Session) { s.recipe.Learner.Optimizer.LR = 1e6 }, 3, "Inf in embed", "fp16"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var s *Session
			s = sessionOf(t, Options{Progress: func(p Progress) {
				if p.Step == tc.at {
					tc.poison(s)
				}
			}}, tc.sets...)
			if tc.at == 0 {
				tc.poison(s)
			}
			result, err := finish(context.Background(), s)
			var step *StepError
			var value *learner.NonFinite
			if !errors.As(err, &step) || !errors.As(err, &value) || step.Step != tc.step || strings.Contains(err.Error(), "\n") ||
				!strings.Contains(err.Error(), tc.tensor) || !strings.Contains(err.Error(), tc.cause) {
				t.Fatalf("error %v, want step %d, %s, %s", err, tc.step, tc.tensor, tc.cause)
			}
			if result.Record.Steps != tc.step-1 {
				t.Errorf("%d steps on record", result.Record.Steps)
			}
		})
	}
}

// TestMethodError ends a run with the step.
func TestMethodError(t *testing.T) {
	s := sessionOf(t, Options{})
	s.estimator = failing{}
	_, err := finish(context.Background(), s)
	var step *StepError
	if !errors.As(err, &step) || step.Step != 1 || err.Error() != "step 1: out of luck" {
		t.Errorf("%v", err)
	}
}

// failing is an estimator that cannot.
type failing struct{}

func (failing) Estimate(*batch.Batch) error { return errors.New("out of luck") }
func (failing) Validate() error             { return nil }
