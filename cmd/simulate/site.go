package main

import (
	"embed"
	"fmt"
	"html/template"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"driftlab/cmd/simulate/program"
	"driftlab/experiments/study"
	"driftlab/experiments/study/claims/reproduce"
	"driftlab/experiments/study/sources"
	"driftlab/results"
	"driftlab/results/figure"
	"driftlab/results/lab"
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
	pages, err := siteReports()
	if err != nil {
		return err
	}
	var files []lab.File
	for i := range pages {
		files = append(files, lab.File{Name: pages[i].Site, Data: pages[i].HTML()})
	}
	if err := ownFiles(c.Out, files); err != nil { // before anything is compiled
		return err
	}
	computes, err := loadProgram(a, c.Quiet)
	if err != nil {
		return err
	}
	rest, err := labFiles(computes, lab.SitePage)
	if err == nil {
		err = ownFiles(c.Out, rest)
	}
	if err == nil {
		err = writeFiles(c.Out, append(files, rest...))
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "Site: %s, %s\nNext: open it in a browser, or copy the folder to any host of static files.\n", filepath.Join(c.Out, "index.html"), figure.Count(len(files)+len(rest), "file"))
	return nil
}

// ownFiles refuses to overwrite what neither the site nor the lab has written.
func ownFiles(dir string, files []lab.File) error {
	for _, f := range files {
		path := filepath.Join(dir, f.Name)
		if info, err := os.Stat(path); filepath.Ext(path) == ".html" && err == nil && (info.IsDir() || !writtenByLab(path)) {
			return bad("%s exists and is not a page of the site: move it away, or give another folder with --out", path)
		}
	}
	return nil
}

// siteTexts has what stands on the site in HTML, with its style and script.
//
//go:embed site
var siteTexts embed.FS

var siteTemplates = template.Must(template.New("").Funcs(template.FuncMap{"notWritten": func() string { return foreign.NotWritten }}).ParseFS(siteTexts, "site/*.html"))

// sitePart fills a template of the site, with the style and the script of that name.
func sitePart(name string, data any) results.Part {
	var b strings.Builder
	if err := siteTemplates.ExecuteTemplate(&b, name+".html", data); err != nil {
		panic("site: " + err.Error()) // writing to memory cannot fail, and the data has the fields
	}
	style, _ := siteTexts.ReadFile("site/" + name + ".css") // a part may have none
	script, _ := siteTexts.ReadFile("site/" + name + ".js")
	return results.Part{HTML: template.HTML(b.String()), Style: string(style), Script: string(script)}
}

// siteReports are the pages of the site, except for those that compute.
func siteReports() ([]results.Report, error) {
	m, err := stability.Published()
	if err != nil {
		return nil, err
	}
	covered, err := sources.Coverage()
	if err != nil {
		return nil, err
	}
	cells, err := mapCells(m)
	if err != nil {
		return nil, err
	}
	corrections, err := correctionsReport(m)
	if err != nil {
		return nil, err
	}
	claims := reproduce.List("")
	published, err := reproduce.Pages(claims)
	if err != nil {
		return nil, err
	}
	pages := slices.Concat([]results.Report{startReport(m, claims), mapReport(m, cells), corrections, methodsReport(), sourcesReport(covered)}, frameworkReports(), published)
	for i := range pages {
		pages[i].Eyebrow = "driftlab"
	}
	return pages, nil
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
	runs := 0
	for _, s := range m.Studies {
		for _, a := range s.Arms {
			for _, r := range a.Rates {
				runs += r.Runs
			}
		}
	}
	return results.Report{Site: "index.html", Title: "When does the mismatch between two engines break training?",
		Lead: "In reinforcement learning of language models, a rollout engine samples and a trainer learns. They share weights and still disagree about the log-probs of the same tokens: the **training-inference mismatch**. " +
			"driftlab trains a tiny mixture-of-experts transformer in two such engines and measures when training collapses, and which correction helps.",
		Facts: []results.Fact{{Name: "runs on the stability map", Value: fmt.Sprint(runs)}, {Name: "claims of papers, with verdicts", Value: fmt.Sprint(len(claims))}, {Name: "methods", Value: fmt.Sprint(len(recipe.Methods()))}, {Name: "frameworks read", Value: fmt.Sprint(len(foreign.Frameworks()))}},
		Sections: []results.Section{{Heading: "Where training is stable", Blocks: []results.Block{mapPicture("picture", "all problems")}}, {Heading: "What to do", Blocks: []results.Block{sitePart("answers", answers)}},
			{Heading: "Where to go", Blocks: []results.Block{sitePart("doors", nil)}}},
	}
}

