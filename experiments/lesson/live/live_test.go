package live

import (
	"context"
	"strings"
	"testing"

	"driftlab/experiments/measure"
	"driftlab/precision/must"
	"driftlab/results/figure"
	"driftlab/results/record"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/task"
	"driftlab/trainer/recipe"
)

// TestGap: equal engines have no shade and one bar; others have shades, and their bars
// are shares of all tokens.
func TestGap(t *testing.T) {
	for _, rollout := range []string{"fp32", "fp8-w8a8"} {
		r := must.Get(recipe.Load("default", "rollout.prompts=2", "rollout.group=2", "rollout.max_tokens=16", "rollout.numerics="+rollout))(t)
		var panels []figure.Figure
		m := must.Get(measure.Gaps(context.Background(), measure.GapRequest{Recipe: r, Responses: func(_ string, b *batch.Batch, _ []task.Prompt, _ []task.Verdict) error {
			panels = []figure.Figure{strip(b, r.Task.New().Vocab()), spread(b)}
			return nil
		}}))(t)
		panels = append(panels, figures(m.Pairs[0]))
		shaded, sum := 0, 0.0
		for _, line := range panels[0].Lines {
			for _, x := range line.Tokens {
				if x.Text == "<?>" {
					t.Error("a token without a word")
				}
				if x.Level > 0 {
					shaded++
				}
			}
		}
		for _, share := range panels[1].Series[0].Y {
			sum += share
		}
		if equal := rollout == "fp32"; (shaded == 0) != equal || (panels[1].Series[0].Y[0] == 100) != equal || sum < 99.999 || sum > 100.001 {
			t.Errorf("%s: %d tokens are shaded, bars %v", rollout, shaded, panels[1].Series[0].Y)
		}
		if len(panels[2].Rows) != 3 || len(panels[2].Rows[0]) != len(panels[2].Columns) || !strings.Contains(panels[2].Note, "tokens differ") {
			t.Errorf("%s: table %+v", rollout, panels[2])
		}
	}
}

// TestRun: what is on record is drawn, at its steps, and nothing else.
func TestRun(t *testing.T) {
	r := &record.Record{}
	r.Add(0, []record.Metric{{Name: "val/learner/pass_rate", Value: 0.5}})
	r.Add(1, []record.Metric{{Name: "gap/k3", Value: 1e-3}})
	r.Add(2, []record.Metric{{Name: "gap/k3", Value: 2e-3}, {Name: "val/learner/pass_rate", Value: 0.25}})
	panels := Run("your run", r)
	if len(panels) != 2 || panels[0].Name != "pass-rate" || panels[1].Name != "k3" {
		t.Fatalf("%+v", panels)
	}
	if s := panels[0].Series[0]; len(s.X) != 2 || s.X[1] != 2 || s.Y[1] != 0.25 || panels[0].Note != "your run: 0.25 at step 2, from 0.5." {
		t.Errorf("%+v, %q", s, panels[0].Note)
	}
}
