package main

import (
	"cmp"
	"fmt"
	"path/filepath"

	"driftlab/experiments/sweep"
	"driftlab/results"
	"driftlab/results/columnar"
)

// tableFlags are those of the commands that write a sweep's tables.
type tableFlags struct {
	Steps bool `default:"true" negatable:"" help:"Write steps.csv and steps.parquet, which are large."`
}

// tables are the choices of the flags.
func (f tableFlags) tables(dir string) sweep.Tables {
	return sweep.Tables{Dir: dir, Steps: f.Steps, Parquet: columnar.New}
}

type sweepMergeCmd struct {
	Dirs []string `arg:"" complete:"dirs" help:"The folders of parts, or one that holds them all."`
	tableFlags
	outFlag
	jsonFlag
}

// Help is the long help text.
func (*sweepMergeCmd) Help() string {
	return `Puts parts of one sweep together in --out, by default the first folder. What comes out has the bytes of a sweep that was
run whole, whatever was run where. A run that is missing, or that ended in two ways, is said.

Examples:
  simulate sweep merge runs/screen
  simulate sweep merge here there --out whole`
}

// Run merges.
func (c *sweepMergeCmd) Run(a *app) error {
	parts, err := sweep.Parts(c.Dirs)
	if err != nil {
		return err
	}
	out := cmp.Or(c.Out, c.Dirs[0])
	if err := ownPage(out, sweepPage); err != nil {
		return err
	}
	if err := sweep.Merge(parts, out, c.tables("")); err != nil {
		return err
	}
	return a.showSweep(out, out, c.JSON)
}

type sweepReportCmd struct {
	Dir string `arg:"" complete:"dirs" help:"A sweep's folder."`
	tableFlags
	outFlag
	jsonFlag
}

// Help is the long help text.
func (*sweepReportCmd) Help() string {
	return `Writes the tables, the pictures and the page of what a sweep has come to so far, also while it runs.

Example:
  simulate sweep report runs/screen --out look --no-steps`
}

// Run reports.
func (c *sweepReportCmd) Run(a *app) error {
	out := cmp.Or(c.Out, c.Dir)
	if err := ownPage(out, sweepPage); err != nil {
		return err
	}
	if err := sweep.WriteTables(c.Dir, c.tables(out)); err != nil {
		return err
	}
	return a.showSweep(c.Dir, out, c.JSON)
}

// sweepDone is the document of sweep --json.
type sweepDone struct {
	Dir    string          `json:"dir"`
	Report string          `json:"report"`
	Plots  []string        `json:"plots"`
	Cells  int             `json:"cells"`
	Rows   []sweep.Outcome `json:"rows"`
}

// showSweep writes the page and the pictures of a sweep's folder into out, where its
// tables are, and prints the points.
func (a *app) showSweep(dir, out string, asJSON bool) error {
	report, pictures, err := sweep.Report(dir)
	if err != nil {
		return err
	}
	missing, err := sweep.Missing(dir)
	if err != nil {
		return err
	}
	if missing != "" {
		fmt.Fprintf(a.stderr, "simulate: note: %s\n", missing)
	}
	doc := sweepDone{Dir: dir, Report: filepath.Join(out, "report.html"), Plots: []string{}}
	if err := results.WriteReport(doc.Report, report); err != nil {
		return err
	}
	for _, p := range pictures {
		path := filepath.Join(out, "plots", p.Name+".svg")
		if err := results.SavePlot(path, p.Figure); err != nil {
			return err
		}
		doc.Plots = append(doc.Plots, path)
	}
	if asJSON {
		if doc.Rows, err = sweep.Rows(dir); err != nil {
			return err
		}
		doc.Cells = len(doc.Rows)
		return a.printJSON(doc)
	}
	a.printOutcome(report)
	fmt.Fprintf(a.stdout, "Table: %s\nReport: %s\n", filepath.Join(out, "runs.csv"), doc.Report)
	return nil
}
