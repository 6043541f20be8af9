package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"driftlab/experiments/measure"
	"driftlab/experiments/measure/tables"
	"driftlab/model"
	"driftlab/results"
	"driftlab/results/record"
)

// real sets real engines next to the numerics that emulate them.
func (c *measureCmd) real(a *app) error {
	var gaps []*measure.RealGap
	for _, name := range c.Real {
		g, err := readReal(name)
		if err != nil {
			return err
		}
		gaps = append(gaps, g)
	}
	if c.Out != "" {
		if err := c.writeReal(gaps); err != nil {
			return err
		}
	}
	err := a.show(c.JSON, gaps, tables.RealTable(gaps))
	if err == nil && c.Out != "" && !c.JSON {
		fmt.Fprintf(a.stdout, "Tables and plots: %s\n", c.Out)
	}
	return err
}

// readReal reads one file and scores its tokens.
func readReal(name string) (*measure.RealGap, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, bad("--real: %w", err)
	}
	dump, err := measure.ParseRealDump(text)
	if err != nil {
		return nil, bad("--real: %s: %v", name, err)
	}
	ck, err := model.Open(dump.Checkpoint)
	if err != nil {
		return nil, bad("--real: %s: %w", name, err)
	}
	g, err := measure.CompareReal(ck.Params, dump)
	if err != nil {
		return nil, bad("--real: %s: %v", name, err)
	}
	return g, nil
}

// writeReal keeps the comparison in a folder: as data, as a table, and a plot for each engine.
func (c *measureCmd) writeReal(gaps []*measure.RealGap) error {
	lock, err := record.LockFolder(c.Out)
	if err != nil {
		return err
	}
	defer lock.Release()
	err = cmp.Or(writeDocument(c.Out, "reality.json", gaps), writeFile(c.Out, "table.md", []byte(tables.RealTable(gaps).Markdown())))
	var engines []string
	for _, g := range gaps {
		if !slices.Contains(engines, g.Engine) {
			engines = append(engines, g.Engine)
			err = cmp.Or(err, results.SavePlot(filepath.Join(c.Out, g.Engine+".png"), tables.RealPlot(g.Engine, gaps)))
		}
	}
	return err
}
