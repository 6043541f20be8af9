package main

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"driftlab/cmd/simulate/lab/live"
	"driftlab/engine"
	"driftlab/experiments/measure"
	"driftlab/results/lab"
	"driftlab/results/lab/panel"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/task"
	"driftlab/trainer/recipe"
)

// recorders make the recordings of the lessons that have one.
var recorders = map[string]func(context.Context, *lessonCmd) ([]panel.Panel, error){
	"gap": recordGap, "length": recordLength, "age": recordAge,
}

// record makes a lesson's recording.
func (c *lessonCmd) record(a *app) error {
	make := recorders[c.Name]
	switch {
	case make == nil:
		return bad("lesson %q has no recording of its own; %s have", c.Name, strings.Join(slices.Sorted(maps.Keys(recorders)), ", "))
	case c.Out == "":
		return bad("--record: needs --out, the folder to write to")
	}
	panels, err := make(a.ctx, c)
	if err != nil {
		return err
	}
	text, err := lab.Recording(panels)
	if err == nil {
		err = writeFile(c.Out, c.Name+".json", text)
	}
	if err == nil {
		fmt.Fprintf(a.stdout, "Recording: %s\n", filepath.Join(c.Out, c.Name+".json"))
	}
	return err
}

// recordGap measures the formats that people serve against those they train in, as the
// headline does the usual pairs of them.
func recordGap(ctx context.Context, c *lessonCmd) ([]panel.Panel, error) {
	r, err := recipe.Load("headline", "rollout.prompts=32")
	if err != nil {
		return nil, err
	}
	if c.tiny {
		r.Rollout.Prompts = 2
	}
	var pairs []measure.Pair
	for _, l := range []string{"fp32", "bf16"} {
		for _, n := range []string{"fp32", "fp32-splitk4", "fp16", "bf16", "bf16-tp4", "int8-w8a8", "fp8-w8a8", "fp4-w4a16"} {
			rollout, _ := engine.Preset(n)
			learner, _ := engine.Preset(l)
			pairs = append(pairs, measure.Pair{Rollout: rollout, Learner: learner})
		}
	}
	return gapPanels(ctx, measure.GapRequest{Recipe: r, Pairs: pairs, Workers: c.workers()})
}

// gapPanels measures pairs; the panels of each are shown with its numerics.
func gapPanels(ctx context.Context, q measure.GapRequest) ([]panel.Panel, error) {
	var sampled []*batch.Batch
	q.Responses = func(_ string, b *batch.Batch, _ []task.Prompt, _ []task.Verdict) error {
		sampled = append(sampled, b)
		return nil
	}
	m, err := measure.Gaps(ctx, q)
	if err != nil {
		return nil, err
	}
	var out []panel.Panel
	for i, pair := range m.Pairs {
		for _, p := range live.Gap(pair, sampled[i], q.Recipe.Task.New().Vocab()) {
			p.When = map[string]string{"rollout": pair.Rollout, "learner": pair.Learner}
			out = append(out, p)
		}
	}
	return out, nil
}
