package explain

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"driftlab/precision/must"
	"driftlab/trainer"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/recipe"
)

func load(t *testing.T, sets ...string) recipe.Recipe {
	t.Helper()
	return must.Get(recipe.Load("default", append([]string{"rollout.numerics=fp8-w8a8", "rollout.prompts=6", "rollout.group=8", "rollout.max_tokens=16", "eval.every=0", "steps=2"}, sets...)...))(t)
}

// Asking the weights between two updates leaves the run as it is.
func TestFollowingChangesNothing(t *testing.T) {
	for _, sets := range [][]string{{"learner.minibatches=1"}, {"learner.minibatches=4", "learner.epochs=2"}, {"learner.minibatches=2", "routing.replay=r2"}} {
		var thetas [][]float32
		asked := 0
		for _, follow := range []bool{false, true} {
			r, p, err := trainer.Prepare(load(t, sets...))
			must.Do(t, err)
			var s *trainer.Session
			o := trainer.Options{}
			if follow {
				o.Updated = func(int, int) {
					var now batch.Scored
					s.Score(&now)
					asked++
				}
			}
			s = must.Get(trainer.NewSession(r, p, o))(t)
			for step := range 2 {
				must.Do(t, s.Step(step))
			}
			thetas = append(thetas, slices.Clone(s.Params().Theta))
			s.Close()
		}
		if asked < 2 || !slices.Equal(thetas[0], thetas[1]) {
			t.Errorf("%v: asked %d times, the weights are equal: %v", sets, asked, slices.Equal(thetas[0], thetas[1]))
		}
	}
}

// What is followed hangs together: the ratios multiply, nothing has moved before the
// first update, and the branch goes with the band.
func TestFollow(t *testing.T) {
	u := must.Get(Follow(context.Background(), load(t, "learner.minibatches=2"), Request{Step: 2, Tokens: 5}))(t)
	if u.Updates != 2 || len(u.Tokens) != 5 || u.OutsideDecoupled[0] != 0 || u.Step != 2 {
		t.Fatalf("followed %d tokens through %d updates of step %d, outside %v before the first", len(u.Tokens), u.Updates, u.Step, u.OutsideDecoupled)
	}
	for _, k := range u.Tokens {
		for x := range u.Updates + 1 {
			if math.Abs(k.Engine*k.Staleness[x]/k.Merged[x]-1) > 1e-9 || x == 0 && k.Staleness[0] != 1 {
				t.Errorf("%g x %g is not %g after %d updates", k.Engine, k.Staleness[x], k.Merged[x], x)
			}
			harmful := k.Advantage > 0 && k.Merged[x] > u.High || k.Advantage < 0 && k.Merged[x] < u.Low
			if harmful != strings.HasPrefix(k.MergedBranch[x], "clipped") {
				t.Errorf("a ratio of %g at the advantage %g is %s", k.Merged[x], k.Advantage, k.MergedBranch[x])
			}
			if lines := strings.Join(k.DecoupledLines[x], "\n"); !strings.Contains(lines, "w = ") || !strings.Contains(lines, "r = ") {
				t.Errorf("the figures are\n%s", lines)
			}
		}
	}
	if _, err := Follow(context.Background(), load(t), Request{Step: 3, Tokens: 5}); err == nil || !strings.Contains(err.Error(), "1 to 2") {
		t.Errorf("a step beyond the run gives %v", err)
	}
}
