package table

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"driftlab/results/figure"
	"driftlab/results/record"
	"driftlab/results/stats"
	"driftlab/trainer/recipe/foreign"
)

// Tuned compares settings at their own learning rates: the stage transfer, whose rates follow from
// the tuning stage.
type Tuned struct {
	// Models is the number of base models of a task, TuningModels that of those which the rates were
	// tuned on; Rates are the learning rates that were tried.
	Models       int      `json:"models"`
	TuningModels int      `json:"tuning_models"`
	Rates        []string `json:"rates"`
	// Tasks are those of which every run is there.
	Tasks []TunedTask `json:"tasks"`
	// Scales are the same settings in longer runs and in a larger model, at the rates that were tuned
	// for a task.
	Scales []TunedTask `json:"scales,omitempty"`
	// BetweenTasks is the primary check of transfer: the rank correlation of gains between tasks, under
	// the same stressor; N is the number of comparisons, 0 with fewer than two tasks.
	BetweenTasks stats.Interval `json:"rank_correlation_between_tasks"`
	// Missing says what the stages plan and do not have yet.
	Missing []string `json:"missing,omitempty"`
}

// TunedTask is a task with its problems and settings.
type TunedTask struct {
	Name string `json:"name"`
	// TunedOn is the task whose tuned rates the settings have, where it is another.
	TunedOn  string         `json:"tuned_on,omitempty"`
	Problems []TunedProblem `json:"problems"`
	// Settings are in the order of their mean gain over the stressors.
	Settings []TunedSetting `json:"settings"`
	// Critical is the |t| of the family-wise test of the task (stats.WestfallYoungCritical).
	Critical record.Number `json:"critical_t"`
}

// TunedProblem is a stressor of a task.
type TunedProblem struct {
	Name    string `json:"name"`
	Problem string `json:"problem"`
	// Rate is the tuned learning rate without a correction, Uncorrected its mean pass rate of the
	// whole run; MatchedRate and Matched are those of the control without a stressor.
	Rate        string  `json:"rate"`
	Uncorrected float64 `json:"uncorrected"`
	MatchedRate string  `json:"matched_rate"`
	Matched     float64 `json:"matched"`
	// Recommended is the setting with the highest mean in the tuning stage, none included.
	Recommended string `json:"recommended"`
	// MeanCommon is the mean gain over the settings where they and the control have the learning rate
	// 1e-3 (in the tuning stage), MeanTuned that at their own rates.
	MeanCommon record.Number `json:"mean_gain_at_1e-3"`
	MeanTuned  record.Number `json:"mean_gain_at_tuned_rates"`
}

// TunedSetting is a method with its parameters.
type TunedSetting struct {
	Name  string `json:"name"`
	Group string `json:"group"`
	// Recipe are its changes to a recipe, as --set takes them.
	Recipe []string `json:"recipe"`
	// SameAs is an earlier setting whose runs of the tuning stage all have the same bits.
	SameAs string `json:"same_as,omitempty"`
	// Effects are in the order of the problems.
	Effects []TunedEffect `json:"effects"`
}

// TunedEffect is a setting at its own rate under a stressor: the mean pass rate of the whole run
// minus that without a correction at that one's own rate.
type TunedEffect struct {
	Effect
	// Rate is the tuned learning rate, RateLow to RateHigh its range: the rates around it at which
	// the tuning stage's mean is within 0.05 of the best.
	Rate     string `json:"rate,omitempty"`
	RateLow  string `json:"rate_low,omitempty"`
	RateHigh string `json:"rate_high,omitempty"`
	// AtEdge: the tuned rate is the lowest or the highest that was tried.
	AtEdge bool `json:"at_edge,omitempty"`
	// PassRate is the mean pass rate of the whole run.
	PassRate float64 `json:"pass_rate"`
	// Smallest is the smallest gain that the test detects with 80 % power.
	Smallest record.Number `json:"smallest"`
	// OverClipped is the gain over the control with four minibatches; no interval where the stage has
	// no such runs under the stressor.
	OverClipped stats.Interval `json:"over_clipped"`
}

// tested reports whether the gain under a stressor is tested: not that of the control, nor of a
// setting that cannot act there or has the same bits as an earlier one.
func (s *TunedSetting) tested(problem int) bool {
	e := &s.Effects[problem]
	return e.Rate != "" && !e.Inactive && s.SameAs == "" && s.Name != control
}

// large is a gain that matters to a user, significant or not.
const large = 0.15

// combinations counts the pairs of task and stressor.
func (t *Tuned) combinations() (n int) {
	for i := range t.Tasks {
		n += len(t.Tasks[i].Problems)
	}
	return n
}

// across are a setting's effects over all tasks that have it.
type across struct {
	name, group             string
	better, worse, compared int
	gains                   []float64 // where it can act
}

