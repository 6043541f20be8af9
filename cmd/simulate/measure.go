package main

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"driftlab/experiments/measure"
	"driftlab/experiments/measure/tables"
	"driftlab/experiments/run/dump"
	"driftlab/results"
	"driftlab/results/figure"
	"driftlab/results/record"
	"driftlab/results/stats"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/task"
	"driftlab/trainer/recipe"
)

type measureCmd struct {
	Recipe     string   `arg:"" complete:"recipes" optional:"" default:"default" help:"Recipe that gives checkpoint, task and sampling."`
	Rollout    string   `help:"Numerics of the rollout engine: a preset, or {base: bf16, head: fp32}." placeholder:"NUMERICS" complete:"numerics"`
	Learner    string   `help:"Numerics of the trainer (learner)." placeholder:"NUMERICS" complete:"numerics"`
	Checkpoint string   `help:"Weights: a shipped name or a folder." placeholder:"NAME|DIR" complete:"checkpoints"`
	Attribute  bool     `help:"Attribute each mismatch to the mechanisms in which the engines differ."`
	Layers     bool     `help:"Name the first operation and layer at which the engines differ, token by token, and how the difference grows."`
	Levels     bool     `aliases:"doses" overrides:"--rollout --learner --attribute --layers --dump" help:"Measure every mechanism alone, from level zero up, without and with its correction."`
	Real       []string `overrides:"<recipe> --rollout --learner --checkpoint --attribute --layers --levels --dump --set --seed" help:"Log-probs of a real engine on a checkpoint, to set next to the numerics that emulate it; may be repeated." placeholder:"FILE" complete:"files"`
	Dump       string   `help:"Write one JSON line per sampled response; a name ending in .gz is compressed." placeholder:"FILE" complete:"files"`
	common
}

func (c *measureCmd) Run(a *app) error {
	if len(c.Real) > 0 {
		return c.real(a)
	}
	usual := c.Rollout == "" && c.Learner == "" // unless the recipe itself says how its engines differ
	for _, s := range c.Set {
		path := strings.TrimSpace(s[:max(0, strings.IndexByte(s, '='))])
		usual = usual && !strings.HasPrefix(path, "rollout.numerics") && !strings.HasPrefix(path, "learner.numerics")
	}
	c.setBy("--rollout", "rollout.numerics", c.Rollout)
	c.setBy("--learner", "learner.numerics", c.Learner)
	c.setBy("--checkpoint", "checkpoint", c.Checkpoint)
	r, err := c.load(c.Recipe)
	if err != nil {
		return err
	}
	if c.Out != "" {
		maker := measurePage
		if c.Levels {
			maker = levelsPage
		}
		if err := ownPage(c.Out, maker); err != nil {
			return err
		}
		lock, err := a.hold(c.Out, "measure.json", "levels.json", "levels.md", "levels.png")
		if err != nil {
			return err
		}
		defer lock.Release()
	}
	if c.Levels {
		return c.levels(a, r)
	}
	q := measure.GapRequest{Recipe: r, Workers: c.workers()}
	d := recipe.Default()
	usual = usual && r.Rollout.Numerics.Equal(d.Rollout.Numerics) && r.Learner.Numerics.Equal(d.Learner.Numerics)
	if usual && len(r.Rollout.Fleet) == 0 && !(r.Rollout.Noise.Start > 0) {
		q.Pairs = measure.UsualPairs()
	}
	var lines *record.DumpWriter
	if c.Dump != "" {
		if lines, err = record.CreateDump(c.Dump); err != nil {
			return err
		}
		q.Responses = func(pair string, b *batch.Batch, prompts []task.Prompt, verdicts []task.Verdict) error {
			d := dump.Writer{To: lines, Run: pair, Sampling: r.Rollout}
			return d.Write(b, prompts, verdicts, nil)
		}
	}
	a.noteRandomWeights(c.Quiet, r)
	m := a.meter(c.Quiet, "measure", "pair", max(len(q.Pairs), 1))
	q.Progress = func(int, int) { m.add(1, 0, "") }
	measured, err := measure.Gaps(a.ctx, q)
	m.close()
	if lines != nil {
		err = cmp.Or(err, lines.Close())
	}
	if measured == nil || len(measured.Pairs) == 0 {
		return err
	}
	fault := err // of one pair; the others are shown
	document := measureDocument{Measurement: *measured, Intervals: tables.GapIntervals(measured)}
	if c.Attribute && fault == nil {
		pairs := pairsOf(q)
		m := a.meter(c.Quiet, "attribute", "pair", len(pairs))
		for _, pair := range pairs {
			x, err := measure.Attribute(a.ctx, measure.AttributeRequest{Recipe: q.Recipe, Pair: pair, Workers: q.Workers})
			if err != nil {
				m.close()
				return err
			}
			document.Attributions = append(document.Attributions, x)
			m.add(1, 0, "")
		}
		m.close()
	}
	if c.Layers && fault == nil {
		for _, pair := range pairsOf(q) {
			x, err := measure.Layers(a.ctx, q.Recipe, pair, q.Workers)
			if err != nil {
				return err
			}
			document.Layers = append(document.Layers, x)
		}
	}
	shown := slices.Concat(gapTables(measured), stats.Map(document.Attributions, tables.AttributionTable), stats.Map(document.Layers, tables.LayerTable))
	if c.Out != "" {
		if err := c.write(document); err != nil {
			return err
		}
	}
	return cmp.Or(c.shown(a, document, shown...), fault)
}

