package main

import (
	"context"
	"fmt"

	"driftlab/cmd/simulate/lab/live"
	"driftlab/experiments"
	"driftlab/results/lab/panel"
	"driftlab/results/record"
	"driftlab/trainer/recipe"
)

// briefly makes the headline a run of a minute in a browser: a smaller batch, a higher
// learning rate and fewer steps, so that what age does shows early.
var briefly = []string{"steps=60", "rollout.prompts=4", "eval.prompts=32", "eval.every=5", "learner.optimizer.lr=2e-3"}

// ages are the schedules of the lesson: rollouts of the current weights and of older ones.
var ages = []string{"{name: sync}", "{name: lag, k: 1}", "{name: lag, k: 2}", "{name: lag, k: 4}", "{name: lag, k: 8}"}

// recordAge trains with rollouts of every age, over the same seeds.
func recordAge(ctx context.Context, c *lessonCmd) ([]panel.Panel, error) {
	seeds, short := []uint64{1, 2, 3, 4, 5}, []string(nil)
	if c.tiny {
		seeds, short = seeds[:1], []string{"steps=5"}
	}
	var out []panel.Panel
	for _, age := range ages {
		r, err := recipe.Load("headline", append(append(briefly[:len(briefly):len(briefly)], "schedule="+age), short...)...)
		if err != nil {
			return nil, err
		}
		runs, err := experiments.Compare(ctx, []recipe.Recipe{r}, seeds, experiments.Options{Workers: c.workers()})
		if err != nil {
			return nil, err
		}
		for _, p := range recordedRuns(runs) {
			p.When = map[string]string{"schedule": age}
			out = append(out, p)
		}
	}
	return out, nil
}

// recordedRuns are the panels of runs that differ by their seeds alone, each faint.
func recordedRuns(runs []*record.Record) []panel.Panel {
	var out []panel.Panel
	for i, run := range runs {
		for j, p := range live.Run(fmt.Sprintf("seed %d", run.Seed), run) {
			line := p.Series[0]
			line.Method, line.Faint = panel.Uncorrected, true
			if i == 0 {
				p.Series, p.Said = nil, fmt.Sprintf("%d recorded seeds.", len(runs))
				out = append(out, p)
			}
			out[j].Series = append(out[j].Series, line)
		}
	}
	return out
}
