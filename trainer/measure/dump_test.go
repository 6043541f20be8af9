package measure

import (
	"context"
	"testing"

	"driftlab/results/record"
	"driftlab/trainer/tiny"
)

// TestMeasureDump writes what was compared, rewarded as the recipe says.
func TestMeasureDump(t *testing.T) {
	r := measured(t)
	if err := r.Set("reward=[exact, {name: length_uniform, coef: 0.5}]"); err != nil {
		t.Fatal(err)
	}
	var m *Measurement
	lines := tiny.Dumped(t, func(w *record.DumpWriter) (err error) {
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
