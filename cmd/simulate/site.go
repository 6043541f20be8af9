package main

import (
	"cmp"
	"embed"
	"fmt"
	"html/template"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"driftlab/cmd/simulate/program"
	"driftlab/experiments/study"
	"driftlab/experiments/study/claims/reproduce"
	"driftlab/experiments/study/sources"
	"driftlab/results"
	"driftlab/results/figure"
	"driftlab/results/lab"
	"driftlab/results/published"
	"driftlab/results/record"
	"driftlab/results/stability"
	"driftlab/results/stats"
	"driftlab/trainer/recipe"
	"driftlab/trainer/recipe/foreign"
)

type siteCmd struct {
	Out   string `help:"Folder to write to." default:"site" placeholder:"DIR" complete:"dirs"`
	Quiet bool   `short:"q" help:"No progress messages."`
}

// siteMark stands in every page of the site.
const siteMark = `<nav class="site" aria-label="Site">`

// Run writes the site.
func (c *siteCmd) Run(a *app) error {
	files := stats.Map(siteReports(), func(p results.Report) lab.File { return lab.File{Name: p.Site, Data: p.HTML()} })
	paths := []string{filepath.Join(c.Out, lab.SitePage), filepath.Join(c.Out, lab.DiagnosePage)}
	paths = append(paths, stats.Map(files, func(f lab.File) string { return filepath.Join(c.Out, f.Name) })...)
	if err := ownFiles(paths); err != nil { // before anything is compiled
		return err
	}
	computes, which, err := labParts(a, c.Quiet)
	if err != nil {
		return err
	}
	files = append(files, labFiles(computes, which, lab.SitePage)...)
	if err := writeFiles(c.Out, files); err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "Site: %s, %s\nNext: open it in a browser, or copy the folder to any host of static files.\n", filepath.Join(c.Out, "index.html"), figure.Count(len(files), "file"))
	return nil
}

// siteTexts has what stands on the site in HTML, with its style and script.
//
//go:embed site
var siteTexts embed.FS

// siteTemplates are parsed where the site is written, and not at every start.
var siteTemplates = sync.OnceValue(func() *template.Template {
	plan := func(s stability.Study) *study.Plan { return shippedPlan(stabilityPlans + "/" + s.Name) }
	return template.Must(template.New("").Funcs(template.FuncMap{"notWritten": func() string { return foreign.NotWritten }, "rates": stability.Rates, "plan": plan, "command": cellCommand, "cell": cellOf, "rate": stability.RateName,
		"picture": shownPicture, "prose": func(text string) template.HTML { return results.HTMLOf(results.Prose(text)) }, "table": func(t *figure.Figure) template.HTML { return results.HTMLOf(t) }}).ParseFS(siteTexts, "site/*.html"))
})

// sitePart fills a template of the site, with the style and the script of that name.
func sitePart(name string, data any) results.Part {
	var b strings.Builder
	if err := siteTemplates().ExecuteTemplate(&b, name+".html", data); err != nil {
		panic("site: " + err.Error()) // writing to memory cannot fail, the data has the fields, and the plans are embedded
	}
	style, _ := siteTexts.ReadFile("site/" + name + ".css") // a part may have none
	script, _ := siteTexts.ReadFile("site/" + name + ".js")
	return results.Part{HTML: template.HTML(b.String()), Style: string(style), Script: string(script)}
}

// siteReports are the pages of the site, except for those that compute.
func siteReports() []results.Report {
	m, claims := stability.Published(), reproduce.List("")
	pages := slices.Concat([]results.Report{startReport(m, claims), mapReport(m), correctionsReport(m), methodsReport(), sourcesReport(sources.Coverage()), figuresReport(sources.Figures())},
		frameworkReports(), reproduce.Pages(claims))
	for i := range pages {
		pages[i].Eyebrow = "driftlab"
	}
	return pages
}

// startReport is the first page.
func startReport(m *stability.Map, claims []reproduce.Status) results.Report {
	type shownAnswer struct {
		stability.Answer
		Picture results.Picture // of this problem alone, for a narrow screen
	}
	var answers []shownAnswer
	for _, p := range stability.Problems {
		if a, ok := m.Answer(p.Name); ok {
			answers = append(answers, shownAnswer{a, mapPicture(p.Name, p.Title)})
		}
	}
	return results.Report{Site: "index.html", Title: "When does the mismatch between two engines break training?",
		Lead: "In reinforcement learning of language models, a rollout engine samples and a trainer learns. They share weights and still disagree about the log-probs of the same tokens: the **training-inference mismatch**. " +
			"driftlab trains a tiny mixture-of-experts transformer in two such engines and measures when training collapses, and which correction helps.",
		Facts: []results.Fact{{Name: "claims of papers, with verdicts", Value: fmt.Sprint(len(claims))}, {Name: "methods", Value: fmt.Sprint(len(recipe.Methods()))}, {Name: "frameworks read", Value: fmt.Sprint(len(foreign.Frameworks()))}},
		Sections: []results.Section{{Heading: "Where training is stable", Blocks: []results.Block{mapPicture("picture", "all problems")}}, {Heading: "What to do", Blocks: []results.Block{sitePart("answers", answers)}},
			{Heading: "Where to go", Blocks: []results.Block{sitePart("doors", nil)}}},
	}
}

