package table

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"driftlab/results"
	"driftlab/results/figure"
	"driftlab/results/stats"
	"driftlab/trainer/recipe/foreign"
)

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

// SummaryTable counts for each setting the combinations of task and stressor in which it helps and harms.
func (t *Tuned) SummaryTable() *figure.Figure {
	table := &figure.Figure{Kind: figure.Table, Title: "Settings over all tasks and stressors, each at its own learning rate",
		Columns: []figure.Column{{Name: "setting"}, {Name: "group"}, number("mean gain"), number("least"), number("greatest"), number("significantly better in"), number("significantly worse in"), number("can act in")},
		Note:    fmt.Sprintf("Gain: mean pass rate of the whole run minus that of no correction, both at their own learning rates, means over %d base models. Counted are combinations of task and stressor (%d in all). %s", t.Models, t.combinations(), t.testText())}
	for _, a := range t.settings() {
		if a.compared == 0 {
			continue
		}
		table.Add(figure.Word(a.name), figure.Word(a.group), signed(stats.Average(a.gains)), signed(slices.Min(a.gains)), signed(slices.Max(a.gains)), count(a.better), count(a.worse), count(a.compared))
	}
	return table
}

// testText names the test with its unit.
func (t *Tuned) testText() string {
	return fmt.Sprintf("Significance: %s over the settings and stressors of a task; unit: the base model, n = %d.", testName, t.Models)
}

