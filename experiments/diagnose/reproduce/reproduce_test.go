package reproduce

import (
	"context"
	"strings"
	"testing"

	"driftlab/trainer/recipe"
)

// A gap of the toy's own is found again: the same dose, the same size.
func TestSearchFindsItsOwn(t *testing.T) {
	if testing.Short() {
		t.Skip("a search takes seconds")
	}
	for _, c := range []struct{ cause, dose string }{
		{"precision", "fp8-w8a8 against bf16"}, {"order", "bf16-tp2 against bf16"}, {"support", "rollout.top_p=0.9"}, {"temperature", "learner.temperature=1.35"},
	} {
		d := find(t, c.cause)
		var want float64
		for _, x := range d.doses {
			if x.name == c.dose {
				size, _, err := d.measure(context.Background(), Request{Workers: 2}, x)
				if err != nil {
					t.Fatal(err)
				}
				want = size
			}
		}
		toy, err := Search(context.Background(), Request{Cause: c.cause, Size: want, Workers: 2})
		if err != nil {
			t.Fatal(err)
		}
		if toy.Dose != c.dose || toy.Beyond || distance(toy.Size, want) > 0.4 {
			t.Errorf("%s: %s of size %v, want %s of %v: %v", c.cause, toy.Dose, toy.Size, c.dose, want, toy.Doses)
		}
		for i, m := range toy.Doses[1:] {
			if m.Size <= toy.Doses[i].Size && c.cause != "order" {
				t.Errorf("%s: %v", c.cause, toy.Doses)
			}
		}
	}
}

func TestStalenessMovesWithTheRate(t *testing.T) {
	if testing.Short() {
		t.Skip("trains")
	}
	toy, err := Search(context.Background(), Request{Cause: "staleness", Size: 0.05, Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	if toy.Beyond || toy.Recipe.Schedule.Name != "lag" || !strings.HasPrefix(toy.Dose, "learner.optimizer.lr=") {
		t.Errorf("%s of size %v: %v", toy.Dose, toy.Size, toy.Doses)
	}
	if back, err := recipe.Parse("back.yaml", toy.Recipe.YAML()); err != nil || back.Name != "reproduce-staleness" {
		t.Errorf("%v", err)
	}
}

func TestEveryDoseIsARecipe(t *testing.T) {
	for _, d := range dials {
		for _, x := range d.doses {
			if _, err := d.recipe(x); err != nil {
				t.Errorf("%s %s: %v", d.cause, x.name, err)
			}
		}
	}
	if _, err := Search(context.Background(), Request{Cause: "precisions"}); err == nil || !strings.Contains(err.Error(), `did you mean "precision"`) {
		t.Errorf("%v", err)
	}
	if got := scaled(dose{"learner.optimizer.lr=3e-3", []string{"learner.optimizer.lr=3e-3"}}, 1.5); got.name != "learner.optimizer.lr=0.0045" {
		t.Errorf("%s", got.name)
	}
	if got := scaled(dose{"a=1", []string{"a=1"}}, 9); got.name != "a=3" {
		t.Errorf("%s", got.name)
	}
}

func find(t *testing.T, cause string) *dial {
	for i := range dials {
		if dials[i].cause == cause {
			return &dials[i]
		}
	}
	t.Fatal(cause)
	return nil
}