// problemOf is the number of the first problem that a study answers, the largest number for none.
func problemOf(s stability.Study) uint {
	return uint(slices.IndexFunc(stability.Problems, func(p stability.Problem) bool { return p.Study == s.Name }))
}

// mapReport is the page of the stability map.
func mapReport(m *stability.Map) results.Report {
	studies := slices.Clone(m.Studies) // those that answer a problem come first
	slices.SortStableFunc(studies, func(a, b stability.Study) int { return cmp.Compare(problemOf(a), problemOf(b)) })
	page := results.Report{Site: "map.html", Title: "The stability map", Lead: "Pass rate at the end of training by learning rate, for each stressor and correction. Point at a cell, or move to it with the Tab key, to see its runs, its interval and the command that makes it again.",
		Sections: []results.Section{{Heading: "Cell by cell", Blocks: []results.Block{sitePart("cells", studies)}}}}
	for i := range studies {
		s := results.Section{ID: studies[i].Name, Heading: studies[i].Title}
		for _, t := range study.MapTables(&studies[i]) {
			s.Blocks = append(s.Blocks, t)
		}
		page.Sections = append(page.Sections, s)
	}
	return page
}

// cellCommand is the command that runs an arm of a plan again at a learning rate.
func cellCommand(plan *study.Plan, a stability.Arm, rate float64) string {
	values, only := strings.Split(a.Stressor, ", "), ""
	for _, f := range plan.Factors { // but for the method and the rate they make the stressor
		if f.Name != "method" && f.Name != "rate" {
			only += f.Name + "=" + values[0] + ","
			values = values[1:]
		}
	}
	return "./simulate sweep " + stabilityPlans + "/" + plan.Name + " --only " + record.ShellWord(only+"method="+a.Method+",rate="+stability.RateName(rate))
}

// mapCell is an arm at a learning rate, with the pass rate at the end over its models and how dark the cell is, from 0 to 9.
type mapCell struct {
	stability.Rate
	Mean  stats.Interval
	Shade int
}

// cellOf is the cell of an arm at a learning rate; nil where nothing was run.
func cellOf(a stability.Arm, rate float64) *mapCell {
	r := a.At(rate)
	if r == nil {
		return nil
	}
	mean := stats.T(r.Finals).Within(0, 1)
	return &mapCell{*r, mean, min(int(mean.Estimate*10), 9)}
}

// correctionsReport says which correction to use for which problem, with the lines to paste.
func correctionsReport(m *stability.Map) results.Report {
	page := results.Report{Site: "corrections.html", Title: "Which correction for which problem", Lead: "For each problem what the stability map recommends, and for each correction of the map the lines to paste into the configuration of your framework."}
	for _, p := range stability.Problems {
		answer, ok := m.Answer(p.Name)
		if !ok {
			continue
		}
		t := study.MapTables(m.Study(p.Study))[0]
		t.Title, t.Sortable = "", false
		t.Rows = slices.DeleteFunc(t.Rows, func(row []figure.Cell) bool { return row[0].Text != p.Stressor })
		for _, row := range t.Rows {
			if row[1].Text != answer.None.Method {
				row[1].Link = "#" + row[1].Text
			}
		}
		page.Sections = append(page.Sections, results.Section{ID: p.Name, Heading: p.Title, Blocks: []results.Block{results.Prose(answer.Text), t}})
	}
	for _, n := range printedNames() {
		effects := m.Effects(n.Name)
		if n.Kind != "setting" || len(effects) == 0 {
			continue
		}
		n.fill()
		page.Sections = append(page.Sections, results.Section{ID: n.Name, Heading: n.Name, Blocks: []results.Block{results.Prose("In a recipe of driftlab:"), results.Code(foreign.RecipeLine(n.Recipe)),
			sitePart("paste", n.Frameworks), results.Fold{Summary: "Measured on the stability map", Blocks: []results.Block{results.Code(strings.Join(effects, "\n"))}}}})
	}
	page.Sections = append(page.Sections, results.Section{ID: "frameworks", Heading: "Names and keys by framework", Blocks: []results.Block{sitePart("frameworks", foreign.Registries())}})
	return page
}

