package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strings"

	"driftlab/experiments"
	"driftlab/results"
	"driftlab/trainer"
	"driftlab/trainer/recipe"
)

type headlineCmd struct {
	Seeds int `help:"Number of seeds in a row, from --seed or else 1." default:"3" placeholder:"N"`
	common
}

// Help is the long help text.
func (*headlineCmd) Help() string {
	return `What simulate does without a command: it measures the gap between the engines at equal weights, provokes a
collapse by a coarse rollout engine and one by old rollouts, and tries the fixes side by side. About two minutes.

Examples:
  simulate
  simulate --seeds 5 --out runs/five
  simulate --json -q
  simulate --set steps=40 --seeds 1              # a quick look`
}

// headlined is the document of simulate --json.
type headlined struct {
	Dir    string               `json:"dir"`
	Report string               `json:"report"`
	Gap    *trainer.Measurement `json:"gap"`
	Metric string               `json:"metric"`
	Parts  []headlinedPart      `json:"parts"`
}

// headlinedPart is one comparison.
type headlinedPart struct {
	Title string      `json:"title"`
	Arms  []armResult `json:"arms"`
}

// Run shows the headline.
func (c *headlineCmd) Run(a *app) error {
	if c.Seeds < 1 {
		return bad("--seeds: %d is not a number of seeds", c.Seeds)
	}
	base, err := c.load("headline")
	if err != nil {
		return err
	}
	dir := c.Out
	if dir == "" {
		dir = filepath.Join("runs", "headline-"+headlineHash(base, c.Seeds))
	}
	m := a.meter(&c.common, "headline", "step", 0)
	result, err := experiments.Headline(a.ctx, experiments.HeadlineOptions{
		Options: experiments.Options{Dir: dir, Parallel: c.workers(), Progress: m.experiment()},
		Seeds:   seedsFrom(base.Seed, c.Seeds),
		Set:     c.Set,
		Measured: func(gap *trainer.Measurement) {
			if !c.JSON {
				a.printTable(gapTable(gap))
				a.printTable(routeTable(gap))
			}
		},
	})
	m.close()
	if err != nil {
		return resumable(err, dir)
	}
	parts := headlineParts(result)
	path := filepath.Join(dir, "report.html")
	if err := results.WriteReport(path, headlineReport(result.Gap, parts)); err != nil {
		return err
	}
	for _, ext := range []string{".svg", ".png"} {
		if err := results.SavePlot(filepath.Join(dir, "headline"+ext), headlinePicture(parts)); err != nil {
			return err
		}
	}
	if c.JSON {
		doc := headlined{Dir: dir, Report: path, Gap: result.Gap, Metric: headlineMetric}
		for _, p := range parts {
			doc.Parts = append(doc.Parts, headlinedPart{p.title, armsOf(p.groups, headlineMetric)})
		}
		return a.printJSON(doc)
	}
	for _, p := range parts {
		a.printTable(p.table)
	}
	fmt.Fprintf(a.stdout, "Report: %s\n", path)
	return nil
}

// headlineHash names a headline by its recipe, its arms and its seeds.
func headlineHash(base recipe.Recipe, seeds int) string {
	h := sha256.New()
	h.Write(base.YAML())
	for _, arm := range experiments.HeadlineArms() {
		fmt.Fprintln(h, arm.Name, strings.Join(arm.Set, " "))
	}
	fmt.Fprintln(h, seeds)
	return hex.EncodeToString(h.Sum(nil)[:4])
}
