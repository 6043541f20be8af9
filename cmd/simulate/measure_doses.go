package main

import (
	"fmt"
	"path/filepath"

	"driftlab/experiments"
	"driftlab/experiments/measure"
	"driftlab/results"
	"driftlab/trainer/recipe"
)

// doses measures the dose-response of every mechanism.
func (c *measureCmd) doses(a *app, r recipe.Recipe) error {
	for _, f := range []struct {
		flag  string
		given bool
	}{{"--rollout", c.Rollout != ""}, {"--learner", c.Learner != ""}, {"--attribute", c.Attribute}, {"--dump", c.Dump != ""}} {
		if f.given {
			return bad("measure: --doses chooses the engines itself: leave %s out", f.flag)
		}
	}
	q := measure.DoseRequest{Recipe: r, Workers: c.workers()}
	m := a.meter(c.Quiet, "doses", "mechanism", len(measure.Mechanisms()))
	q.Progress = func(int, int) { m.add(1, 0, "") }
	table, err := measure.Doses(a.ctx, q)
	m.close()
	if err != nil {
		return err
	}
	if c.Out != "" {
		if err := c.writeDoses(table); err != nil {
			return err
		}
	}
	if c.JSON {
		return a.printJSON(table)
	}
	a.printTable(experiments.DoseTable(table))
	if c.Out != "" {
		fmt.Fprintf(a.stdout, "Report: %s\n", filepath.Join(c.Out, "report.html"))
	}
	return nil
}

// writeDoses keeps the dose-response in a folder: as data, as tables, as a
// picture and as a page.
func (c *measureCmd) writeDoses(t *measure.DoseTable) error {
	text, err := jsonText(t)
	if err != nil {
		return err
	}
	if err := writeFile(c.Out, "doses.json", text); err != nil {
		return err
	}
	tables := experiments.DoseTable(t).Markdown() + "\n" + experiments.DoseReading(t).Markdown()
	if err := writeFile(c.Out, "doses.md", []byte(tables)); err != nil {
		return err
	}
	bars := experiments.DoseBars(t)
	if err := results.SavePlot(filepath.Join(c.Out, "doses.png"), bars); err != nil {
		return err
	}
	return results.WriteReport(filepath.Join(c.Out, "report.html"), results.Report{
		Title: "Ways for two engines to disagree", Eyebrow: dosesPage,
		Lead: fmt.Sprintf("Each mechanism by itself, on responses of `%s` to the task `%s`, at equal weights.", t.Checkpoint, t.Task),
		Sections: []results.Section{{Heading: "Dose and response", Blocks: []results.Block{
			bars, experiments.DoseTable(t), experiments.DoseReading(t),
		}}},
	})
}
