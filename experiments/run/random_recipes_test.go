package run

import (
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"driftlab/engine/learner"
	"driftlab/model"
	"driftlab/precision/must"
	"driftlab/results/record"
	"driftlab/trainer"
	"driftlab/trainer/recipe"
	"driftlab/trainer/trainertest"
)

// recipes is the number of random recipes; the nightly run asks for hundreds.
var recipes = flag.Int("recipes", 6, "random recipes that TestRandomRecipes runs")

// TestRandomRecipes draws valid recipes over everything that a recipe can name,
// and makes two steps of each: with one worker, with two, and killed after the
// first step and taken up again. All leave the same bytes. A recipe that
// loads also runs: only a value that is not finite may stop it, and then it
// stops alike.
func TestRandomRecipes(t *testing.T) {
	cores := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(cores)
	w := newWalk(11, walkTeacher(t))
	want := *recipes
	refused := map[string]int{}
	drawn, stopped, learned := 0, 0, 0
	for accepted := 0; accepted < want; drawn++ {
		if drawn >= 50 && accepted*10 < drawn {
			t.Errorf("%d of %d drawn recipes are accepted: the walk stands still", accepted, drawn)
			break
		}
		var r recipe.Recipe
		var refusal error
		sets := w.recipe(func(sets []string) bool {
			r = trainertest.Recipe(t)
			if refusal = r.Set(sets...); refusal == nil {
				refusal = trainer.Check(r.Resolved()) // as the command line does
			}
			return refusal == nil
		})
		if refusal != nil {
			refused[refusal.Error()]++
			continue
		}
		accepted++
		for _, name := range w.names {
			w.ran[name]++
		}
		t.Run(strconv.Itoa(drawn), func(t *testing.T) {
			defer func() { // also if the test ends at once
				if t.Failed() {
					t.Errorf("the recipe is tiny with\n  --set '%s'", strings.Join(sets, "' \\\n  --set '"))
				}
			}()
			result := sameEveryWay(t, r, accepted)
			switch {
			case result.Summary.Status == record.StatusStopped:
				stopped++
			case learns(result.Record):
				learned++
			}
		})
	}
	var never []string
	for _, name := range w.entries() {
		if w.ran[name] == 0 {
			never = append(never, name)
		}
	}
	t.Logf("%d recipes drawn, %d ran, %d of them with a gradient, %d to a value that is not finite; %d of %d entries never ran: %s",
		drawn, drawn-sum(refused), learned, stopped, len(never), len(w.entries()), strings.Join(never, ", "))
	if never = append(never, unknownWords()...); want >= 300 && len(never) > 0 {
		t.Errorf("%d recipes, and these never ran: %s", want, strings.Join(never, ", "))
	}
	if stopped*4 > want || learned*2 < want {
		t.Errorf("of %d recipes %d stop at a value that is not finite and %d learn: the walk proves little", want, stopped, learned)
	}
	if os.Getenv("REFUSED") != "" {
		for reason, n := range refused {
			t.Logf("refused %d times: %s", n, reason)
		}
	}
}

func sum(counts map[string]int) (n int) {
	for _, k := range counts {
		n += k
	}
	return n
}

// walkTeacher is a checkpoint of a model unlike tiny's, for recipes with a
// teacher or a drafter of their own.
func walkTeacher(t *testing.T) string {
	c := trainertest.Recipe(t, "model={layers: 2, d_model: 8, heads: 1, experts: 2, top_k: 1, d_ff: 8, context: 128, vocab: 64}").Resolved().Model
	p := model.New(c)
	p.Init(5)
	dir := filepath.Join(t.TempDir(), "teacher")
	must.Do(t, model.Save(dir, p, model.Extras{}))
	return dir
}

// sameEveryWay makes the run of a recipe in three ways and compares what they
// leave. It returns the first.
func sameEveryWay(t *testing.T, r recipe.Recipe, n int) *Result {
	t.Helper()
	dir := t.TempDir()
	whole, killed := filepath.Join(dir, "whole"), filepath.Join(dir, "killed")
	runtime.GOMAXPROCS(1)
	// What a kill after the first step leaves is what is there at that moment.
	result, problem := outcome(t, r, Options{Dir: whole, Progress: func(p trainer.Progress) {
		if p.Step == 1 && n%2 == 0 {
			if err := os.CopyFS(killed, os.DirFS(whole)); err != nil {
				t.Error(err)
			}
		}
	}})
	want := files(t, whole)
	runtime.GOMAXPROCS(2)
	two := filepath.Join(dir, "two")
	if _, other := outcome(t, r, Options{Dir: two, Workers: 2, Recompute: n%3 == 0}); other != problem {
		t.Errorf("with two workers it ends with %q, not %q", other, problem)
	}
	sameRun(t, "two workers", want, files(t, two))
	if n%2 == 1 { // an interrupt, which leaves a snapshot
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		if _, err := Run(ctx, r, Options{Dir: killed, Progress: func(trainer.Progress) { cancel() }}); !errors.Is(err, context.Canceled) && problem == "" {
			t.Errorf("interrupted after a step: %v", err)
		}
	}
	if _, other := outcome(t, r, Options{Dir: killed}); other != problem {
		t.Errorf("resumed it ends with %q, not %q", other, problem)
	}
	sameRun(t, "resumed", want, files(t, killed))
	return result
}

// outcome makes a run and returns it with the error of one that stopped at a
// value that is not finite; any other error is a fault.
func outcome(t *testing.T, r recipe.Recipe, o Options) (*Result, string) {
	t.Helper()
	result, err := Run(context.Background(), r, o)
	if err == nil {
		return result, ""
	}
	var value *learner.NonFinite
	if !errors.As(err, &value) {
		t.Fatalf("it loads and does not run: %v", err)
	}
	return result, err.Error()
}

// learns reports whether any step of a run had a gradient.
func learns(run *record.Record) bool {
	norm := run.Column("actor/grad_norm")
	return norm != nil && slices.ContainsFunc(norm.Value, func(x float64) bool { return x > 0 })
}
