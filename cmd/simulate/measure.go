package main

import (
	"fmt"
	"path/filepath"
	"strings"

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
	tables := []*results.Table{gapTable(measured), routeTable(measured)}
	if c.Out != "" {
		if err := c.write(a, measured, tables); err != nil {
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
func (c *measureCmd) write(a *app, m *trainer.Measurement, tables []*results.Table) error {
	text, err := jsonText(m)
	if err != nil {
		return err
	}
	if err := writeFile(c.Out, "measure.json", text); err != nil {
		return err
	}
	section := results.Section{Heading: "Gap at equal weights"}
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

// gapTable shows the size of the gap of each pair.
func gapTable(m *trainer.Measurement) *results.Table {
	right := func(name string) results.TableColumn { return results.TableColumn{Name: name, Align: results.Right} }
	t := &results.Table{
		Title: fmt.Sprintf("Gap between the engines at equal weights: %s, task %s, seed %d", m.Checkpoint, m.Task, m.Seed),
		Columns: []results.TableColumn{{Name: "rollout"}, {Name: "learner"}, right("KL"), right("k3"), right("mean |Δ|"),
			right("max |Δ|"), right("max |Δp|"), right("1 - r"), right("chi2"), right("unequal")},
		Note: "KL: exact, over the full vocabulary, nats. The rest is of the sampled token: k3, Δ of the log-probs\n" +
			"(nats), Δp and r (Pearson) of the probabilities, chi2, and how many log-probs differ in any bit.",
	}
	for _, p := range m.Pairs {
		g := p.Gap
		kl := results.Word("-")
		if g.HasExact {
			kl = results.Number(g.ExactKL, 2)
		}
		t.Add(results.Word(p.Rollout), results.Word(p.Learner), kl, results.Number(g.K3, 2),
			results.Number(g.MeanAbsDlogp, 2), results.Number(g.MaxAbsDlogp, 2), results.Number(g.MaxAbsDp, 2),
			results.Number(1-g.Pearson, 2), results.Number(g.Chi2Token, 2), results.Percent(g.Unequal, 1))
	}
	return t
}

// routeTable shows the routing flips of each pair and what replay removes.
func routeTable(m *trainer.Measurement) *results.Table {
	right := func(name string) results.TableColumn { return results.TableColumn{Name: name, Align: results.Right} }
	t := &results.Table{
		Title: "Routing flips, and what replaying the rollout engine's routes removes",
		Columns: []results.TableColumn{{Name: "rollout"}, {Name: "learner"}, right("route flips"), right("token flips"),
			right("|Δ| flipped"), right("|Δ| rest"), right("k3"), right("replayed"), right("removed")},
		Note: "A flip is another set of experts in the learner than in the rollout engine: share of token-layer\n" +
			"pairs, and of tokens with one in any layer. Flipped, rest: mean |Δ| of tokens with and without one.\n" +
			"Replayed: k3 when the learner follows the rollout engine's routes.",
	}
	for _, p := range m.Pairs {
		g := p.Gap
		if !g.HasRoutes || p.Replayed == nil {
			continue
		}
		removed, flipped := results.Word("-"), results.Word("-")
		if g.K3 > 0 {
			removed = results.Percent(1-p.Replayed.K3/g.K3, 0)
		}
		if g.FlipToken > 0 {
			flipped = results.Number(g.FlippedAbsDlogp, 2)
		}
		t.Add(results.Word(p.Rollout), results.Word(p.Learner), results.Percent(g.FlipRoute, 2), results.Percent(g.FlipToken, 2),
			flipped, results.Number(g.RestAbsDlogp, 2), results.Number(g.K3, 2), results.Number(p.Replayed.K3, 2), removed)
	}
	return t
}
