package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"driftlab/experiments"
	"driftlab/results"
	"driftlab/trainer"
)

type measureCmd struct {
	Recipe     string `arg:"" optional:"" default:"default" help:"Recipe that gives checkpoint, task and sampling."`
	Rollout    string `help:"Numerics of the engine that samples: a preset, or {base: bf16, head: fp32}." placeholder:"NUMERICS"`
	Learner    string `help:"Numerics of the engine that scores." placeholder:"NUMERICS"`
	Checkpoint string `help:"Weights: a shipped name or a folder." placeholder:"NAME|DIR"`
	Dump       string `help:"Write one JSON line per sampled response; a name ending in .gz is compressed." placeholder:"FILE"`
	common
}

// Help is the long help text.
func (*measureCmd) Help() string {
	return `Samples responses in one engine and scores them in the other, with equal weights: whatever differs is due to
what the two numerics declare. Without --rollout and --learner the usual pairs are measured.

Examples:
  simulate measure
  simulate measure --rollout bf16 --learner bf16          # KL 0, exactly
  simulate measure --rollout fp8-w8a8 --learner bf16 --json
  simulate measure --rollout '{base: bf16, kv_cache: fp8_e4m3}' --learner bf16
  simulate measure --set rollout.prompts=64 --dump gap.jsonl.gz`
}

// Run measures.
func (c *measureCmd) Run(a *app) error {
	usual := c.Rollout == "" && c.Learner == ""
	for _, s := range c.Set {
		path := strings.TrimSpace(s[:max(0, strings.IndexByte(s, '='))])
		usual = usual && !strings.HasPrefix(path, "rollout.numerics") && !strings.HasPrefix(path, "learner.numerics")
	}
	for _, f := range []struct{ field, value string }{
		{"rollout.numerics", c.Rollout}, {"learner.numerics", c.Learner}, {"checkpoint", c.Checkpoint},
	} {
		if f.value != "" {
			c.Set = append(c.Set, f.field+"="+f.value)
		}
	}
	r, err := c.load(c.Recipe)
	if err != nil {
		return err
	}
	q := trainer.MeasureRequest{Recipe: r, Workers: c.workers()}
	if usual {
		q.Pairs = trainer.UsualPairs()
	}
	if c.Dump != "" {
		if q.Dump, err = results.CreateDump(c.Dump); err != nil {
			return err
		}
	}
	m := a.meter(&c.common, "measure", "pair", max(len(q.Pairs), 1))
	q.Progress = func(int, int) { m.add(1, 0, "") }
	measured, err := trainer.Measure(a.ctx, q)
	m.close()
	if q.Dump != nil {
		if closed := q.Dump.Close(); err == nil {
			err = closed
		}
	}
	if err != nil {
		return err
	}
	tables := []*results.Table{experiments.GapTable(measured), experiments.RouteTable(measured)}
	if c.Out != "" {
		if err := c.write(measured, tables); err != nil {
			return err
		}
	}
	if c.JSON {
		return a.printJSON(measured)
	}
	for _, t := range tables {
		if len(t.Rows) > 0 {
			a.printTable(t)
		}
	}
	if c.Out != "" {
		fmt.Fprintf(a.stdout, "Report: %s\n", filepath.Join(c.Out, "report.html"))
	}
	return nil
}

// write keeps the measurement in a folder, as data and as a page.
func (c *measureCmd) write(m *trainer.Measurement, tables []*results.Table) error {
	text, err := jsonText(m)
	if err != nil {
		return err
	}
	if err := writeFile(c.Out, "measure.json", text); err != nil {
		return err
	}
	section := results.Section{Heading: "Gap at equal weights", Blocks: []results.Block{
		results.Drawing{Figure: experiments.GapBars(m), Caption: "k3 estimate of the KL divergence from the rollout engine to the learner, per token."},
	}}
	for _, t := range tables {
		if len(t.Rows) > 0 {
			section.Blocks = append(section.Blocks, t)
		}
	}
	return results.WriteReport(filepath.Join(c.Out, "report.html"), results.Report{
		Title: "The gap between two engines", Eyebrow: "simulate measure",
		Lead:     fmt.Sprintf("Responses of `%s` on the task `%s`, sampled in one engine and scored in the other with the same weights.", m.Checkpoint, m.Task),
		Sections: []results.Section{section},
	})
}
