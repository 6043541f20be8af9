package study

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"driftlab/results"
	"driftlab/results/figure"
	"driftlab/results/record"
	"driftlab/results/stats"
)

// Picture is a figure with the name of its file and the forms that it is written in.
type Picture struct {
	Name    string
	Figure  *figure.Figure
	Endings []string
}

// What a page shows of a large sweep; the files have it all.
const (
	mostLines  = 14
	mostPoints = 400
	mostReruns = 60
)

// view is a sweep as a page shows it.
type view struct {
	*Folder
	pictures []Picture
}

// metric is what the runs are judged by.
func (d *Folder) metric() string {
	for _, o := range d.Rows {
		if o.Metric != "" {
			return o.Metric
		}
	}
	return ""
}

// BestTables rank the values of each factor, with at most the given number of rows each.
func (d *Folder) BestTables(most int) (list []*figure.Figure) {
	for _, f := range d.Factors {
		if t := comparisonTable(d.compared(), f.Name, len(d.Seeds), d.metric(), most); t != nil {
			list = append(list, t)
		}
	}
	return list
}

// Report shows the sweep of a folder, as far as it has come: the values ranked, the points
// in a table, a section for each factor, which keeps its colours, and a map for each two.
// Where the folders of runs were kept, their metrics follow, explained by the glossary. The pictures are the page's.
func (d *Folder) Report(kept []results.RunGroup, glossary []results.Term) (results.Report, []Picture) {
	v := &view{Folder: d}
	x := d.Index
	r := results.Report{Title: x.title(), Glossary: glossary,
		Facts: []results.Fact{{Name: "factors", Value: fmt.Sprint(len(v.Factors))}, {Name: "points", Value: fmt.Sprint(len(v.Arms))}, {Name: "seeds", Value: fmt.Sprint(len(v.Seeds))},
			{Name: "runs", Value: fmt.Sprint(v.Runs())}, {Name: "cells finished", Value: fmt.Sprintf("%d of %d", len(v.Rows), v.Cells())}}}
	if s := d.Limits(); s == nil {
		r.Lead = sentences(d.Best(), v.better(), v.lead(), d.Missing())
	} else {
		r.Lead, r.Sections = sentences(fmt.Sprintf("%d runs.", len(d.Rows)), limitsFinding(s, d.Ladder != nil), d.Missing()), v.limitSections(s)
		if d.Ladder != nil {
			return r, v.pictures
		}
	}
	add := func(heading string, tables ...*figure.Figure) {
		s := results.Section{Heading: heading}
		for _, t := range tables {
			if t != nil {
				s.Blocks = append(s.Blocks, t)
			}
		}
		if len(s.Blocks) > 0 {
			r.Sections = append(r.Sections, s)
		}
	}
	add("Which is best", d.BestTables(mostPoints)...)
	add("Every point", d.PointTable(mostPoints))
	add("Parts without effect", NoEffectTable(v.NoEffects()))
	for i, f := range x.Factors {
		if len(f.Values) > 1 {
			r.Sections = append(r.Sections, v.factor(i, f))
		}
	}
	add("Two factors at a time", v.maps()...)
	if len(kept) > 0 {
		r.Sections = append(r.Sections, results.FromGroups(kept, glossary...).Sections[1:]...) // the first has what the study's tables have
	}
	for _, p := range x.Arms[:min(len(x.Arms), mostReruns)] {
		lines := stats.Map(x.Seeds[:len(p.Keys)], p.command)
		r.Reruns = append(r.Reruns, results.Rerun{Name: v.armName(&p), Command: strings.Join(lines, "\n")})
	}
	return r, v.pictures
}

// sentences are those that are not empty.
func sentences(list ...string) string {
	return strings.Join(slices.DeleteFunc(list, func(s string) bool { return s == "" }), " ")
}

// Finding says in a sentence or two what the study found; empty where it compares nothing.
func (d *Folder) Finding() string {
	s := d.Limits()
	if s == nil {
		return d.Best()
	}
	return limitsFinding(s, d.Ladder != nil)
}

