package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"driftlab/experiments/studies"
	"driftlab/experiments/study"
	"driftlab/results/record"
	"driftlab/trainer/recipe"
)

type sweepCmd struct {
	Run    sweepRunCmd    `cmd:"" default:"withargs" help:"Make the runs that are missing; the default of sweep."`
	Merge  sweepMergeCmd  `cmd:"" help:"Join the parts of a sharded sweep; the result has the same bytes as an unsharded sweep."`
	Report sweepReportCmd `cmd:"" help:"Write the tables, plots and page of the runs so far."`
	Job    sweepJobCmd    `cmd:"" help:"Print the job file for a cluster."`
}

type sweepRunCmd struct {
	Of     []string `arg:"" name:"file" complete:"recipes" help:"File of a sweep, or a shipped study, such as quick; with --sweep, recipes: shipped names or files."`
	Sweep  []string `sep:"none" help:"Vary a field of the recipes; may be repeated, the first varies slowest." placeholder:"PATH=VALUE,VALUE" complete:"fields"`
	Loss   []string `help:"Add policy losses to the methods of the file, with the rollout engine's log-probs as anchor." placeholder:"NAME"`
	Seeds  number   `help:"Number of consecutive seeds, from --seed or the first seed of the file or recipe; 0: the seeds of the file, or one seed." default:"0" max:"100000" placeholder:"N"`
	Only   []string `sep:"none" help:"Run only these cells of the grid; may be repeated." placeholder:"FACTOR=VALUE+VALUE,..."`
	Shard  string   `help:"Run part I, from 0, of N parts." placeholder:"I/N"`
	Keep   bool     `help:"Keep the folder of every run below runs/, about a megabyte each."`
	DryRun bool     `help:"Print the number of missing runs and their expected duration, and run nothing."`
	tableFlags
	common
	preview bool // the plan's quick form
}

// Run makes the runs.
func (c *sweepRunCmd) Run(a *app) error {
	plan, err := c.plan()
	if err != nil {
		return err
	}
	if c.preview {
		if plan, err = plan.Preview(); err != nil {
			return bad("study: %w", err)
		}
	}
	o := study.Options{Dir: cmp.Or(c.Out, filepath.Join("runs", "sweep-"+plan.Name)), Keep: c.Keep}
	for _, text := range c.Only {
		one, err := study.ParseCondition(text)
		if err == nil {
			err = plan.Check(one)
		}
		if err != nil {
			return bad("--only: %w", err)
		}
		o.Only = append(o.Only, one)
	}
	if c.Shard != "" {
		if o.Shard, err = study.ParseShard(c.Shard); err != nil {
			return bad("--shard: %w", err)
		}
	} else {
		from := "" // the environment of a job
		if o.Shard, from, err = study.ShardOf(os.Getenv); err != nil {
			return badInput{err}
		}
		if from != "" {
			fmt.Fprintf(a.stderr, "simulate: note: part %d of %d, by %s\n", o.Shard.Index, o.Shard.Count, from)
		}
	}
	loss := c.choosesLoss() || slices.ContainsFunc(c.Sweep, isLoss) // set, or a factor
	return a.runStudy(studyRun{plan: plan, maker: sweepPage, options: o, tables: c.tableFlags, dryRun: c.DryRun, loss: loss, common: &c.common})
}

// plan reads the file, or makes a plan of the flags.
func (c *sweepRunCmd) plan() (plan *study.Plan, err error) {
	switch {
	case len(c.Sweep) == 0 && len(c.Of) != 1:
		return nil, bad("sweep: give one file, or recipes with --sweep")
	case len(c.Sweep) == 0:
		if plan, err = readPlan(c.Of[0]); err != nil {
			return nil, err
		}
		if len(c.Loss) > 0 {
			if err := plan.AddLosses(c.Loss); err != nil {
				return nil, bad("--loss: %w", err)
			}
		}
	case len(c.Loss) > 0:
		return nil, bad("--loss: adds to the methods of a file: with --sweep use loss=A,B")
	default:
		if plan, err = study.ParseFlags(c.Of, c.Sweep); err != nil {
			return nil, err
		}
		r, err := recipe.Load(c.Of[0])
		if err != nil {
			return nil, err
		}
		plan.Seeds = []uint64{r.Seed}
	}
	for _, set := range c.Set {
		change, err := recipe.ParseChange("--set", set)
		if err != nil {
			return nil, err
		}
		plan.Set = append(plan.Set, change)
	}
	if c.Seeds == 0 && c.Seed == nil {
		return plan, nil
	}
	first := plan.Seeds[0]
	if c.Seed != nil {
		first = uint64(*c.Seed)
	}
	plan.Confirm, plan.Fresh = nil, nil
	plan.Seeds, err = seedsFrom(first, cmp.Or(int(c.Seeds), 1))
	return plan, err
}

// readPlan reads the file of a sweep.
func readPlan(file string) (*study.Plan, error) {
	text, shipped := studies.Plan(file)
	var err error
	if !shipped {
		text, err = record.ReadFile(file)
	}
	if err == nil {
		plan, fault := study.Parse(file, text)
		if fault == nil {
			return plan, nil
		}
		err = fault
	}
	if _, fault := recipe.Load(file); fault == nil {
		return nil, bad("%s is a recipe: name the fields to vary, with --sweep or in a file with base: %[1]s", file)
	}
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		err = bad("%s: %w: give the file of a sweep, or a shipped study: %s", file, path.Err, strings.Join(studies.Names(), ", "))
	}
	return nil, err
}
