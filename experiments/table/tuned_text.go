package table

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"driftlab/results/figure"
)

// Readme is the README's table of corrections with the sentences below it, at tuned learning rates.
func (t *Tuned) Readme() (*figure.Figure, string, error) {
	table, err := t.configurationTable()
	return table, t.readmeText(), err
}

// readmeText are the sentences below the README's table. Each names rate, n, task and model.
func (t *Tuned) readmeText() string {
	if len(t.Tasks) == 0 {
		return ""
	}
	lines := []string{t.headline(), "How much of an effect is the learning rate: " + t.rateText(), ""}
	for i := range t.Tasks {
		for j := range t.Tasks[i].Problems {
			lines = append(lines, "- "+t.Tasks[i].sentence(j))
		}
	}
	lines = append(lines, "", t.broadest()+" "+t.controlText())
	if t.BetweenTasks.N > 0 {
		lines = append(lines, "", transferVerdict(t.BetweenTasks))
	}
	return strings.Join(lines, "\n")
}

// headline says under how many combinations of task and stressor anything beats no correction.
func (t *Tuned) headline() string {
	helped, all := 0, t.combinations()
	for i := range t.Tasks {
		task := &t.Tasks[i]
		for j := range task.Problems {
			if better, _ := task.significant(j); len(better) > 0 {
				helped++
			}
		}
	}
	how := fmt.Sprintf("Every setting, no correction included, has a learning rate of its own, tuned on %d other base models among %s (%s; n = %d base models of two layers; 100 updates; intervals 95 %%). ", t.TuningModels, strings.Join(t.Rates, ", "), t.taskNames(), t.Models)
	if helped == 0 {
		return how + "**At tuned learning rates no setting is significantly better than no correction.**"
	}
	return how + fmt.Sprintf("At least one setting is significantly better than no correction in %d of %d combinations of task and stressor.", helped, all)
}

// taskNames lists the tasks.
func (t *Tuned) taskNames() string {
	var names []string
	for i := range t.Tasks {
		names = append(names, t.Tasks[i].Name)
	}
	if len(names) == 1 {
		return "task " + names[0]
	}
	return "tasks " + strings.Join(names, ", ")
}

// significant are the distinct settings that are significantly better and worse under a stressor.
func (t *TunedTask) significant(problem int) (better, worse []TunedSetting) {
	for _, s := range byGain(t.Settings, problem) {
		switch s.Effects[problem].Significant() {
		case 1:
			better = append(better, s)
		case -1:
			worse = append(worse, s)
		}
	}
	return better, worse
}

// tested counts the settings that are tested under a stressor, and those whose gain is large without
// being significant.
func (t *TunedTask) tested(problem int) (tested, largeUnproven int, smallest float64) {
	var found []float64
	for i := range t.Settings {
		s := &t.Settings[i]
		if !s.tested(problem) {
			continue
		}
		tested++
		e := &s.Effects[problem]
		if math.Abs(e.Estimate) >= large && e.Significant() == 0 {
			largeUnproven++
		}
		found = append(found, float64(e.Smallest))
	}
	slices.Sort(found)
	if len(found) > 0 {
		smallest = found[len(found)/2]
	}
	return tested, largeUnproven, smallest
}

// sentence says what helps and harms under a stressor of the task.
func (t *TunedTask) sentence(problem int) string {
	p := t.Problems[problem]
	better, worse := t.significant(problem)
	tested, unproven, smallest := t.tested(problem)
	text := fmt.Sprintf("%s, `%s`: no correction has a mean pass rate of %.2f at %s (without the stressor: %.2f at %s). ", t.Name, p.Name, p.Uncorrected, p.Rate, p.Matched, p.MatchedRate)
	if p.Uncorrected >= p.Matched {
		text += "At its own rate this is no stressor. "
	}
	if len(better) == 0 {
		text += fmt.Sprintf("**None of %d settings is significantly better**", tested)
	} else {
		text += fmt.Sprintf("Significantly better: %d of %d settings, %s the most", len(better), tested, better[0].gainText(problem))
		corrections := slices.DeleteFunc(slices.Clone(better), func(s TunedSetting) bool { return s.Group == clippedGroup })
		switch {
		case better[0].Group != clippedGroup:
		case len(corrections) == 0:
			text += ", and no correction"
		default:
			text += ", of the corrections " + corrections[0].gainText(problem)
		}
	}
	text += fmt.Sprintf("; significantly worse: %d", len(worse))
	if unproven > 0 {
		text += fmt.Sprintf("; %.2f or more without being significant: %d", large, unproven)
	}
	return text + fmt.Sprintf(". The test detects %.2f with 80 %% power (median).", smallest)
}

// clippedGroup are the controls whose clip acts; they correct nothing.
const clippedGroup = "clipped control"

// gainText is the setting with its gain and its rate.
func (s *TunedSetting) gainText(problem int) string {
	e := s.Effects[problem]
	return fmt.Sprintf("`%s` %+.2f (%+.2f to %+.2f) at %s", s.Name, e.Estimate, e.Low, e.High, e.Rate)
}

// broadest names the settings that help in the most combinations and harm in none.
func (t *Tuned) broadest() string {
	list := slices.DeleteFunc(t.settings(), func(a across) bool { return a.worse > 0 || a.better == 0 })
	most := 0
	for _, a := range list {
		most = max(most, a.better)
	}
	list = slices.DeleteFunc(list, func(a across) bool { return a.better < most })
	if len(list) == 0 {
		return "No setting is significantly better in one combination and significantly worse in none."
	}
	var names []string
	for _, a := range list {
		names = append(names, fmt.Sprintf("`%s` (in %d of %d where it can act)", a.name, a.better, a.compared))
	}
	return "Significantly better in the most combinations and significantly worse in none: " + strings.Join(names, ", ") + "."
}

// controlText says what no correction is.
func (t *Tuned) controlText() string {
	return "No correction (`none`) makes one update per batch except under `reuse8`, so its ratio is 1 and its clip cannot act; the controls whose clip acts are `minibatches-4` and `anchor-rollout-ppo_clip-0.2`."
}

// summary says how far the stages are, and what is seen first.
func (t *Tuned) summary() string {
	text := t.readmeText()
	edges, all, robust := 0, 0, 0
	for i := range t.Tasks {
		for _, s := range t.Tasks[i].Settings {
			for _, e := range s.Effects {
				if e.Rate == "" || s.SameAs != "" {
					continue
				}
				all++
				if e.AtEdge {
					edges++
				}
				if e.RateLow != e.RateHigh {
					robust++
				}
			}
		}
	}
	if all > 0 {
		text += fmt.Sprintf("\nOf %d tuned rates %d are the lowest or the highest that was tried; at %d of them a neighbouring rate is within %.2f of the best.", all, edges, robust, tolerance)
	}
	if missing := t.missingText(); missing != "" {
		text += "\n" + missing
	}
	return strings.TrimSpace(text)
}

// rateText says how much of the gains at a common learning rate is left at tuned ones.
func (t *Tuned) rateText() string {
	var parts []string
	for i := range t.Tasks {
		for _, p := range t.Tasks[i].Problems {
			parts = append(parts, fmt.Sprintf("%+.2f and %+.2f under `%s` on %s", p.MeanCommon, p.MeanTuned, p.Name, t.Tasks[i].Name))
		}
	}
	return "the mean gain over the settings is, with " + commonRate + " for all and with tuned rates, " + strings.Join(parts, "; ") + "."
}