// Tables are what a reader needs first: the limits of a ladder, a map of rates, or the values ranked and the points, with at most the given number of rows each.
func (d *Folder) Tables(most int) []*figure.Figure {
	s := d.Limits()
	switch {
	case s == nil:
		return append(d.BestTables(most), d.PointTable(most))
	case d.Ladder == nil:
		return []*figure.Figure{rateTable(s)}
	}
	return []*figure.Figure{limitTable(s)}
}

// title is the plan's, or names the sweep and what it varies.
func (x *Index) title() string {
	if x.Title != "" {
		return x.Title
	}
	varied := slices.DeleteFunc(slices.Clone(x.Factors), func(f IndexFactor) bool { return len(f.Values) < 2 })
	if len(varied) == 0 {
		return "Sweep " + x.Name
	}
	return "Sweep " + x.Name + ": " + strings.Join(stats.Map(varied, func(f IndexFactor) string { return f.Name }), " × ")
}

func (v *view) lead() string {
	collapsed := 0
	for _, o := range v.Rows {
		if o.Verdict.IsCollapse() {
			collapsed++
		}
	}
	text := fmt.Sprintf("%d of %d cells, judged by `%s`: %d collapsed.", len(v.Rows), v.Cells(), v.metric(), collapsed)
	if len(v.Arms) > mostPoints || len(v.Arms) > mostReruns {
		text += " The page shows the first of what is long; `runs.csv` has every cell with the command that makes it alone."
	}
	without := map[string]bool{}
	for _, o := range v.Rows {
		if cell, err := v.store.Cell(o.Run); err == nil && cell.Curve == nil {
			without[o.Run] = true
		}
	}
	if len(without) > 0 {
		text += fmt.Sprintf(" The steps of %d runs are not here: the table of steps is without them.", len(without))
	}
	return text
}

// figures are the columns that tables show of a set of outcomes.
var figures = []struct {
	name string
	of   func(o *Outcome) record.Number
}{
	{"final", func(o *Outcome) record.Number { return o.Final }},
	{"mean", func(o *Outcome) record.Number { return o.Mean }},
	{"peak", func(o *Outcome) record.Number { return o.Peak }},
	{"drawdown", func(o *Outcome) record.Number { return o.Drawdown }},
	{"ESS", func(o *Outcome) record.Number { return o.known("gap/ess_sequence") }},
	{"masked", func(o *Outcome) record.Number { return o.known("correction/masked_fraction") }},
}

// known is the mean of a metric, NaN where it was not measured.
func (o *Outcome) known(name string) record.Number {
	if v, ok := o.Means[name]; ok {
		return v
	}
	return record.Number(math.NaN())
}

// row are the cells of a table for a set of outcomes.
func row(list []*Row) []figure.Cell {
	verdicts := stats.Map(list, func(o *Row) record.Verdict { return o.Verdict })
	cells := []figure.Cell{{Text: strconv.Itoa(len(list)), Value: float64(len(list)), Numeric: true}, results.Verdict(verdicts)}
	for _, f := range figures {
		if v := average(list, f.of); !math.IsNaN(v) {
			cells = append(cells, figure.Number(v, 3))
		} else {
			cells = append(cells, figure.Cell{})
		}
	}
	return cells
}

// average is over the outcomes that have the figure, NaN if none has.
func average(list []*Row, of func(*Outcome) record.Number) float64 {
	var values []float64
	for _, o := range list {
		if v := float64(of(&o.Outcome)); !math.IsNaN(v) {
			values = append(values, v)
		}
	}
	return stats.Average(values)
}

// table has a head of its own columns and those of row.
func table(title, note string, heads ...string) *figure.Figure {
	t := &figure.Figure{Kind: figure.Table, Title: title, Note: note}
	for _, h := range heads {
		t.Columns = append(t.Columns, figure.Column{Name: h})
	}
	t.Columns = append(t.Columns, figure.Column{Name: "cells", Align: figure.Right}, figure.Column{Name: "verdict"})
	for _, f := range figures {
		t.Columns = append(t.Columns, figure.Column{Name: f.name, Align: figure.Right})
	}
	return t
}

