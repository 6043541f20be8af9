package trainer

import (
	"context"
	"slices"
	"testing"

	"driftlab/model"
	"driftlab/results/record"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/recipe"
	"driftlab/trainer/trainertest"
)

// ran is what a run left: the figures of its steps, and its weights.
type ran struct {
	Record *record.Record
	Params *model.Params
}

// run makes a run in memory.
func run(ctx context.Context, r recipe.Recipe, o Options) (*ran, error) {
	r, p, err := Prepare(r)
	if err != nil {
		return nil, err
	}
	s, err := NewSession(r, p, o)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	return finish(ctx, s)
}

// finish makes the steps of a session.
func finish(ctx context.Context, s *Session) (*ran, error) {
	kept := &record.Record{Name: s.recipe.Name, Seed: s.recipe.Seed, Recipe: s.recipe.YAML()}
	err := s.Run(ctx, 0, func(step int, figures []batch.Metric) error {
		metrics := make([]record.Metric, len(figures))
		for i, x := range figures {
			metrics[i] = record.Metric(x)
		}
		kept.Add(step, metrics)
		return nil
	})
	return &ran{kept, s.Params()}, err
}

// mustRun makes a run that has to finish.
func mustRun(t testing.TB, r recipe.Recipe, o Options) *ran {
	t.Helper()
	result, err := run(context.Background(), r, o)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// tinyRun is the run of milliseconds with changes.
func tinyRun(t testing.TB, sets ...string) *ran {
	t.Helper()
	return mustRun(t, trainertest.Recipe(t, sets...), Options{})
}

// sameRun holds that a run has the weights of another, and all of its figures, to the bit.
func sameRun(t *testing.T, what string, want, got *ran) {
	t.Helper()
	if !slices.Equal(got.Params.Theta, want.Params.Theta) {
		t.Errorf("%s: other weights", what)
	}
	for _, c := range want.Record.Columns {
		if !slices.Equal(c.Value, valuesOf(t, got.Record, c.Name)) {
			t.Errorf("%s: %s is another", what, c.Name)
		}
	}
}

// loaded is a recipe with changes.
func loaded(t testing.TB, name string, sets ...string) recipe.Recipe {
	t.Helper()
	r, err := recipe.Load(name, sets...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// prepared is a recipe with changes, ready for a session.
func prepared(t testing.TB, r recipe.Recipe) (recipe.Recipe, *model.Params) {
	t.Helper()
	r, p, err := Prepare(r)
	if err != nil {
		t.Fatal(err)
	}
	return r, p
}

// small is the default recipe, on few prompts.
func small(t testing.TB) recipe.Recipe {
	t.Helper()
	return loaded(t, "default", "rollout.prompts=6", "rollout.group=4", "rollout.max_tokens=24")
}

// must stops the test at an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