// frameworkReports are the pages of all frameworks.
func frameworkReports() (pages []results.Report) {
	for _, r := range foreign.Registries() {
		p := pageOf(r)
		page := results.Report{Site: "framework-" + p.Framework + ".html", Title: p.Framework + " and driftlab", Lead: "What " + p.Framework + " calls its losses, corrections and metrics, what of them is here, and which keys of its configuration are read."}
		for i, t := range p.tables() {
			t.Sortable, t.Title = true, ""
			page.Sections = append(page.Sections, results.Section{Heading: []string{"Names", "Keys of the configuration"}[i], Blocks: []results.Block{t}})
		}
		pages = append(pages, page)
	}
	return pages
}

// methodsReport is the page of all methods.
func methodsReport() results.Report {
	all := recipe.Methods()
	page := results.Report{Site: "methods.html", Title: "Methods", Lead: fmt.Sprintf("%d methods by the field of a recipe that names them, each with its source, formula, gradient, parameters and an example, and with what was measured of it.", len(all))}
	for _, t := range methodTables(all) {
		t.Sortable = true
		s := results.Section{ID: t.Title, Heading: t.Title}
		t.Title = ""
		s.Blocks = append(s.Blocks, t)
		for _, m := range all {
			if m.Field != s.ID {
				continue
			}
			id := m.Field + "-" + m.Name
			row := slices.IndexFunc(t.Rows, func(row []figure.Cell) bool { return row[0].Text == m.Name })
			t.Rows[row][0].Link = "#" + id
			s.Blocks = append(s.Blocks, results.Fold{ID: id, Summary: "**" + m.Name + "** " + m.Does, Blocks: []results.Block{results.Code(methodText(m))}})
		}
		page.Sections = append(page.Sections, s)
	}
	return page
}

// sourcesReport has what became of the features and statements of the texts that the program started from.
func sourcesReport(list []sources.Covered) results.Report {
	page := results.Report{Site: "sources.html", Title: "Sources: features and statements", Lead: "The texts that the program started from: which of their features run here, which of their statements were tested, and what came of each. A row without a command says why."}
	for _, t := range sources.CoverageTables(list) {
		source, topic, _ := strings.Cut(t.Title, ": ")
		if n := len(page.Sections); n == 0 || page.Sections[n-1].Heading != source {
			page.Sections = append(page.Sections, results.Section{Heading: source})
		}
		s := &page.Sections[len(page.Sections)-1]
		t.Title, t.Sortable = topic, true
		t.Columns[1].Filter = true
		s.Blocks = append(s.Blocks, t)
	}
	return page
}

// figuresReport has the figures of the sources next to what is published here.
func figuresReport(list []*sources.Shown) results.Report {
	page := results.Report{Site: "figures.html", Title: "Sources: figures side by side", Lead: "Every figure and table of the texts that the program started from: what it shows, in words and with the values of its text, and what is published here next to it.",
		Sections: []results.Section{{Heading: "All figures"}}}
	emphases := map[string]figure.Emphasis{"same": figure.Good, "weaker": figure.Warn, "proxy": figure.Warn, "opposite": figure.Bad}
	t := &figure.Figure{Kind: figure.Table, Sortable: true, Columns: []figure.Column{{Name: "figure"}, {Name: "source", Filter: true}, {Name: "state", Filter: true}, {Name: "why"}}}
	page.Sections[0].Blocks = []results.Block{t}
	for _, s := range list {
		source, _, _ := strings.Cut(s.Source, ",")
		t.Add(figure.Cell{Text: s.Name, Link: "#" + s.ID}, figure.Word(source), figure.Word(s.State).As(emphases[s.State]), figure.Word(s.Because))
		if page.Sections[len(page.Sections)-1].Heading != s.Source {
			page.Sections = append(page.Sections, results.Section{Heading: s.Source})
		}
		of := &page.Sections[len(page.Sections)-1]
		of.Blocks = append(of.Blocks, sitePart("figures", s))
	}
	return page
}

// shownPicture is a drawing, or the picture of a published claim by its name, in HTML.
func shownPicture(of any) template.HTML {
	if f, ok := of.(figure.Figure); ok {
		return results.HTMLOf(results.Picture{SVG: results.SVG(&f), Alt: f.Title, Note: f.Note})
	}
	id := fmt.Sprint(of)
	return results.HTMLOf(results.Picture{SVG: []byte(published.Claims()[id].Picture), Alt: id})
}

// labParts are what the pages compute with, which is said first where it has to be compiled, and the map of stability.
func labParts(a *app, quiet bool) (computes lab.Program, which results.Part, err error) {
	computes, err = program.Load(a.ctx, func() error {
		if !quiet {
			fmt.Fprintln(a.stderr, "compiling the lab's program to WebAssembly; the first time this takes a minute or two")
		}
		return nil
	})
	if err != nil {
		return computes, which, badInput{err}
	}
	return computes, mapPart(), nil
}
