package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"driftlab/experiments/studies"
	"driftlab/experiments/study"
	"driftlab/experiments/study/claims"
	"driftlab/results/figure"
)

// studyCmd runs a plan, whoever wrote it, by the command that shows its result.
type studyCmd struct {
	Of     string   `arg:"" name:"study" complete:"files" help:"headline, claims/NAME, a shipped sweep, or the file of a plan."`
	Seeds  number   `help:"Number of consecutive seeds; 0: those of the plan." default:"0" max:"100000" placeholder:"N"`
	Short  bool     `name:"quick" help:"A preview in minutes: smaller measurements of a claim, the quick form of a plan."`
	Shard  string   `help:"Run part I, from 0, of N parts of a sweep." placeholder:"I/N"`
	DryRun bool     `help:"Print the number of missing runs of a sweep and their expected duration, and run nothing."`
	Take   []string `sep:"none" help:"With stability: judge what these folders of its studies have, add it to the published map in --out, and run nothing; may be repeated." placeholder:"DIR" complete:"dirs"`
	common
}

// Run hands the study to its command.
func (c *studyCmd) Run(a *app) error {
	claim, isClaim := strings.CutPrefix(filepath.ToSlash(c.Of), "claims/")
	isHeadline := c.Of == "headline"
	switch {
	case c.Of == stabilityPlans && len(c.Take) > 0:
		return c.publish(a)
	case c.Of == stabilityPlans || len(c.Take) > 0:
		return bad("study: %s and --take go together: name the folders of runs with --take, or one study, such as stability/staleness", stabilityPlans)
	case c.Short && isHeadline:
		return bad("study: --quick is for claims and plans with a quick form: leave it out for %s, or set fewer steps", c.Of)
	case (c.Shard != "" || c.DryRun) && (isClaim || isHeadline):
		return bad("study: --shard and --dry-run are for sweeps: leave them out for %s", c.Of)
	case isClaim && len(c.Set) > 0:
		return bad("study: --set changes no claim: leave it out for %s", c.Of)
	case isClaim:
		if _, ok := claims.Lookup(claim); !ok {
			return unknownClaim(claim)
		}
		r := reproduceCmd{Claims: []string{claim}, Seeds: c.Seeds, Seed: 1, Short: c.Short, jsonFlag: c.jsonFlag, outFlag: c.outFlag, workFlags: c.workFlags}
		if c.Seed != nil {
			r.Seed = *c.Seed
		}
		return r.Run(a)
	case isHeadline:
		h := headlineCmd{Seeds: cmp.Or(c.Seeds, 3), common: c.common}
		return h.Run(a)
	}
	return (&sweepRunCmd{Of: []string{c.Of}, Seeds: c.Seeds, Shard: c.Shard, DryRun: c.DryRun, tableFlags: tableFlags{Steps: true}, common: c.common, preview: c.Short}).Run(a)
}

// stabilityPlans is the folder of the plans of the stability map.
const stabilityPlans = "stability"

// publish adds runs to the published map of stability.
func (c *studyCmd) publish(a *app) error {
	for _, dir := range c.Take {
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return bad("--take %s: no such folder", dir)
		}
	}
	var grids []*study.Grid
	for _, name := range studies.Names() {
		if !strings.HasPrefix(name, stabilityPlans+"/") {
			continue
		}
		plan := shippedPlan(name)
		grid, err := plan.Grid(loadChanged)
		if err != nil && plan.MissingModels() > 0 {
			fmt.Fprintf(a.stderr, "simulate: note: nothing is taken of %s, and what is published of it stays: %s missing\n", name, figure.Count(plan.MissingModels(), "base model"))
			grid = &study.Grid{Plan: plan}
		} else if err != nil {
			return sweepFault(err)
		}
		grids = append(grids, grid)
	}
	out := cmp.Or(c.Out, filepath.Join("results", "published", stabilityPlans))
	if err := study.PublishMap(out, grids, c.Take); err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "Map: %s\n", filepath.Join(out, "README.md"))
	return nil
}
