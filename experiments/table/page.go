package table

import (
	"fmt"
	"slices"
	"strings"

	"driftlab/experiments/sweep"
	"driftlab/results"
	"driftlab/results/figure"
	"driftlab/results/stats"
)

// inFront is how many methods of least regret a picture has in addition to those that people ask
// about, shownMethods where none is asked about more than others.
const (
	inFront      = 3
	shownMethods = 30
)

// Picture shows by stressor the methods of least regret, those that people ask about and
// the control, and which of them differ significantly from no correction.
func (r *Ranking) Picture(title string) *figure.Figure {
	h := &figure.Figure{Kind: figure.Heat, Title: title, Labels: r.Stressors, Full: 0.5,
		Y: figure.Axis{Label: "mean pass rate of the whole run minus that of the matched control"}, Note: "Settings with their rank by regret; blue is above the matched control, vermillion below."}
	asked := slices.ContainsFunc(r.Methods, func(m Standing) bool { return m.Asked })
	told := func(m Standing) bool { return slices.ContainsFunc(m.Gain, func(g Gain) bool { return g.sign() != 0 }) }
	if slices.ContainsFunc(r.Methods, told) {
		h.Y.Label += "; triangle: significantly better (up) or worse (down) than no correction"
	}
	leading := shownMethods
	if asked {
		leading = inFront
	}
	for i, m := range r.Methods {
		if i >= leading && !m.Asked && m.Method != control {
			continue
		}
		marks := make([]int, len(r.Stressors))
		for j := range marks {
			marks[j] = m.gain(j).sign()
		}
		h.Series = append(h.Series, figure.Series{Name: fmt.Sprintf("%d  %s", i+1, m.Method), Y: m.AUC, Signs: marks})
	}
	return h
}

// panels are the picture in parts no wider than a page has room for, the levels of a
// stressor together.
func (r *Ranking) panels(title string) (parts []*figure.Figure) {
	const widest = 8
	whole := r.Picture(title)
	from := 0
	for _, own := range r.doses() {
		if first, last := own[0], own[len(own)-1]; from < first && last-from >= widest {
			parts = append(parts, results.MapPart(whole, from, first))
			from = first
		}
	}
	return append(parts, results.MapPart(whole, from, len(r.Stressors)))
}

// Report is the page of the stages that are there.
func (t *Table) Report() results.Report {
	page := results.Report{Title: "Every method on the same stressors", Eyebrow: "simulate table",
		Lead: "Which correction should be switched on? Every registered method runs under the same stressors and is compared, paired by seed, with a matched control: the same run without the stressor. **Settings are ranked by regret**: the distance to the best setting of each stressor."}
	if confirm := t.named("confirm"); confirm != nil && confirm.confirms(t.named("screen")) {
		page.Lead += " `" + CorrectionsFile + "`, next to this page, has the answer by problem, with the lines to copy."
	}
	if t.Tuned != nil {
		section := results.Section{Heading: "At tuned learning rates", Blocks: []results.Block{results.Prose(t.Tuned.summary())}}
		if len(t.Tuned.Tasks) > 0 {
			section.Blocks = append(section.Blocks, t.Tuned.picture(), t.Tuned.SummaryTable())
			for _, table := range t.Tuned.tables() {
				section.Blocks = append(section.Blocks, results.Fold{Summary: table.Title, Blocks: []results.Block{table}})
			}
		}
		page.Sections = append(page.Sections, section)
	}
	var all []Row
	for i := range t.Stages {
		r := &t.Stages[i]
		all = append(all, r.Rows...)
		section := results.Section{Heading: "Stage: " + r.Stage.Name}
		section.Blocks = append(section.Blocks, results.Prose(r.summary()))
		if recommended := r.recommendations(t.named("screen")); recommended != nil {
			section.Blocks = append(section.Blocks, recommended)
		}
		if len(r.Methods) > 0 {
			for _, panel := range r.panels("Methods by regret") {
				section.Blocks = append(section.Blocks, panel)
			}
			section.Blocks = append(section.Blocks,
				results.Fold{Summary: fmt.Sprintf("All %d settings", len(r.Methods)), Blocks: []results.Block{r.StandingTable(0)}})
		}
		if t := sweep.NoEffectTable(r.NoEffects()); t != nil {
			section.Blocks = append(section.Blocks, results.Fold{Summary: "Settings that cannot act, and why", Blocks: []results.Block{t}})
		}
		if r.Again != nil {
			section.Blocks = append(section.Blocks, r.againTable())
		}
		if chosen := Choose(r.Methods); r.Stage.Name == "screen" && len(chosen) > 0 {
			section.Blocks = append(section.Blocks, choiceTable(chosen))
		}
		page.Sections = append(page.Sections, section)
	}
	if len(all) > 0 {
		page.Sections = append(page.Sections, results.Section{Heading: "Every row", Blocks: []results.Block{rowTable(all)}})
	}
	if len(t.Stages) > 0 {
		warned := results.Section{Heading: "Early-warning signals", Blocks: []results.Block{t.Alarms.alarmTable()}}
		if len(t.Alarms.Predictors) > 0 {
			warned.Blocks = append(warned.Blocks, t.Alarms.predictorTable())
		}
		page.Sections = append(page.Sections, warned)
	}
	left := &figure.Figure{Kind: figure.Table, Title: "Left out of the screen", Columns: []figure.Column{{Name: "field"}, {Name: "method"}, {Name: "why"}}}
	for _, u := range Unscreened {
		left.Add(figure.Word(u.Field), figure.Word(u.Method), figure.Word(u.Why))
	}
	page.Sections = append(page.Sections, results.Section{Heading: "Methods left out", Blocks: []results.Block{left}})
	return page
}

