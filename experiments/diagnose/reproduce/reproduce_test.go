package reproduce

import (
	"context"
	"flag"
	"strings"
	"testing"

	"driftlab/precision/must"
	"driftlab/trainer/recipe"
)

var exhaustive = flag.Bool("exhaustive", false, "a search for every cause, as in nightly tests, in place of two")

// A gap of the toy's own is found again: the same level, the same size.
func TestSearchFindsItsOwn(t *testing.T) {
	if testing.Short() {
		t.Skip("a search takes seconds")
	}
	cases := []struct{ cause, level string }{
		{"order", "bf16-tp2 against bf16"}, {"temperature", "learner.temperature=1.35"}, {"precision", "fp8-w8a8 against bf16"}, {"support", "rollout.top_p=0.9"},
	}
	if !*exhaustive {
		cases = cases[:2]
	}
	for _, c := range cases {
		d := find(t, c.cause)
		var want float64
		for _, x := range d.levels() {
			if x.name == c.level {
				size, _, err := d.measure(context.Background(), Request{Workers: 2}, x)
				must.Do(t, err)
				want = size
			}
		}
		toy := must.Get(Search(context.Background(), Request{Cause: c.cause, Size: want, Workers: 2}))(t)
		if toy.Level != c.level || toy.Factor > 2 || distance(toy.Size, want) > 0.4 {
			t.Errorf("%s: %s of size %v, want %s of %v: %v", c.cause, toy.Level, toy.Size, c.level, want, toy.Sizes)
		}
		for i, size := range toy.Sizes[1:] {
			if size <= toy.Sizes[i] && c.cause != "order" {
				t.Errorf("%s: %v", c.cause, toy.Sizes)
			}
		}
	}
}

func TestStalenessMovesWithTheRate(t *testing.T) {
	if testing.Short() {
		t.Skip("trains")
	}
	toy := must.Get(Search(context.Background(), Request{Cause: "staleness", Size: 0.05, Workers: 2}))(t)
	if toy.Factor > 2 || toy.Recipe.Schedule.Name != "lag" || !strings.HasPrefix(toy.Level, "learner.optimizer.lr=") {
		t.Errorf("%s of size %v: %v", toy.Level, toy.Size, toy.Sizes)
	}
	if back, err := recipe.Parse("back.yaml", toy.Recipe.YAML()); err != nil || back.Name != "reproduce-staleness" {
		t.Errorf("%v", err)
	}
}

func TestEveryLevelIsARecipe(t *testing.T) {
	for _, d := range dials {
		for _, x := range d.levels() {
			if _, err := d.recipe(x); err != nil {
				t.Errorf("%s %s: %v", d.cause, x.name, err)
			}
		}
	}
	if _, err := Search(context.Background(), Request{Cause: "precisions"}); err == nil || !strings.Contains(err.Error(), `did you mean "precision"`) {
		t.Errorf("%v", err)
	}
	if got := scaled(level{"learner.optimizer.lr=3e-3", []string{"learner.optimizer.lr=3e-3"}}, 1.5); got.name != "learner.optimizer.lr=0.0045" {
		t.Errorf("%s", got.name)
	}
	if got := scaled(level{"a=1", []string{"a=1"}}, 9); got.name != "a=3" {
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