// mapReport is the page of the stability map.
func mapReport(m *stability.Map, cells []cellTable) results.Report {
	page := results.Report{Site: "map.html", Title: "The stability map", Lead: "Pass rate at the end of training by learning rate, for each stressor and correction. Point at a cell, or move to it with the Tab key, to see its runs, its interval and the command that makes it again.",
		Sections: []results.Section{{Heading: "Cell by cell", Blocks: []results.Block{sitePart("cells", cells)}}}}
	for i := range m.Studies {
		s := results.Section{ID: m.Studies[i].Name, Heading: m.Studies[i].Title}
		for _, t := range study.MapTables(&m.Studies[i]) {
			s.Blocks = append(s.Blocks, t)
		}
		page.Sections = append(page.Sections, s)
	}
	return page
}

// cellTable is a study of the map, an arm a row and a learning rate a column.
type cellTable struct {
	Name, Title string
	Rates       []string
	Rows        []cellRow
}

type cellRow struct {
	Stressor, Method string
	Cells            []mapCell // by rate, empty where nothing was run
}

// mapCell is an arm at a learning rate: what is shown, how dark from 0 to 9, what it says and how it is made again.
type mapCell struct {
	Text, Shade, Says, Command string
}

// mapCells are the tables of all studies.
func mapCells(m *stability.Map) (list []cellTable, err error) {
	for _, s := range m.Studies {
		t := cellTable{Name: s.Name, Title: s.Title}
		var rates []float64
		for _, a := range s.Arms {
			for _, r := range a.Rates {
				rates = append(rates, r.Rate)
			}
		}
		slices.Sort(rates)
		rates = slices.Compact(rates)
		for _, r := range rates {
			t.Rates = append(t.Rates, study.RateName(r))
		}
		factors, err := stressorFactors(s.Name)
		if err != nil {
			return nil, err
		}
		for _, a := range s.Arms {
			row := cellRow{Stressor: a.Stressor, Method: a.Method, Cells: make([]mapCell, len(rates))}
			for _, r := range a.Rates {
				at, _ := slices.BinarySearch(rates, r.Rate) // it is one of them
				row.Cells[at] = cellOf(&a, &r, "./simulate sweep stability/"+s.Name+" --only "+record.ShellWord(only(factors, &a, r.Rate)))
			}
			t.Rows = append(t.Rows, row)
		}
		list = append(list, t)
	}
	return list, nil
}

// stressorFactors are the factors of a study's plan that make its stressors.
func stressorFactors(name string) (names []string, err error) {
	plan, err := readPlan(stabilityPlans + "/" + name)
	if err != nil {
		return nil, err
	}
	for _, f := range plan.Factors {
		if f.Name != "method" {
			names = append(names, f.Name)
		}
	}
	return names, nil
}

// only is the condition of a sweep that an arm at a rate alone meets.
func only(factors []string, a *stability.Arm, rate float64) string {
	words := []string{}
	for i, value := range strings.SplitN(a.Stressor, ", ", len(factors)) {
		words = append(words, factors[i]+"="+value)
	}
	return strings.Join(append(words, "method="+a.Method, "rate="+study.RateName(rate)), ",")
}

func cellOf(a *stability.Arm, r *stability.Rate, command string) mapCell {
	mean := stats.T(r.Finals).Within(0, 1)
	return mapCell{
		Text: fmt.Sprintf("%.2f", mean.Estimate), Shade: fmt.Sprint(min(int(mean.Estimate*10), 9)), Command: command,
		Says: fmt.Sprintf("%s, %s, learning rate %s: %s. Pass rate at the end %.2f (95 %% interval %.2f to %.2f). Within 0.1 of their own best: %d. Collapsed: %d (95 %% interval of the share %.2f to %.2f).",
			a.Stressor, a.Method, study.RateName(r.Rate), figure.Count(r.Runs, "run"), mean.Estimate, mean.Low, mean.High, r.Stable, r.Collapsed, float64(r.CollapsedLow), float64(r.CollapsedHigh)),
	}
}