// gapTables are the tables of a measurement, some without rows.
func gapTables(m *measure.Measurement) []*figure.Figure {
	return []*figure.Figure{tables.GapTable(m), tables.TurnTable(m), tables.RouteTable(m), tables.FlipTable(m), tables.RetentionTable(m), tables.KeptMassTable(m), tables.SpeculativeTable(m)}
}

// measureDocument is what --json prints: a measurement, how sure its figures are
// and, on request, where its gaps come from.
type measureDocument struct {
	measure.Measurement
	Intervals    []tables.GapInterval   `json:"intervals"`
	Attributions []*measure.Attribution `json:"attributions,omitempty"`
	Layers       []*measure.Divergence  `json:"layers,omitempty"`
}

func pairsOf(q measure.GapRequest) []measure.Pair {
	if len(q.Pairs) > 0 {
		return q.Pairs
	}
	pairs := []measure.Pair{{Rollout: q.Recipe.Rollout.Numerics, Learner: q.Recipe.Learner.Numerics}}
	return append(pairs, stats.Map(q.Recipe.Rollout.Fleet, func(m recipe.FleetMember) measure.Pair {
		return measure.Pair{Rollout: m.Numerics, Learner: q.Recipe.Learner.Numerics}
	})...)
}

// write keeps the measurement in a folder, as data and as a page.
func (c *measureCmd) write(d measureDocument) error {
	m := &d.Measurement
	gap := results.Section{Heading: "Training-inference mismatch at equal weights", Blocks: []results.Block{tables.GapBars(m)}}
	for _, t := range gapTables(m) {
		if len(t.Rows) > 0 {
			gap.Blocks = append(gap.Blocks, t)
		}
	}
	sections := []results.Section{gap}
	if len(d.Attributions) > 0 {
		causes := results.Section{Heading: "Attribution to mechanisms"}
		for _, x := range d.Attributions {
			if len(x.Mechanisms) > 0 {
				causes.Blocks = append(causes.Blocks, tables.AttributionBars(x))
			}
			causes.Blocks = append(causes.Blocks, tables.AttributionTable(x))
		}
		sections = append(sections, causes)
	}
	if len(d.Layers) > 0 {
		layers := results.Section{Heading: "First divergence"}
		for _, x := range d.Layers {
			layers.Blocks = append(layers.Blocks, tables.LayerBars(x), tables.LayerTable(x))
		}
		sections = append(sections, layers)
	}
	return cmp.Or(writeDocument(c.Out, "measure.json", d), results.WriteReport(filepath.Join(c.Out, pageFile), results.Report{
		Title: "Training-inference mismatch", Eyebrow: measurePage,
		Lead:     fmt.Sprintf("Responses of `%s` on the task `%s`, sampled in the rollout engine and scored in the trainer with the same weights.", m.Checkpoint, m.Task),
		Sections: sections,
	}))
}

// levels measures the mismatch of every mechanism at growing levels.
func (c *measureCmd) levels(a *app, r recipe.Recipe) error {
	q := measure.LevelRequest{Recipe: r, Workers: c.workers()}
	m := a.meter(c.Quiet, "levels", "mechanism", len(measure.Mechanisms()))
	q.Progress = func(int, int) { m.add(1, 0, "") }
	table, err := measure.Levels(a.ctx, q)
	m.close()
	if err != nil {
		return err
	}
	levels, reading := tables.LevelTable(table), tables.LevelReading(table)
	if c.Out != "" { // as data, as tables, as a picture and as a page
		bars := tables.LevelBars(table)
		err = cmp.Or(
			writeDocument(c.Out, "levels.json", table),
			writeFile(c.Out, "levels.md", []byte(levels.Markdown()+"\n"+reading.Markdown())),
			results.SavePlot(filepath.Join(c.Out, "levels.png"), bars),
			results.WriteReport(filepath.Join(c.Out, pageFile), results.Report{
				Title: "Mechanisms of training-inference mismatch", Eyebrow: levelsPage,
				Lead:     fmt.Sprintf("Each mechanism alone, on responses of `%s` to the task `%s`, at equal weights.", table.Checkpoint, table.Task),
				Sections: []results.Section{{Heading: "Level and response", Blocks: []results.Block{bars, levels, reading}}},
			}))
		if err != nil {
			return err
		}
	}
	return c.shown(a, table, levels)
}

// shown prints what was measured, and where its page is.
func (c *measureCmd) shown(a *app, document any, figures ...*figure.Figure) error {
	err := a.show(c.JSON, document, figures...)
	if err == nil && c.Out != "" && !c.JSON {
		fmt.Fprintf(a.stdout, "Report: %s\n", filepath.Join(c.Out, pageFile))
	}
	return err
}
