package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"

	"driftlab/experiments/sweep"
	"driftlab/experiments/table"
	"driftlab/results"
	"driftlab/results/record"
)

type tableCmd struct {
	Dir  string `arg:"" complete:"dirs" help:"A folder that contains folders of sweeps: any of tune, transfer, screen, confirm, models, doses, quick."`
	Draw bool   `help:"Print the command that repeats ten random rows of each stage on new seeds; table then compares both results."`
	jsonFlag
	outFlag
}

func (*tableCmd) Help() string {
	return `Makes the table of methods from the runs of the sweeps tune, transfer, screen, confirm, models and doses, finished or not. It writes the
effect of each setting under each stressor as CSV, a ranking by regret, a plot, and a page to sort and search. It also
writes the early-warning signals with their detection and false-alarm rates. Once the confirmation stage is whole, corrections.html answers which
correction to use: by problem, with effects, intervals and the lines to copy.

Examples:
  simulate sweep quick --out runs/table/quick
  simulate table runs/table
  simulate table runs/table --draw`
}

// tabled is the document of table --json.
type tabled struct {
	Report string `json:"report"`
	Sheet  string `json:"sheet"`
	// Corrections is the page that answers which correction to use; empty while there is none.
	Corrections string       `json:"corrections,omitempty"`
	Alarms      table.Alarms `json:"alarms"`
	// Tuned compares settings at their own learning rates; absent without a tuning stage.
	Tuned  *table.Tuned  `json:"tuned,omitempty"`
	Stages []tabledStage `json:"stages"`
}

// tabledStage is how far a stage has come, and its ranking.
type tabledStage struct {
	Name      string           `json:"name"`
	Runs      int              `json:"runs"`
	Stressors []string         `json:"stressors"`
	Methods   []table.Standing `json:"methods"`
}

// Run writes the table.
func (c *tableCmd) Run(a *app) error {
	stages, err := stagesIn(c.Dir)
	if err != nil {
		return err
	}
	if c.Draw {
		for i := range stages {
			if stages[i].HasTasks() {
				continue
			}
			fmt.Fprintln(a.stdout, stages[i].AgainCommand(c.Dir, table.Draw(stages[i].Rows())))
		}
		return nil
	}
	out := cmp.Or(c.Out, c.Dir)
	if err := ownPage(out, "simulate table"); err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o777); err != nil {
		return err
	}
	for _, s := range stages {
		if s.Missing != "" {
			fmt.Fprintf(a.stderr, "simulate: note: %s: %s\n", s.Name, s.Missing)
		}
	}
	whole := table.Measure(stages)
	files, err := whole.Files()
	if err != nil {
		return err
	}
	corrections := ""
	for _, f := range files {
		if err := record.WriteFile(out, f.Name, f.Data); err != nil {
			return err
		}
		if f.Name == table.CorrectionsFile {
			corrections = filepath.Join(out, f.Name)
		}
	}
	doc := tabled{Report: filepath.Join(out, "report.html"), Sheet: filepath.Join(out, table.SheetFile), Corrections: corrections, Alarms: whole.Alarms, Tuned: whole.Tuned, Stages: []tabledStage{}}
	for _, r := range whole.Stages {
		doc.Stages = append(doc.Stages, tabledStage{r.Stage.Name, len(r.Stage.Runs), r.Stressors, r.Methods})
	}
	if err := results.WriteReport(doc.Report, whole.Report()); err != nil {
		return err
	}
	if c.JSON {
		return a.printJSON(doc)
	}
	if whole.Tuned != nil && len(whole.Tuned.Tasks) > 0 {
		a.printTable(whole.Tuned.SummaryTable())
	}
	for _, r := range whole.Stages {
		a.warnNoEffect(false, "the page has all of them", r.NoEffects())
		const shown = 20
		t := r.StandingTable(shown)
		t.Title = fmt.Sprintf("%s: the first %d of %d settings by regret, from %d cells", r.Stage.Name, min(shown, len(r.Methods)), len(r.Methods), len(r.Stage.Runs))
		a.printTable(t)
	}
	fmt.Fprintf(a.stdout, "Report: %s\nTable: %s\n", doc.Report, doc.Sheet)
	if corrections != "" {
		fmt.Fprintf(a.stdout, "Which correction: %s\n", corrections)
	}
	return nil
}

// stagesIn reads the sweeps of a folder that have a name of the table's.
func stagesIn(dir string) ([]table.Stage, error) {
	var stages []table.Stage
	for _, name := range table.Names() {
		s, err := stageIn(dir, name, name)
		if err == nil && s != nil {
			s.Again, err = stageIn(dir, name, name+table.AgainFolder)
		}
		if err != nil {
			return nil, err
		}
		if s != nil {
			stages = append(stages, *s)
		}
	}
	if len(stages) == 0 {
		return nil, &record.FolderError{Path: dir, Problem: "no sweep of the table of methods in this folder", Fix: "make one: simulate sweep quick --out " + filepath.Join(dir, "quick")}
	}
	return stages, nil
}

// stageIn reads a sweep of a folder; nil if it is not there.
func stageIn(dir, name, folder string) (*table.Stage, error) {
	folder = filepath.Join(dir, folder)
	if _, err := os.Stat(filepath.Join(folder, sweep.IndexFile)); err != nil {
		return nil, nil
	}
	done, err := sweep.Read(folder)
	if err != nil {
		return nil, err
	}
	return &table.Stage{Name: name, Index: done.Index, Runs: done.Rows, Missing: done.Missing()}, nil
}
