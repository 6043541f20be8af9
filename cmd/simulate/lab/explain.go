//go:build js

package main

import (
	"context"
	"fmt"
	"slices"

	"driftlab/experiments/measure"
	"driftlab/experiments/measure/explain"
	"driftlab/results/figure"
	"driftlab/results/lab/picture"
	"driftlab/results/record"
	"driftlab/trainer"
	"driftlab/trainer/recipe"
)

// followed is what the last explain followed, so that asking for another of its tokens
// makes no run again.
var followed struct {
	of     string
	update *record.Update
}

// explain follows tokens through the training step of an update:
//
//	{"v": 1, "id": 4, "do": "explain", "recipe": "default", "set": ["learner.minibatches=4"], "update": 3, "token": 1}
//	{"id": 4, "result": {record.Update}, "panels": [...]}
//
// update counts the gradient steps of the run from 1 and chooses the training step;
// without it the first is meant. Panels show all updates of the step, or with
// token, from 1 on, that token's workings.
func (j *job) explain(ctx context.Context, r recipe.Recipe, m message) error {
	step := 1
	if per := r.Learner.Updates(); m.Update > 0 {
		step = (m.Update-1)/per + 1
	}
	if of := fmt.Sprintf("%s at step %d", r.YAML(), step); followed.of != of {
		post(reply{ID: j.id, Progress: &progress{Of: step}})
		u, err := explain.Follow(ctx, r, explain.Request{Step: step, Tokens: record.UpdateTokens, Progress: func(p trainer.Progress) {
			post(reply{ID: j.id, Progress: &progress{Done: p.Step, Of: step}})
			j.breathe(ctx)
		}})
		if err != nil {
			return err
		}
		u.Recipe, u.Set = m.Recipe, m.Set
		followed.of, followed.update = of, u
	}
	u := followed.update
	if m.Token < 0 || m.Token > len(u.Tokens) {
		return fmt.Errorf("token %d: the table has the tokens 1 to %d", m.Token, len(u.Tokens))
	}
	panels := picture.Policies(u)
	if m.Token > 0 {
		panels = slices.DeleteFunc(panels, func(p figure.Figure) bool { return p.When[picture.Which] != fmt.Sprint(m.Token) })
	}
	post(reply{ID: j.id, Result: u, Panels: panels, Command: command("train", m)})
	return nil
}

// flips measures where the engines of a recipe send tokens:
//
//	{"v": 1, "id": 5, "do": "flips", "recipe": "default", "set": ["rollout.numerics=fp8-w8a8"]}
//	{"id": 5, "result": {record.Flips}, "panels": [...]}
func (j *job) flips(r recipe.Recipe, m message) error {
	post(reply{ID: j.id, Progress: &progress{Of: 1}})
	f, err := measure.Flips(r, record.FlipsResponses, 1)
	if err != nil {
		return err
	}
	f.Recipe, f.Set = m.Recipe, m.Set
	post(reply{ID: j.id, Result: f, Panels: picture.Flips(f), Command: command("measure", m)})
	return nil
}
