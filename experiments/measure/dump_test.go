package measure

import (
	"context"
	"testing"

	"driftlab/experiments/run/dump"
	"driftlab/precision/must"
	"driftlab/results/record"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/task"
	"driftlab/trainer/recipe"
	"driftlab/trainer/trainertest"
)

// into writes the responses of a measurement to a dump.
func into(w *record.DumpWriter, r recipe.Recipe) func(string, *batch.Batch, []task.Prompt, []task.Verdict) error {
	return func(pair string, b *batch.Batch, prompts []task.Prompt, verdicts []task.Verdict) error {
		d := dump.Writer{To: w, Run: pair, Sampling: r.Rollout}
		return d.Write(b, prompts, verdicts, nil)
	}
}

// TestMeasureDump writes what was compared, rewarded as the recipe says.
func TestMeasureDump(t *testing.T) {
	r := measured(t)
	must.Do(t, r.Set("reward=[exact, {name: length_uniform, coef: 0.5}]"))
	var m *Measurement
	lines := trainertest.Dumped(t, func(w *record.DumpWriter) (err error) {
		m, err = Gaps(context.Background(), GapRequest{Recipe: r, Pairs: UsualPairs()[3:5], Responses: into(w, r)})
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