// correctionsReport says which correction to use for which problem, with the lines to paste.
func correctionsReport(m *stability.Map) (page results.Report, err error) {
	page = results.Report{Site: "corrections.html", Title: "Which correction for which problem", Lead: "For each problem what the stability map recommends, and for each correction of the map the lines to paste into the configuration of your framework."}
	for _, p := range stability.Problems {
		answer, ok := m.Answer(p.Name)
		if !ok {
			continue
		}
		t := &figure.Figure{Kind: figure.Table, Columns: []figure.Column{{Name: "correction"}, {Name: "pass rate at the end"}, {Name: "− no correction"}, {Name: "largest stable rate, × no correction"}, {Name: "base models", Align: figure.Right}},
			Note: "95 % intervals over base models. A correction leads to its lines."}
		for _, a := range m.Study(p.Study).Arms {
			if a.Stressor == p.Stressor {
				name := figure.Word(a.Method).As(figure.Strong)
				if a.GainNone.N > 0 {
					name.Link = "#" + a.Method
				}
				t.Add(name, figure.Word(a.Level.Text(false)), figure.Word(a.GainNone.Text(true)), figure.Word(a.OverNone.Text(stability.FactorText)), figure.Word(fmt.Sprint(a.Level.N)))
			}
		}
		page.Sections = append(page.Sections, results.Section{ID: p.Name, Heading: p.Title, Blocks: []results.Block{results.Prose(answer.Text), t}})
	}
	names, err := printedNames()
	if err != nil {
		return page, err
	}
	for i, n := range names {
		effects := m.Effects(n.Name)
		if n.Kind != "setting" || len(effects) == 0 {
			continue
		}
		if err := names[i].fill(); err != nil {
			return page, err
		}
		page.Sections = append(page.Sections, results.Section{ID: n.Name, Heading: n.Name, Blocks: []results.Block{results.Prose("In a recipe of driftlab:"), results.Code(sources.RecipeLine(n.Recipe)),
			sitePart("paste", names[i].Frameworks), results.Fold{Summary: "Measured on the stability map", Blocks: []results.Block{results.Code(strings.Join(effects, "\n"))}}}})
	}
	t := &figure.Figure{Kind: figure.Table, Columns: []figure.Column{{Name: "framework"}, {Name: "names", Align: figure.Right}, {Name: "keys", Align: figure.Right}}, Note: "Names: losses, advantages, corrections and metrics of the framework, with those here. Keys: those of its configuration that are read."}
	for _, r := range foreign.Registries() {
		p := pageOf(r)
		t.Add(figure.Cell{Text: p.Framework, Emphasis: figure.Strong, Link: frameworkFile(p.Framework)}, figure.Word(fmt.Sprint(len(p.Registry))), figure.Word(fmt.Sprint(len(p.Keys))))
	}
	page.Sections = append(page.Sections, results.Section{ID: "frameworks", Heading: "Names and keys by framework", Blocks: []results.Block{t}})
	return page, nil
}

func frameworkFile(name string) string { return "framework-" + name + ".html" }

// frameworkReports are the pages of all frameworks.
func frameworkReports() (pages []results.Report) {
	for _, r := range foreign.Registries() {
		p := pageOf(r)
		page := results.Report{Site: frameworkFile(p.Framework), Title: p.Framework + " and driftlab", Lead: "What " + p.Framework + " calls its losses, corrections and metrics, what of them is here, and which keys of its configuration are read."}
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

// loadProgram returns what the pages compute with, and says so first where it has to be compiled.
func loadProgram(a *app, quiet bool) (lab.Program, error) {
	computes, err := program.Load(a.ctx, func() error {
		if !quiet {
			fmt.Fprintln(a.stderr, "compiling the lab's program to WebAssembly; the first time this takes a minute or two")
		}
		return nil
	})
	if err != nil {
		return computes, badInput{err}
	}
	return computes, nil
}