// tables are the settings under each stressor of each task.
func (t *Tuned) tables() (list []*figure.Figure) {
	for i := range t.Tasks {
		task := &t.Tasks[i]
		for j, p := range task.Problems {
			table := &figure.Figure{Kind: figure.Table, Sortable: true, Title: fmt.Sprintf("%s, %s", task.Name, p.Name),
				Columns: []figure.Column{{Name: "setting"}, {Name: "group"}, {Name: "tuned rate"}, {Name: "rates within 0.05"}, number("pass rate"), number("gain"), {Name: "95 % CI"}, number("p"), number("detectable"), number("over 4 minibatches"), {Name: "95 % CI"}},
				Note: fmt.Sprintf("Problem: %s. No correction has its highest pass rate at the learning rate %s: %.2f; the matched control without a stressor %.2f at %s. Tuned rate: the one with the highest mean pass rate of the whole run over %d other base models; * marks the lowest and the highest rate that was tried (%s). "+
					"Rates within 0.05: those around it whose mean there is at most 0.05 lower. ↑ and ↓: significantly better and worse than no correction. %s Detectable: the smallest gain that this test detects with 80 %% power. =: cannot act. Over 4 minibatches: the gain over the control with four minibatches, whose clip acts; reported, not tested.",
					p.Problem, p.Rate, p.Uncorrected, p.Matched, p.MatchedRate, t.TuningModels, strings.Join(t.Rates, ", "), t.testText())}
			for _, s := range byGain(task.Settings, j) {
				table.Add(s.row(j)...)
			}
			list = append(list, table)
		}
	}
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

// row is a setting's line under a stressor.
func (s *TunedSetting) row(problem int) []figure.Cell {
	e := &s.Effects[problem]
	cells := []figure.Cell{figure.Word(s.Name), figure.Word(s.Group)}
	if e.Rate == "" || e.Inactive {
		return append(cells, figure.Word("="))
	}
	rate, within := e.Rate, e.RateLow
	if e.AtEdge {
		rate += " *"
	}
	if e.RateHigh != e.RateLow {
		within += " to " + e.RateHigh
	}
	cells = append(cells, figure.Word(rate), figure.Word(within), hundredths(e.PassRate))
	if s.Name == control {
		return cells
	}
	gain := signed(e.Estimate)
	switch e.Significant() {
	case 1:
		gain.Text = "↑ " + gain.Text
		gain = gain.As(figure.Good)
	case -1:
		gain.Text = "↓ " + gain.Text
		gain = gain.As(figure.Bad)
	}
	over := []figure.Cell{{}, {}}
	if e.OverClipped.N > 1 {
		over = []figure.Cell{signed(e.OverClipped.Estimate), between(e.OverClipped)}
	}
	return append(cells, gain, figure.Word(fmt.Sprintf("%+.2f to %+.2f", e.Low, e.High)), figure.Number(float64(e.P), 2), figure.Number(float64(e.Smallest), 2), over[0], over[1])
}

// sheet is every effect as a file.
func (t *Tuned) sheet() *figure.Figure {
	table := &figure.Figure{Kind: figure.Table}
	for _, name := range []string{"task", "stressor", "method", "group", "same_as", "cannot_act", "rate", "rate_low", "rate_high", "at_edge", "control_rate", "n", "pass_rate", "control_pass_rate", "gain", "gain_low", "gain_high", "p", "detectable", "gain_over_4_minibatches", "over_low", "over_high"} {
		table.Columns = append(table.Columns, figure.Column{Name: name})
	}
	word := func(is bool) figure.Cell {
		if is {
			return figure.Word("yes")
		}
		return figure.Word("no")
	}
	for i := range t.Tasks {
		task := &t.Tasks[i]
		for _, s := range task.Settings {
			for j, e := range s.Effects {
				p := task.Problems[j]
				cells := []figure.Cell{figure.Word(task.Name), figure.Word(p.Name), figure.Word(s.Name), figure.Word(s.Group), figure.Word(s.SameAs), word(e.Inactive), figure.Word(e.Rate), figure.Word(e.RateLow), figure.Word(e.RateHigh), word(e.AtEdge), figure.Word(p.Rate), rounded(float64(t.Models))}
				for _, v := range slices.Concat([]float64{e.PassRate, p.Uncorrected, e.Estimate, e.Low, e.High, float64(e.P), float64(e.Smallest)}, interval(e.OverClipped)) {
					cells = append(cells, rounded(v))
				}
				table.Add(cells...)
			}
		}
	}
	return table
}

// picture shows the gain of every setting under each stressor of each task.
func (t *Tuned) picture() *figure.Figure {
	h := &figure.Figure{Kind: figure.Heat, Title: "Settings at their own learning rates: gain over no correction", Full: 0.4,
		Y:    figure.Axis{Label: "mean pass rate of the whole run minus that of no correction at its own rate; triangle: significantly better (up) or worse (down)"},
		Note: "Settings by their mean gain; an empty cell: the setting cannot act, or is not compared on the task."}
	for i := range t.Tasks {
		for _, p := range t.Tasks[i].Problems {
			h.Labels = append(h.Labels, t.Tasks[i].Name+" "+p.Name)
		}
	}
	for _, a := range t.settings() {
		row := figure.Series{Name: a.name}
		for i := range t.Tasks {
			task := &t.Tasks[i]
			k := slices.IndexFunc(task.Settings, func(s TunedSetting) bool { return s.Name == a.name })
			for j := range task.Problems {
				v, mark := math.NaN(), 0
				if k >= 0 && !task.Settings[k].Effects[j].Inactive {
					v, mark = task.Settings[k].Effects[j].Estimate, task.Settings[k].Effects[j].Significant()
				}
				row.Y, row.Signs = append(row.Y, v), append(row.Signs, mark)
			}
		}
		h.Series = append(h.Series, row)
	}
	return h
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

// File is a file's name and its contents.
type File struct {
	Name string
	Data []byte
}

// Files are the comparison's pages, its figures as CSV and its picture.
func (t *Tuned) Files() ([]File, error) {
	var words bytes.Buffer
	words.WriteString("# Corrections at tuned learning rates\n\nWritten from the sweeps `tune`, `transfer` and `scales`, as far as they are finished. `simulate methods NAME` explains each setting and each stressor.\n\n" + t.summary() + "\n\n")
	if len(t.Tasks) == 0 {
		return []File{{wordsFile, words.Bytes()}}, nil
	}
	lines, err := t.configurationTable()
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(&words, "[%s](%[1]s) says whether the ranking transfers between tasks, base models and learning rates; [%s](%[2]s) has every figure.\n\n", transferFile, sheetFile)
	words.WriteString(lines.Markdown() + "\n" + t.SummaryTable().Markdown())
	for _, table := range t.tables() {
		words.WriteString("\n" + table.Markdown())
	}
	return []File{{wordsFile, words.Bytes()}, {sheetFile, []byte(t.sheet().CSV())}, {transferFile, t.transferPage()}, {transferDrawFile, results.PNG(t.picture(), results.LightPaper)}}, nil
}
