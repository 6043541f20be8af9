package measure

import (
	"context"
	"path/filepath"
	"testing"

	"driftlab/results/record"
)

// readDump reads every line of a dump.
func readDump(t *testing.T, path string) []record.DumpLine {
	t.Helper()
	var lines []record.DumpLine
	if err := record.ReadDump(path, func(d *record.DumpLine) error {
		lines = append(lines, *d)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return lines
}

// dumped is what a job writes to its dump.
func dumped(t *testing.T, job func(w *record.DumpWriter) error) []record.DumpLine {
	t.Helper()
	path := filepath.Join(t.TempDir(), "dump.jsonl.gz")
	w, err := record.CreateDump(path)
	if err == nil {
		err = job(w)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return readDump(t, path)
}

// TestMeasureDump writes what was compared, rewarded as the recipe says.
func TestMeasureDump(t *testing.T) {
	r := measured(t)
	if err := r.Set("reward=[exact, {name: length_uniform, coef: 0.5}]"); err != nil {
		t.Fatal(err)
	}
	var m *Measurement
	lines := dumped(t, func(w *record.DumpWriter) (err error) {
		m, err = Gaps(context.Background(), GapRequest{Recipe: r, Pairs: UsualPairs()[3:5], Dump: w})
		return err
	})
	tokens, correct, values := map[string]int{}, 0, map[float64]bool{}
	for _, d := range lines {
		tokens[d.Run] += len(d.TokenIDs)
		values[d.Reward] = true
		if d.Correct {
			correct++
		}
		if d.Step != 0 || d.RoutesLearner.Expert == nil || len(d.LogpOld) != len(d.TokenIDs) || d.LogpNew != nil || d.PromptID == 0 ||
			len(d.PromptIDs) < 2 || d.Difficulty < 3 {
			t.Errorf("%+v", d)
		}
	}
	for _, p := range m.Pairs {
		if name := p.Rollout + "-to-" + p.Learner; tokens[name] != p.Gap.Tokens {
			t.Errorf("%s: %d tokens in the dump, %d compared", name, tokens[name], p.Gap.Tokens)
		}
	}
	if correct == 0 || correct == len(lines) || len(values) < 5 {
		t.Errorf("%d of %d right, rewards %v", correct, len(lines), values)
	}
}
