package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"driftlab/experiments/sweep"
	"driftlab/experiments/table"
	"driftlab/results/record"
	"driftlab/trainer/recipe"
)

type sweepCmd struct {
	Run sweepRunCmd `cmd:"" default:"withargs" help:"Make the runs of a sweep that are not there yet; what sweep does without a further word."`
}

// Help is the long help text.
func (*sweepCmd) Help() string {
	return `Runs every point of a grid over fields of recipes with every seed, several at a time, and keeps one line a run. The
grid stands in a file:

  name: screen
  base: headline                      # or a list: then the recipe is a factor
  set: {steps: 150}                   # of all; each value below is one --set
  seeds: {first: 101, count: 3}       # or a list
  factors:                            # the first varies slowest
    - {field: learner.optimizer.lr, values: [5e-4, 1e-3]}
    - name: method                    # a name for what values set, and labels: columns of any name
      values:
        - {name: uncorrected, group: none}
        - {name: token_tis, set: {correction: {weights: {name: token_tis, cap: 2}}}, group: weights}
  except: [{method: uncorrected, learner.optimizer.lr: 1e-3}]   # or only

or on the command line, as --sweep of recipes. What is finished is not run again, nor are equal recipes run twice.

Examples:
  simulate sweep screen.yaml --dry-run
  simulate sweep screen.yaml --out runs/screen
  simulate sweep headline --sweep learner.optimizer.lr=3e-4,1e-3 --sweep loss=ppo_clip,gspo --seeds 3 --set steps=100`
}

type sweepRunCmd struct {
	Of     []string `arg:"" name:"file" complete:"recipes" help:"The file of a sweep, or a shipped one: screen, confirm, doses, quick; with --sweep, recipes: shipped ones or files."`
	Sweep  []string `sep:"none" help:"Vary a field of the recipes; may be repeated, the first varies slowest." placeholder:"PATH=VALUE,VALUE" complete:"fields"`
	Seeds  number   `help:"Number of seeds in a row, from --seed or else the first of the file or recipe; 0 for those of the file, or one." default:"0" max:"100000" placeholder:"N"`
	Only   []string `sep:"none" help:"Run these cells alone for now; may be repeated: any of them." placeholder:"FACTOR=VALUE+VALUE,..."`
	Shard  string   `help:"Run part I, from 0, of N parts." placeholder:"I/N"`
	Keep   bool     `help:"Keep the whole folder of every run, about a megabyte each, below runs/."`
	DryRun bool     `help:"Say how many runs there are to make, and make none."`
	common
}

// Run makes the runs.
func (c *sweepRunCmd) Run(a *app) error {
	plan, err := c.plan()
	if err != nil {
		return err
	}
	o := sweep.Options{Dir: cmp.Or(c.Out, filepath.Join("runs", "sweep-"+plan.Name)), Keep: c.Keep, Workers: c.workers(), Now: time.Now}
	if o.Only, err = c.only(plan); err != nil {
		return err
	}
	if c.Shard != "" {
		if o.Shard, err = sweep.ParseShard(c.Shard); err != nil {
			return bad("--shard: %w", err)
		}
	}
	grid, err := plan.Grid(loadChanged)
	if err != nil {
		return sweepFault(err)
	}
	if c.DryRun {
		return a.dryRun(grid, o)
	}
	m := a.meter(c.Quiet, "sweep", "step", 0)
	o.Progress = m.queue()
	end := a.signals.begin()
	err = sweep.Run(a.ctx, grid, o)
	m.close()
	if stopped := end(); err == nil {
		err = stopped
	}
	if err != nil {
		return resumable(err, o.Dir)
	}
	rows, err := sweep.Rows(o.Dir)
	if err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "%d of %d cells: %s\n", len(rows), len(grid.Cells), filepath.Join(o.Dir, sweep.LogFile))
	return nil
}

// plan reads the file, or makes a plan of the flags.
func (c *sweepRunCmd) plan() (*sweep.Plan, error) {
	var plan *sweep.Plan
	if len(c.Sweep) == 0 {
		if len(c.Of) != 1 {
			return nil, bad("sweep: give one file, or recipes with --sweep")
		}
		text, shipped := table.Text(c.Of[0])
		if !shipped {
			var err error
			if text, err = os.ReadFile(c.Of[0]); err != nil {
				return nil, err
			}
		}
		var err error
		if plan, err = sweep.Parse(c.Of[0], text); err != nil {
			return nil, err
		}
	} else {
		plan = &sweep.Plan{Name: "flags", Bases: c.Of}
		for _, text := range c.Sweep {
			f, err := sweep.ParseFactor(text)
			if err != nil {
				return nil, err
			}
			plan.Factors = append(plan.Factors, f)
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
	var err error
	plan.Seeds, err = seedsFrom(first, cmp.Or(int(c.Seeds), 1))
	return plan, err
}

// only reads the conditions of --only.
func (c *sweepRunCmd) only(plan *sweep.Plan) (list []sweep.Condition, err error) {
	for _, text := range c.Only {
		one, err := sweep.ParseCondition(text)
		if err == nil {
			err = plan.Check(one)
		}
		if err != nil {
			return nil, bad("--only: %w", err)
		}
		list = append(list, one)
	}
	return list, nil
}

// sweepFault makes an error about a plan one about the input.
func sweepFault(err error) error {
	var faults recipe.Faults
	var folder *record.FolderError
	if errors.As(err, &faults) || errors.As(err, &folder) {
		return err
	}
	return badInput{err}
}

// dryRun says what there is to do.
func (a *app) dryRun(g *sweep.Grid, o sweep.Options) error {
	left, err := g.Left(o)
	if err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "%d cells, %d runs, %d to make\n", len(g.Cells), len(g.Runs()), len(left))
	return nil
}