// summary says how far a stage has come, and what is seen first.
func (r *Ranking) summary() string {
	list := r.Methods
	runs := map[string]bool{}
	for _, o := range r.Stage.Runs {
		runs[o.Run] = true
	}
	text := fmt.Sprintf("%d of %d cells are finished, from %d runs: equal recipes run once.", len(r.Stage.Runs), r.Stage.Index.Cells(), len(runs))
	if len(list) == 0 {
		return text + " No setting has a run under every stressor yet."
	}
	dominated := 0
	for _, m := range list {
		if m.SameAs == "" && m.DominatedBy != "" {
			dominated++
		}
	}
	text += fmt.Sprintf(" The stage has %d settings, %d of them distinct: the others are published presets with the same bits in every run. %d distinct settings are dominated by another one. Lowest mean regret: `%s` (%.2f).", len(list), r.distinct(), dominated, list[0].Method, list[0].Regret.Estimate)
	for i, m := range list {
		if m.Method == control {
			text += fmt.Sprintf(" No correction has rank %d (%.2f).", i+1, m.Regret.Estimate)
		}
	}
	text += r.significance() + r.idle() + r.Stage.headroom()
	var escaped []string
	for _, own := range byMethod(r.Rows) {
		if escapes(own) {
			escaped = append(escaped, "`"+own[0].Method+"`")
		}
	}
	if len(escaped) > 0 {
		text += " Not ranked: " + strings.Join(escaped, ", ") + ". These settings do not use the advantage, or have no negative ones, so a stressor that trains on negative advantages only does not act on them."
	}
	return text
}

// headroom says from where to where the matched control learns: what is left of it bounds what a
// setting can gain.
func (s *Stage) headroom() string {
	var first, last []float64
	for i := range s.Runs {
		o := &s.Runs[i]
		v := o.Values
		if v[methodColumn] == control && v[againstColumn] == "" && v[learnsColumn] == "" && v[stressorColumn] == matchedStressor && len(o.Evals.Value) > 1 {
			first, last = append(first, float64(o.Evals.Value[0])), append(last, ending(curve(o, o)))
		}
	}
	if len(first) == 0 {
		return ""
	}
	return fmt.Sprintf(" The matched control starts at a pass rate of %.2f and ends at %.2f, so an effect is for the most part learning that a stressor prevents or destroys: avoidance of collapse, not faster learning.", stats.Average(first), stats.Average(last))
}

// choiceTable shows what the screen sends on.
func choiceTable(chosen []Choice) *figure.Figure {
	t := &figure.Figure{Kind: figure.Table, Title: "Selected for the confirmation stage", Columns: []figure.Column{{Name: "group"}, {Name: "best"}, {Name: "worst"}},
		Note: "From each group the settings with the lowest and the highest regret among those that can act; of equal ones the earlier in the plan."}
	for _, c := range chosen {
		t.Add(figure.Word(c.Group), figure.Word(c.Best), figure.Word(c.Worst))
	}
	return t
}
