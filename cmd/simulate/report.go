package main

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"

	"driftlab/results"
	"driftlab/results/figure"
	"driftlab/results/record"
	"driftlab/trainer/method/metrics"
)

type reportCmd struct {
	Dir string `arg:"" complete:"dirs" help:"A run, or a folder with runs at any depth."`
	jsonFlag
	outFlag
}

// Help is the long help text.
func (*reportCmd) Help() string {
	return `Turns runs into one HTML page that needs no network, and the telling charts into SVG files. Runs of one recipe
are one line with its seeds as a band; unfinished runs are shown as far as they are.

Examples:
  simulate report runs
  simulate report runs/default-seed1-3f2a9c01 --out ./look`
}

// reported is the document of report --json.
type reported struct {
	Report string      `json:"report"`
	Plots  []string    `json:"plots"`
	Metric string      `json:"metric"`
	Arms   []armResult `json:"arms"`
}

// plotted are the metrics that also become files of their own.
var plotted = []string{"val/learner/pass_rate", "val/rollout/pass_rate", "critic/score/mean", "gap/k3", "routes/flip_token", "actor/entropy", "response_length/mean"}

// Run writes the report.
func (c *reportCmd) Run(a *app) error {
	records, err := record.LoadAll(c.Dir)
	if err != nil {
		return err
	}
	out := cmp.Or(c.Out, c.Dir)
	if err := ownPage(out, runsPage); err != nil {
		return err
	}
	report := results.FromRuns(records, glossary(records)...)
	doc := reported{Report: filepath.Join(out, "report.html"), Metric: results.JudgedBy(records)}
	doc.Arms = armsOf(results.Group(records), doc.Metric)
	if doc.Plots, err = writeReport(doc.Report, report, records); err != nil {
		return err
	}
	if c.JSON {
		return a.printJSON(doc)
	}
	a.printOutcome(report)
	fmt.Fprintf(a.stdout, "Report: %s\n", doc.Report)
	return nil
}

// writeReport writes the page and, beside it, the plots.
func writeReport(path string, report results.Report, records []*record.Record) (plots []string, err error) {
	if err := results.WriteReport(path, report); err != nil {
		return nil, err
	}
	groups := results.Group(records)
	clocks, err := writeClocks(filepath.Join(filepath.Dir(path), "plots"), groups, records)
	if err != nil {
		return nil, err
	}
	plots = []string{}
	for _, metric := range plotted {
		chart := results.ChartOf(groups, metric, glossary(records))
		if len(chart.Series) == 0 {
			continue
		}
		file := filepath.Join(filepath.Dir(path), "plots", strings.ReplaceAll(metric, "/", "-")+".svg")
		if err := results.SavePlot(file, &chart); err != nil {
			return nil, err
		}
		plots = append(plots, file)
	}
	if chart := results.PassAtKOf(groups); len(chart.Series) > 0 {
		file := filepath.Join(filepath.Dir(path), "plots", "pass-at-k.svg")
		if err := results.SavePlot(file, &chart); err != nil {
			return nil, err
		}
		plots = append(plots, file)
	}
	return append(plots, clocks...), nil
}

// writeClocks writes what the virtual clock of an asynchronous schedule shows:
// reward over virtual time and, of a single run, the timeline and its lags.
func writeClocks(dir string, groups []results.RunGroup, records []*record.Record) (plots []string, err error) {
	save := func(name string, f *figure.Figure) {
		file := filepath.Join(dir, name+".svg")
		if err == nil {
			err = results.SavePlot(file, f)
			plots = append(plots, file)
		}
	}
	for _, metric := range []string{"val/learner/pass_rate", "critic/score/mean"} {
		if chart := results.TimeChartOf(groups, metric, glossary(records)); len(chart.Series) > 0 {
			save(strings.ReplaceAll(metric, "/", "-")+"-time", &chart)
		}
	}
	if len(records) == 1 && records[0].Clock != nil {
		save("timeline", results.TimelineOf(records[0].Clock))
		save("lags", results.LagsOf(records[0].Clock))
	}
	return plots, err
}

// printOutcome prints the tables of a report's first section.
func (a *app) printOutcome(r results.Report) {
	for _, b := range r.Sections[0].Blocks {
		if t, ok := b.(*figure.Figure); ok && t.Kind == figure.Table {
			a.printTable(t)
		}
	}
}

// glossary explains the metrics that the records hold.
func glossary(records []*record.Record) []results.Term {
	var terms []results.Term
	seen := map[string]bool{}
	for _, r := range records {
		for _, c := range r.Columns {
			if seen[c.Name] {
				continue
			}
			seen[c.Name] = true
			if t, ok := metrics.Lookup(c.Name); ok {
				terms = append(terms, results.Term(t))
			}
		}
	}
	return terms
}
