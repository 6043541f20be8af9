package main

import (
	"maps"
	"slices"
	"strings"

	"driftlab/cmd/simulate/lab/live"
	"driftlab/experiments/explain"
	"driftlab/experiments/measure"
	runner "driftlab/experiments/run"
	"driftlab/results/lab"
	"driftlab/results/lab/panel"
	"driftlab/results/lab/picture"
	"driftlab/results/record"
	"driftlab/trainer/recipe"
)

// run does what the page's "Compute it here" does, and returns its panels beside the
// published ones that the controls choose.
func (c *lessonCmd) run(a *app, l *lab.Lesson, chosen map[string]string) ([]panel.Panel, error) {
	recorded := matching(l.Data.Panels, chosen)
	if l.Live == nil {
		return recorded, nil
	}
	r, err := recipe.Load(l.Live.Recipe, filled(l.Live.Set, chosen)...)
	if err != nil {
		return nil, err
	}
	steps := 1
	if l.Live.Do == "train" {
		steps = r.Steps
	}
	m := a.meter(c.Quiet, "lesson "+l.Name, "step", steps)
	defer m.close()
	panels, err := c.live(a, l.Live.Do, r, m)
	if err != nil {
		return nil, err
	}
	panels = matching(panels, chosen)
	for _, p := range recorded { // what was not computed here
		if !slices.ContainsFunc(panels, func(q panel.Panel) bool { return q.Name == p.Name }) {
			panels = append(panels, p)
		}
	}
	return panels, nil
}

// live computes a lesson's panels.
func (c *lessonCmd) live(a *app, do string, r recipe.Recipe, m *meter) ([]panel.Panel, error) {
	switch do {
	case "measure":
		return gapPanels(a.ctx, measure.GapRequest{Recipe: r, Workers: c.workers()})
	case "explain":
		u, err := explain.Follow(a.ctx, r, explain.Request{Step: 1, Tokens: record.UpdateTokens, Workers: c.workers()})
		if err != nil {
			return nil, err
		}
		return picture.Policies(u), nil
	case "flips":
		f, err := measure.Flips(r, record.FlipsResponses, c.workers())
		if err != nil {
			return nil, err
		}
		return picture.Flips(f), nil
	case "train":
		result, err := runner.Run(a.ctx, r, runner.Options{Workers: c.workers(), Progress: m.run("")})
		if err != nil {
			return nil, err
		}
		return live.Run("your run", result.Record), nil
	}
	return nil, bad("lesson: no way to %s", do)
}

// filled are assignments with the controls' values set in; a pair of engines stands for
// rollout and learner.
func filled(set []string, chosen map[string]string) []string {
	values := maps.Clone(chosen)
	if rollout, learner, ok := strings.Cut(chosen["pair"], "/"); ok {
		values["rollout"], values["learner"] = rollout, learner
	}
	var out []string
	for _, s := range set {
		for _, key := range slices.Sorted(maps.Keys(values)) {
			s = strings.ReplaceAll(s, "{"+key+"}", values[key])
		}
		out = append(out, s)
	}
	return out
}

// matching are the panels that the controls' values choose.
func matching(all []panel.Panel, chosen map[string]string) []panel.Panel {
	var out []panel.Panel
	for _, p := range all {
		matches := true
		for key, value := range p.When {
			matches = matches && (chosen[key] == value || chosen[key] == "")
		}
		if matches {
			out = append(out, p)
		}
	}
	return out
}