// settings are those of all tasks, each once, in the order of their mean gain.
func (t *Tuned) settings() []across {
	var list []across
	for i := range t.Tasks {
		for _, s := range t.Tasks[i].Settings {
			if s.SameAs != "" || s.Name == control {
				continue
			}
			k := slices.IndexFunc(list, func(a across) bool { return a.name == s.Name })
			if k < 0 {
				k = len(list)
				list = append(list, across{name: s.Name, group: s.Group})
			}
			for _, e := range s.Effects {
				if e.Inactive {
					continue
				}
				a := &list[k]
				a.compared++
				a.gains = append(a.gains, e.Estimate)
				switch e.Significant() {
				case 1:
					a.better++
				case -1:
					a.worse++
				}
			}
		}
	}
	slices.SortStableFunc(list, func(a, b across) int { return cmp.Compare(stats.Average(b.gains), stats.Average(a.gains)) })
	return list
}

// byGain are the distinct settings in the order of their gain under a stressor.
func byGain(settings []TunedSetting, problem int) []TunedSetting {
	list := slices.DeleteFunc(slices.Clone(settings), func(s TunedSetting) bool { return s.SameAs != "" })
	slices.SortStableFunc(list, func(a, b TunedSetting) int {
		return cmp.Compare(b.Effects[problem].Estimate, a.Effects[problem].Estimate)
	})
	return list
}

// setting is the task's setting of that name; nil if it has none.
func (t *TunedTask) setting(name string) *TunedSetting {
	i := slices.IndexFunc(t.Settings, func(s TunedSetting) bool { return s.Name == name })
	if i < 0 {
		return nil
	}
	return &t.Settings[i]
}

// configurationTable is the setting that ranked first in the tuning stage, for each stressor and task as lines of a recipe and of
// the frameworks' configurations.
func (t *Tuned) configurationTable() (*figure.Figure, error) {
	table := &figure.Figure{Kind: figure.Table, Title: "Which correction for which problem, at tuned learning rates",
		Columns: []figure.Column{{Name: "problem"}, {Name: "task"}, {Name: "ranked first in tuning, at its learning rate"}, {Name: "improvement (95 % CI)"}, {Name: "pass rate without a correction, at its learning rate"}, {Name: "recipe line"}},
		Note: fmt.Sprintf("Improvement: mean pass rate of the whole run minus that without a correction, both at their own learning rates, paired by base model, n = %d base models, 100 updates. Bold: significant (%s). "+
			"Where it is not significant, use no correction, at its own learning rate. Setting and rates were selected in the tuning stage, on %d other base models, from the rates %s. verl also needs `actor_rollout_ref.rollout.calculate_log_probs: true`. \""+foreign.NotWritten+"\": this project does not write the setting for the framework, which may have one.",
			t.Models, testName, t.TuningModels, strings.Join(t.Rates, ", "))}
	for _, c := range configurations {
		table.Columns = append(table.Columns, figure.Column{Name: c.head})
	}
	if len(t.Tasks) == 0 {
		return table, nil
	}
	first := map[string]string{} // the row that has a setting's configurations
	for j, p := range t.Tasks[0].Problems {
		for i := range t.Tasks {
			task := &t.Tasks[i]
			own := task.Problems[j]
			s := task.setting(own.Recommended)
			e := &s.Effects[j]
			improvement := fmt.Sprintf("%+.2f (%+.2f to %+.2f)", e.Estimate, e.Low, e.High)
			switch e.Significant() {
			case 1:
				improvement = "**" + improvement + "**"
			case 0:
				improvement += ", not significant"
			}
			line := "`" + strings.ReplaceAll(recipeLine(s.Recipe), "\n", "`, `") + "`"
			if s.Name == control {
				improvement, line = "none", "no change"
			}
			row := []figure.Cell{figure.Word(p.Problem + ": `" + p.Name + "`"), figure.Word(task.Name), figure.Word("`" + s.Name + "`, " + e.Rate), figure.Word(improvement), figure.Word(fmt.Sprintf("%.2f, %s", own.Uncorrected, own.Rate)), figure.Word(line)}
			for _, c := range configurations {
				text, err := Setting{Recipe: s.Recipe}.configuration(c.frameworks)
				if err != nil {
					return nil, err
				}
				if at, ok := first[s.Name]; ok && text != foreign.NotWritten {
					text = "as for " + at
				}
				row = append(row, figure.Word(text))
			}
			if first[s.Name] == "" {
				first[s.Name] = fmt.Sprintf("`%s` on %s", p.Name, task.Name)
			}
			table.Add(row...)
		}
	}
	return table, nil
}

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

// transferBound is the rank correlation that the primary check of the transfer compares with.
const transferBound = 0.5

// commonRate is the learning rate of the comparison at one rate for all.
const commonRate = "1e-3"

// transferVerdict is the primary check in a word, with its reason.
func transferVerdict(i stats.Interval) string {
	figures := fmt.Sprintf("Spearman's ρ is %.2f (95 %% CI %.2f to %.2f)", i.Estimate, i.Low, i.High)
	switch {
	case i.N == 0:
		return "No verdict: two tasks are needed."
	case i.Low > transferBound:
		return fmt.Sprintf("A ranking of settings **transfers between tasks**: %s, which lies above %.1f.", figures, transferBound)
	case i.High < transferBound:
		return fmt.Sprintf("A ranking of settings **does not transfer between tasks**: %s, which lies below %.1f.", figures, transferBound)
	}
	return fmt.Sprintf("Whether a ranking of settings transfers between tasks is **undecided**: %s, and the declared bound is %.1f.", figures, transferBound)
}
