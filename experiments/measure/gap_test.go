package measure

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"driftlab/engine"
	"driftlab/precision"
	"driftlab/precision/must"
	"driftlab/trainer/recipe"
)

// measured is the default measurement, small.
func measured(t testing.TB) recipe.Recipe {
	t.Helper()
	return must.Get(recipe.Load("default", "rollout.prompts=4", "rollout.group=4", "rollout.max_tokens=24"))(t)
}

// TestMeasure holds the control against exact zero and every other pair against
// having a gap, and removes the flips by replay, all of them.
func TestMeasure(t *testing.T) {
	done := 0
	m := must.Get(Gaps(context.Background(), GapRequest{Recipe: measured(t), Pairs: UsualPairs(), Progress: func(d, pairs int) { done = d * pairs }}))(t)
	if len(m.Pairs) != len(UsualPairs()) || done != len(m.Pairs)*len(m.Pairs) || m.Checkpoint != "chain-base" || m.Task != "chain" || m.Seed != 1 {
		t.Errorf("%d pairs, progress %d, %+v", len(m.Pairs), done, m)
	}
	flips := 0
	for _, p := range m.Pairs {
		g, control := p.Gap, p.Rollout == p.Learner
		zeros := []float64{g.K1, g.K2, g.K3, g.MeanAbsDlogp, g.MaxAbsDlogp, g.MeanAbsDp, g.MaxAbsSequence, g.Unequal, g.ExactKL, g.ExactTV, g.MaxTV,
			g.FlipToken, g.FlipRoute, g.FlipSequence}
		if same := !slices.ContainsFunc(zeros, func(x float64) bool { return x != 0 }); same != control {
			t.Errorf("%s to %s: no gap at all: %v\n%+v", p.Rollout, p.Learner, same, g)
		}
		if g.Tokens < 100 || !g.HasExact || !g.HasRoutes || g.K3 < 0 || g.ExactKL < 0 {
			t.Errorf("%s to %s: %+v", p.Rollout, p.Learner, g)
		}
		if p.Replayed == nil || p.Replayed.FlipToken != 0 || p.Replayed.FlipRoute != 0 || p.Replayed.Tokens != g.Tokens {
			t.Errorf("%s to %s, replayed: %+v", p.Rollout, p.Learner, p.Replayed)
		}
		if r := p.ReplayedGates; r == nil || r.FlipToken != 0 || r.Tokens != g.Tokens || (r.Unequal == 0) != control {
			t.Errorf("%s to %s, replayed with gates: %+v", p.Rollout, p.Learner, p.ReplayedGates)
		}
		if g.FlipToken > 0 {
			flips++
		}
	}
	if flips == 0 {
		t.Error("no pair has a routing flip for replay to remove")
	}
}

// TestMeasureRepeats gives the same document for any number of workers, and
// another one for another seed.
func TestMeasureRepeats(t *testing.T) {
	pairs := UsualPairs()[3:5] // bf16 to fp32, bf16-tp4 to bf16
	measure := func(workers int, seed uint64) []byte {
		r := measured(t)
		r.Seed = seed
		m := must.Get(Gaps(context.Background(), GapRequest{Recipe: r, Pairs: pairs, Workers: workers}))(t)
		return must.Get(json.Marshal(m))(t)
	}
	want := measure(1, 5)
	for workers := 2; workers <= 3; workers++ {
		if got := measure(workers, 5); !bytes.Equal(got, want) {
			t.Errorf("%d workers:\n%s\none:\n%s", workers, got, want)
		}
	}
	if bytes.Equal(measure(1, 6), want) {
		t.Error("another seed measures the same")
	}
}

// TestMeasureRefuses names what cannot be measured.
func TestMeasureRefuses(t *testing.T) {
	fp32, _ := engine.Preset("fp32")
	broken := fp32
	broken.Name, broken.Activations = "mine", precision.Format{}
	if _, err := Gaps(context.Background(), GapRequest{Recipe: measured(t), Pairs: []Pair{{fp32, broken}}}); err == nil ||
		!strings.Contains(err.Error(), "numerics mine") || !strings.Contains(err.Error(), "activations") {
		t.Errorf("broken numerics: %v", err)
	}
	r := measured(t)
	r.Checkpoint = "nowhere"
	if _, err := Gaps(context.Background(), GapRequest{Recipe: r}); err == nil || !strings.Contains(err.Error(), "nowhere") {
		t.Errorf("no checkpoint: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Gaps(ctx, GapRequest{Recipe: measured(t)}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
