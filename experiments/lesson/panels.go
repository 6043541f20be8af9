// Package lesson computes what the lessons of the lab show: a lesson's live figures, and the
// recordings that the published page has.
//
// What it is not: it asks and prints nothing.
package lesson

import (
	"context"
	"fmt"
	"slices"

	"driftlab/experiments/explain"
	"driftlab/experiments/live"
	"driftlab/experiments/measure"
	runner "driftlab/experiments/run"
	"driftlab/results/figure"
	"driftlab/results/lab"
	"driftlab/results/lab/picture"
	"driftlab/results/record"
	"driftlab/trainer"
	"driftlab/trainer/recipe"
)

// Run is the live run of a lesson at the values that were chosen of its controls.
type Run struct {
	Lesson *lab.Lesson
	Chosen map[string]string
	Recipe recipe.Recipe
}

// NewRun reads the recipe of a lesson's live run; a lesson without one has the published
// figures alone.
func NewRun(l *lab.Lesson, chosen map[string]string) (r Run, err error) {
	r = Run{Lesson: l, Chosen: chosen}
	if l.Live != nil {
		r.Recipe, err = recipe.Load(l.Live.Recipe, l.Assignments(chosen)...)
	}
	return r, err
}

// Steps is how many steps the run has to report.
func (r Run) Steps() int {
	if r.Lesson.Live != nil && r.Lesson.Live.Do == "train" {
		return r.Recipe.Steps
	}
	return 1
}

// Panels does what the page's "Compute it here" does, and returns its figures next to the
// published ones that the controls choose.
func (r Run) Panels(ctx context.Context, workers int, progress func(trainer.Progress)) ([]figure.Figure, error) {
	recorded := figure.Matching(r.Lesson.Data.Panels, r.Chosen)
	if r.Lesson.Live == nil {
		return recorded, nil
	}
	panels, err := r.live(ctx, workers, progress)
	if err != nil {
		return nil, err
	}
	panels = figure.Matching(panels, r.Chosen)
	for _, p := range recorded { // what was not computed here
		if !slices.ContainsFunc(panels, func(q figure.Figure) bool { return q.Name == p.Name }) {
			panels = append(panels, p)
		}
	}
	return panels, nil
}

// live computes a lesson's figures.
func (r Run) live(ctx context.Context, workers int, progress func(trainer.Progress)) ([]figure.Figure, error) {
	switch do := r.Lesson.Live.Do; do {
	case "measure":
		return gapPanels(ctx, measure.GapRequest{Recipe: r.Recipe, Workers: workers})
	case "explain":
		u, err := explain.Follow(ctx, r.Recipe, explain.Request{Step: 1, Tokens: record.UpdateTokens, Workers: workers})
		if err != nil {
			return nil, err
		}
		return picture.Policies(u), nil
	case "flips":
		f, err := measure.Flips(r.Recipe, record.FlipsResponses, workers)
		if err != nil {
			return nil, err
		}
		return picture.Flips(f), nil
	case "train":
		result, err := runner.Run(ctx, r.Recipe, runner.Options{Workers: workers, Progress: progress})
		if err != nil {
			return nil, err
		}
		return live.Run("your run", result.Record), nil
	default:
		return nil, fmt.Errorf("lesson: no way to %s", do)
	}
}
