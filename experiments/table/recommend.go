package table

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"driftlab/results/figure"
	"driftlab/trainer/recipe/foreign"
)

// recommendations are the setting to switch on under each stressor: the one that ranked
// first in the screening stage, with its effect here. The seeds here had no part in the
// choice, so the effect has no selection bias. It is nil before the stage is whole, and
// without a screening stage.
func (r *Ranking) recommendations(screen *Ranking) *figure.Figure {
	list := r.Methods
	bare := slices.IndexFunc(list, func(m Standing) bool { return m.Method == control })
	if !r.confirms(screen) || bare < 0 {
		return nil
	}
	t := &figure.Figure{Kind: figure.Table, Title: "Recommended setting for each stressor", Columns: []figure.Column{{Name: "problem"}, {Name: "stressor"}, number("uncorrected"), {Name: "recommended"}, number("with it"), number("improvement"), {Name: "95 % CI"}, number("better"), number("worse")},
		Note: fmt.Sprintf("Recommended: ranked first in the screening stage, which has other seeds. Uncorrected and with it: mean pass rate of the whole run minus that of the matched control. Improvement: over no correction, paired by seed, n = %d (↑ significant). "+
			"Better, worse: how many of %d distinct settings are significantly better or worse than no correction (%s).", len(r.Stage.Index.Seeds), r.distinct()-1, testName)}
	for j, stressor := range r.Stressors {
		recommended := r.recommended(screen, stressor)
		front := slices.IndexFunc(list, func(m Standing) bool { return m.Method == recommended })
		if front < 0 {
			continue
		}
		better, worse := 0, 0
		for i := range list {
			if g := list[i].gain(j); list[i].SameAs != "" {
				continue
			} else if g.Better() {
				better++
			} else if g.Worse() {
				worse++
			}
		}
		gain := list[front].gain(j)
		over := signed(gain.Estimate)
		if gain.Better() {
			over = over.As(figure.Good)
		}
		t.Add(figure.Word(r.problem(j)), figure.Word(stressor), signed(list[bare].AUC[j]), figure.Word(list[front].Method), list[front].cell(j), over, between(gain.Interval), count(better), count(worse))
	}
	return t
}

// configurations are the frameworks of each column: the first that has the setting is shown.
var configurations = []struct {
	head       string
	frameworks []string
}{{"verl", []string{"verl"}}, {"TRL, SkyRL or prime-rl", []string{"trl", "skyrl", "prime-rl"}}}

// configuration is the setting in the first of the frameworks that has all of it.
func (s Setting) configuration(frameworks []string) (string, error) {
	for _, name := range frameworks {
		text, _, err := foreign.WriteChanged(name, "headline", s.Recipe)
		if err != nil {
			return "", err
		}
		var lines []string
		for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
			if line != "" && !slices.Contains(logging, line) {
				lines = append(lines, "`"+line+"`")
			}
		}
		if len(lines) > 0 {
			return strings.Join(lines, " "), nil
		}
	}
	return foreign.NotWritten, nil
}

// logging are the lines that every correction needs in a framework; the note has them once.
var logging = []string{"actor_rollout_ref: {rollout: {calculate_log_probs: true}}", "generator: {sampling_params: {logprobs: 1}}"}

// configurationTable is the recommended setting of each stressor, and the one with the lowest
// mean regret, as lines of a recipe and of the frameworks' configurations.
func (e *Effects) configurationTable() (*figure.Figure, error) {
	t := &figure.Figure{Kind: figure.Table, Title: "Which correction for which problem", Columns: []figure.Column{{Name: "problem"}, {Name: "recommended setting"}, {Name: "improvement (95 % CI)"}, {Name: "significantly worse under"}, {Name: "recipe line"}},
		Note: fmt.Sprintf("Improvement: mean pass rate of the whole run minus that without a correction, paired by seed, n = %d seeds, mean over the learning rates %s, 100 updates. Bold: significant (%s). "+
			"The setting was selected in the screening stage, on other seeds. verl also needs `actor_rollout_ref.rollout.calculate_log_probs: true`. \""+foreign.NotWritten+"\": this project does not write the setting for the framework, which may have one.",
			e.Seeds, strings.Join(e.Rates, " and "), testName)}
	for _, c := range configurations {
		t.Columns = append(t.Columns, figure.Column{Name: c.head})
	}
	add := func(problem string, s Setting, improvement string) error {
		var worse []string
		for j, effect := range s.Effects {
			if effect.Significant() < 0 {
				worse = append(worse, fmt.Sprintf("`%s` (%+.2f)", e.Stressors[j].Name, effect.Estimate))
			}
		}
		row := []figure.Cell{figure.Word(problem), figure.Word("`" + s.Name + "`"), figure.Word(improvement), figure.Word(cmp.Or(strings.Join(worse, ", "), "none")), figure.Word("`" + strings.ReplaceAll(s.Line(), "\n", "`, `") + "`")}
		for _, c := range configurations {
			text, err := s.configuration(c.frameworks)
			if err != nil {
				return err
			}
			row = append(row, figure.Word(text))
		}
		t.Add(row...)
		return nil
	}
	for j, stressor := range e.Stressors {
		s, ok := e.Setting(stressor.Recommended)
		if !ok || stressor.Healthy {
			continue
		}
		improvement := fmt.Sprintf("%+.2f (%+.2f to %+.2f)", s.Effects[j].Estimate, s.Effects[j].Low, s.Effects[j].High)
		if s.Effects[j].Significant() > 0 {
			improvement = "**" + improvement + "**"
		}
		if err := add(stressor.Problem+": `"+stressor.Name+"`", s, improvement); err != nil {
			return nil, err
		}
	}
	bare, ok := e.Setting(control)
	if ok && len(e.Settings) > 1 {
		best := e.Settings[0]
		text := fmt.Sprintf("mean regret %.2f (%.2f to %.2f); uncorrected %.2f", best.Regret.Estimate, best.Regret.Low, best.Regret.High, bare.Regret.Estimate)
		if err := add("all of these (lowest mean regret)", best, text); err != nil {
			return nil, err
		}
	}
	return t, nil
}
