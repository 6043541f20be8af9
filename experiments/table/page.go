package table

import (
	"fmt"
	"slices"
	"strings"

	"driftlab/results"
)

// shownMethods is how many methods a picture has where none is asked about more than others.
const shownMethods = 30

// Picture shows by stressor the methods that people ask about, or else those of least
// regret and the control, and which of them are told from none.
func Picture(list []Standing, stressors []string, title string) *results.Heat {
	h := &results.Heat{Title: title, Note: "mean pass rate of the whole run minus that of the matched run", Columns: stressors, Full: 0.5}
	asked := slices.ContainsFunc(list, func(m Standing) bool { return m.Asked })
	told := func(m Standing) bool { return slices.ContainsFunc(m.Gain, func(g Gain) bool { return g.sign() != 0 }) }
	if slices.ContainsFunc(list, told) {
		h.Note += "; a triangle: told better (up) or worse (down) than none"
	}
	for i, m := range list {
		if asked && !m.Asked || !asked && i >= shownMethods && m.Method != control {
			continue
		}
		marks := make([]int, len(stressors))
		for j := range stressors {
			marks[j] = m.gain(j).sign()
		}
		h.Rows = append(h.Rows, fmt.Sprintf("%d  %s", i+1, m.Method))
		h.Value = append(h.Value, m.AUC)
		h.Mark = append(h.Mark, marks)
	}
	return h
}

// Report is the page of the stages that are there.
func Report(stages []Stage, alarms Alarms) results.Report {
	r := results.Report{Title: "Every method on the same stressors", Eyebrow: "simulate table",
		Lead: "Which correction should one switch on? Every registered method runs on the same stressors, and is compared, seed by seed, with the run that has the same way of learning and no stress. **Rank by regret**: how far below the best method of each stressor it lies."}
	var all []Row
	for i := range stages {
		s := &stages[i]
		rows := s.Rows()
		all = append(all, rows...)
		stressors := Stressors(rows)
		list := s.Standings(rows)
		section := results.Section{Heading: "Stage: " + s.Name}
		section.Blocks = append(section.Blocks, results.Prose(s.summary(rows, list)))
		if t := s.answers(list, stressors, named(stages, "screen")); t != nil {
			section.Blocks = append(section.Blocks, t)
		}
		if len(list) > 0 {
			section.Blocks = append(section.Blocks,
				results.Drawing{Figure: Picture(list, stressors, "Methods by regret"), Caption: "Methods with their ranks by regret; blue is above the matched run, vermillion below."},
				results.Fold{Summary: fmt.Sprintf("All %d methods", len(list)), Blocks: []results.Block{StandingTable(list, stressors, 0)}})
		}
		if s.Again != nil {
			section.Blocks = append(section.Blocks, s.againTable(rows))
		}
		if chosen := Choose(list); s.Name == "screen" && len(chosen) > 0 {
			section.Blocks = append(section.Blocks, choiceTable(chosen))
		}
		r.Sections = append(r.Sections, section)
	}
	if len(all) > 0 {
		r.Sections = append(r.Sections, results.Section{Heading: "Every row", Blocks: []results.Block{RowTable(all)}})
	}
	warned := results.Section{Heading: "What warns", Blocks: []results.Block{alarms.AlarmTable()}}
	if len(alarms.Predictors) > 0 {
		warned.Blocks = append(warned.Blocks, alarms.PredictorTable())
	}
	r.Sections = append(r.Sections, warned)
	left := &results.Table{Title: "Left out of the screen", Columns: []results.TableColumn{{Name: "field"}, {Name: "method"}, {Name: "why"}}}
	for _, u := range Unscreened {
		left.Add(results.Word(u.Field), results.Word(u.Method), results.Word(u.Why))
	}
	r.Sections = append(r.Sections, results.Section{Heading: "What is not there", Blocks: []results.Block{left}})
	return r
}

// summary says how far a stage has come, and what is seen first.
func (s *Stage) summary(rows []Row, list []Standing) string {
	text := fmt.Sprintf("%d of %d runs are there.", len(s.Runs), s.Index.Cells())
	if len(list) == 0 {
		return text + " No method has a run under every stressor yet."
	}
	dominated := 0
	for _, m := range list {
		if m.DominatedBy != "" {
			dominated++
		}
	}
	text += fmt.Sprintf(" Of %d methods %d are dominated by another. Least regret: `%s` (%.2f).", len(list), dominated, list[0].Method, list[0].Regret.Estimate)
	for i, m := range list {
		if m.Method == control {
			text += fmt.Sprintf(" No method at all stands at rank %d (%.2f).", i+1, m.Regret.Estimate)
		}
	}
	text += s.told(list)
	var escaped []string
	for _, own := range byMethod(rows) {
		if escapes(own) {
			escaped = append(escaped, "`"+own[0].Method+"`")
		}
	}
	if len(escaped) > 0 {
		text += " Without a rank: " + strings.Join(escaped, ", ") + ". What they learn from is not the advantage, or has no negatives: where a stressor learns from negatives alone, they escape it."
	}
	return text
}

// choiceTable shows what the screen sends on.
func choiceTable(chosen []Choice) *results.Table {
	t := &results.Table{Title: "Sent on to the confirmation", Columns: []results.TableColumn{{Name: "group"}, {Name: "best"}, {Name: "worst"}},
		Note: "Of each group the method of least and of greatest regret among those that acted; the earlier in the plan of equal ones."}
	for _, c := range chosen {
		t.Add(results.Word(c.Group), results.Word(c.Best), results.Word(c.Worst))
	}
	return t
}
