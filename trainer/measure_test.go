package trainer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"driftlab/engine"
	"driftlab/engine/learner"
	"driftlab/precision"
	"driftlab/results"
	"driftlab/trainer/batch"
	"driftlab/trainer/recipe"
)

// measured is the default measurement, small.
func measured(t testing.TB) recipe.Recipe {
	t.Helper()
	r, err := recipe.Load("default", "rollout.prompts=6", "rollout.group=4", "rollout.max_tokens=24")
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestMeasure holds the control against exact zero and every other pair against
// having a gap, and removes the flips by replay, all of them.
func TestMeasure(t *testing.T) {
	done := 0
	m, err := Measure(context.Background(), MeasureRequest{Recipe: measured(t), Pairs: UsualPairs(), Progress: func(d, pairs int) { done = d * pairs }})
	if err != nil {
		t.Fatal(err)
	}
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
		m, err := Measure(context.Background(), MeasureRequest{Recipe: r, Pairs: pairs, Workers: workers})
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		return text
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
	if _, err := Measure(context.Background(), MeasureRequest{Recipe: measured(t), Pairs: []Pair{{fp32, broken}}}); err == nil ||
		!strings.Contains(err.Error(), "numerics mine") || !strings.Contains(err.Error(), "activations") {
		t.Errorf("broken numerics: %v", err)
	}
	r := measured(t)
	r.Checkpoint = "nowhere"
	if _, err := Measure(context.Background(), MeasureRequest{Recipe: r}); err == nil || !strings.Contains(err.Error(), "nowhere") {
		t.Errorf("no checkpoint: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Measure(ctx, MeasureRequest{Recipe: measured(t)}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// readDump reads every line of a dump.
func readDump(t *testing.T, path string) []results.DumpLine {
	t.Helper()
	var lines []results.DumpLine
	if err := results.ReadDump(path, func(d *results.DumpLine) error {
		lines = append(lines, *d)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return lines
}

// TestMeasureDump writes what was compared.
func TestMeasureDump(t *testing.T) {
	path := filepath.Join(t.TempDir(), "dump.jsonl")
	w, err := results.CreateDump(path)
	if err != nil {
		t.Fatal(err)
	}
	m, err := Measure(context.Background(), MeasureRequest{Recipe: measured(t), Pairs: UsualPairs()[3:5], Dump: w})
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := readDump(t, path)
	tokens := map[string]int{}
	for _, d := range lines {
		tokens[d.Run] += len(d.TokenIDs)
		if d.Step != 0 || d.RoutesLearner.Expert == nil || len(d.LogpOld) != len(d.TokenIDs) || len(d.LogpNew) != len(d.TokenIDs) || d.PromptID == 0 {
			t.Errorf("%+v", d)
		}
	}
	for _, p := range m.Pairs {
		if name := p.Rollout + "-to-" + p.Learner; tokens[name] != p.Gap.Tokens {
			t.Errorf("%s: %d tokens in the dump, %d compared", name, tokens[name], p.Gap.Tokens)
		}
	}
}

// TestTrainDump writes complete lines: every column, and log-probs of the three
// moments of a step.
func TestTrainDump(t *testing.T) {
	for _, sets := range [][]string{
		nil,
		{"routing.replay=r2", "learner.minibatches=2", "correction.mode=bypass"},
		{"routing.replay=r3", "rollout.top_p=0.9", "rollout.top_k=20", "rollout.temperature=0.8"},
		{"routing={replay: keep_routing, gates: recorded}"},
		{"routing={replay: r2, gates: recorded}", "learner.minibatches=2"},
	} {
		path := filepath.Join(t.TempDir(), "dump.jsonl.gz")
		w, err := results.CreateDump(path)
		if err != nil {
			t.Fatal(err)
		}
		s := sessionOf(t, Options{Dump: w}, append(sets, "rollout.numerics=fp8-w8a8")...)
		r := s.recipe
		check := learner.NewScorer(r.Model, r.Learner.Numerics, 1)
		defer check.Close()
		var batches []batch.Batch
		var latest [][]float64
		steps(t, s, 3, func(int) {
			var b, now batch.Batch
			s.batch.Select(&b, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15})
			batches = append(batches, b)
			b.Select(&now, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15})
			check.Publish(s.learner.Params(), 0)
			check.Score(&now, learner.ScoreOptions{Column: learner.Old, Temperature: r.Rollout.Temperature, Replay: s.replay, Gates: s.gates})
			latest = append(latest, now.LogpOld)
		})
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		lines := readDump(t, path)
		if len(lines) != 3*r.Rollout.Responses() {
			t.Fatalf("%d lines", len(lines))
		}
		for i, d := range lines {
			b, k := &batches[i/16], i%16
			from, to := b.Span(k)
			per := b.Layers * b.TopK
			switch {
			case d.Run != "tiny" || d.Step != i/16+1 || d.Sample != k || d.Group != b.Group[k] || d.PromptID != b.PromptID[k] || d.Reward != b.Reward[k]:
				t.Errorf("line %d: labels of %+v", i, d)
			case d.Temperature != r.Rollout.Temperature || d.TopP != r.Rollout.TopP || d.TopK != r.Rollout.TopK:
				t.Errorf("line %d: sampling of %+v", i, d)
			case !slices.Equal(d.TokenIDs, b.Token[from:to]) || !slices.Equal(d.Mask, b.Mask[from:to]) || !slices.Equal(d.Version, b.Version[from:to]) ||
				!slices.Equal(d.TurnID, make([]int32, to-from)):
				t.Errorf("line %d: tokens of %+v", i, d)
			case !slices.Equal(d.LogpRollout, b.LogpRoll[from:to]) || !slices.Equal(d.LogpOld, b.LogpOld[from:to]) ||
				!slices.Equal(d.LogpNew, latest[i/16][from:to]) || !slices.Equal(d.Advantage, b.Advantage[from:to]) || !slices.Equal(d.KeptMass, b.KeptMass[from:to]):
				t.Errorf("line %d: numbers of %+v", i, d)
			case !slices.Equal(d.RoutesRollout.Expert, b.RoutesRoll[from*per:to*per]) || !slices.Equal(d.RoutesLearner.Expert, b.RoutesOld[from*per:to*per]):
				t.Errorf("line %d: routes of %+v", i, d)
			case slices.Equal(d.LogpOld, d.LogpRollout) || slices.Equal(d.LogpOld, d.LogpNew):
				t.Errorf("line %d: two moments have the same log-probs", i)
			}
		}
	}
}