// having are the outcomes of the cells with those values.
func (d *Folder) having(values map[string]string) (list []*Row) {
	for i := range d.Rows {
		o := &d.Rows[i]
		meets := true
		for name, want := range values {
			meets = meets && o.Values[name] == want
		}
		if meets {
			list = append(list, o)
		}
	}
	return list
}

// PointTable shows the first points that have runs, at most the given number.
func (d *Folder) PointTable(most int) *figure.Figure {
	note := fmt.Sprintf("Means over seeds. Final is the mean of the last %d evaluations, mean that of all after the start (the area under the curve), drawdown the furthest below an earlier such mean. %s", record.Window, record.CollapseRule())
	t := table("Every point, means over its seeds", note, d.columns()...)
	marks := d.marks()
	if len(marks) > 0 {
		t.Columns = append(t.Columns, figure.Column{Name: "no effect"}, figure.Column{Name: "same as"})
		t.Note += " Cannot act: parts of the recipe without any effect there. Same as: all runs of the point were trained like those of that point, to the last bit; what parts their recipes did nothing, and the two are one result."
	}
	points := 0
	for i, p := range d.Arms {
		list := d.having(p.Values)
		if len(list) > 0 {
			points++
		}
		if len(list) == 0 || points > most {
			continue
		}
		cells := stats.Map(d.columns(), func(name string) figure.Cell { return figure.Word(p.Values[name]) })
		cells = append(cells, row(list)...)
		if len(marks) > 0 {
			cells = append(cells, figure.Word(marks[i][0]), figure.Word(marks[i][1]))
		}
		t.Add(cells...)
	}
	if points > most {
		t.Note += fmt.Sprintf(" The table shows the first %d of %d points; `%s.csv` has every run.", most, points, runsTable)
	}
	return t
}

// factor is the section of one factor: its values compared, whatever the
// others are, over the steps and, where they are numbers, by value.
func (v *view) factor(i int, f IndexFactor) results.Section {
	s := results.Section{Heading: "By " + f.Name}
	if len(f.Values) <= mostLines {
		main := v.lines(f, v.metric(), "", func(o *Outcome) (x, y []float64) {
			for k, step := range o.Evals.Step {
				x, y = append(x, float64(step)), append(y, float64(o.Evals.Value[k]))
			}
			return x, y
		})
		main.Y.High = 1
		main.Note = "Each line is a value of the factor, its seeds are means over all points with that value."
		v.pictures = append(v.pictures, Picture{"by-" + fileName(f.Name), &main, []string{".svg"}})
		s.Blocks = append(s.Blocks, &main)
		var more results.Charts
		for _, name := range []string{"gap/k3", "gap/ess_sequence", "actor/entropy", "response_length/mean"} {
			more = append(more, v.lines(f, name, fmt.Sprintf("means of %d steps", windowSteps), func(o *Outcome) (x, y []float64) {
				for k, value := range o.Windows.Values[name] { // at the middles of the windows
					x, y = append(x, float64((k+1)*o.Windows.Every)-float64(float64(o.Windows.Every)/2)), append(y, float64(value))
				}
				return x, y
			}))
		}
		s.Blocks = append(s.Blocks, more)
	}
	t := table(f.Name+": means over all its cells", "", f.Name)
	for _, value := range f.Values {
		t.Add(append([]figure.Cell{figure.Word(value)}, row(v.having(map[string]string{f.Name: value}))...)...)
	}
	s.Blocks = append(s.Blocks, t)
	if c := v.doses(i, f); c != nil {
		v.pictures = append(v.pictures, Picture{"dose-" + fileName(f.Name), c, []string{".svg"}})
		s.Blocks = append(s.Blocks, c)
	}
	return s
}

// notInNames are the characters that no file's name has.
var notInNames = regexp.MustCompile(`[^a-zA-Z0-9_.-]`)

// fileName is a factor's name as part of a file's.
func fileName(name string) string { return notInNames.ReplaceAllString(name, "-") }
