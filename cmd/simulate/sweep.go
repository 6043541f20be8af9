package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	runner "driftlab/experiments/run"
	"driftlab/experiments/studies"
	"driftlab/experiments/study"
	"driftlab/results/figure"
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
	o := study.Options{Dir: cmp.Or(c.Out, filepath.Join("runs", "sweep-"+plan.Name)), Keep: c.Keep, Workers: c.workers(), Now: time.Now}
	if o.Only, err = c.only(plan); err != nil {
		return err
	}
	if o.Shard, err = c.shard(a); err != nil {
		return err
	}
	if err := a.baseModels(plan, &c.common, c.DryRun); err != nil {
		return err
	}
	load := study.Loader(loadChanged)
	if plan.MissingModels() > 0 {
		load = func(base string, changes []recipe.Change) (recipe.Recipe, error) { // a dry run before they are made
			return recipe.LoadChanged(base, changes...)
		}
	}
	grid, err := plan.Grid(load, o.Only...)
	if err != nil {
		return sweepFault(err)
	}
	tables, err := c.tables("", grid.Index())
	if err != nil {
		return err
	}
	whole := o.Dir
	o.Dir = filepath.Join(whole, o.Shard.Folder())
	if c.DryRun {
		return a.dryRun(grid, o, c.choosesLoss())
	}
	if err := ownPage(o.Dir, sweepPage); err != nil {
		return err
	}
	a.warnNoEffect(c.Quiet, c.choosesLoss(), "the page has all of them", grid.Index().NoEffects())
	m := a.meter(c.Quiet, "sweep", "step", 0)
	o.Progress = m.queue()
	end := a.signals.begin()
	err = grid.Run(a.ctx, o)
	m.close()
	if stopped := end(); err == nil {
		err = stopped
	}
	var failed study.FailedTasks
	if err != nil && !errors.As(err, &failed) {
		return resumable(err, o.Dir)
	}
	if o.Shard.Count > 0 {
		fmt.Fprintf(a.stdout, "Part %d of %d: %s\nWhen all parts are finished: simulate sweep merge %s\n", o.Shard.Index, o.Shard.Count, o.Dir, whole)
		return err
	}
	done, fault := study.Finish(o.Dir, tables)
	if fault != nil {
		return errors.Join(fault, err)
	}
	if len(o.Only) == 0 { // else most were not asked for
		a.noteMissing(done)
	}
	return errors.Join(a.showSweep(done, o.Dir, o.Dir, c.JSON), err)
}

// baseModels makes the base models of a plan that are missing, or says how many.
func (a *app) baseModels(plan *study.Plan, c *common, dryRun bool) error {
	missing := plan.MissingModels()
	if missing == 0 {
		return nil
	}
	if dryRun {
		fmt.Fprintf(a.stdout, "%s to make first\n", figure.Count(missing, "base model"))
		return nil
	}
	m := a.meter(c.Quiet, "base models", "model", missing)
	err := plan.MakeModels(a.ctx, loadChanged, c.workers(), m.queue())
	m.close()
	if errors.Is(err, context.Canceled) {
		return interrupted{"the base models that are finished stay; run the same command again"}
	}
	return err
}

// choosesLoss reports whether the loss is a factor or set.
func (c *sweepRunCmd) choosesLoss() bool {
	return c.recipeFlags.choosesLoss() || slices.ContainsFunc(c.Sweep, isLoss)
}

// shard is the part that the flag names, or else the environment of a job.
func (c *sweepRunCmd) shard(a *app) (study.Shard, error) {
	if c.Shard != "" {
		s, err := study.ParseShard(c.Shard)
		if err != nil {
			return s, bad("--shard: %w", err)
		}
		return s, nil
	}
	s, from, err := study.ShardOf(os.Getenv)
	if err != nil {
		return s, badInput{err}
	}
	if from != "" {
		fmt.Fprintf(a.stderr, "simulate: note: part %d of %d, by %s\n", s.Index, s.Count, from)
	}
	return s, nil
}

// plan reads the file, or makes a plan of the flags.
func (c *sweepRunCmd) plan() (*study.Plan, error) {
	var plan *study.Plan
	if len(c.Sweep) == 0 {
		if len(c.Of) != 1 {
			return nil, bad("sweep: give one file, or recipes with --sweep")
		}
		var err error
		if plan, err = readPlan(c.Of[0]); err != nil {
			return nil, err
		}
		if len(c.Loss) > 0 {
			if err := plan.AddLosses(c.Loss); err != nil {
				return nil, bad("--loss: %w", err)
			}
		}
	} else if len(c.Loss) > 0 {
		return nil, bad("--loss: adds to the methods of a file: with --sweep use loss=A,B")
	} else {
		var err error
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
	var err error
	plan.Confirm = nil
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
	var path *fs.PathError
	if errors.As(err, &path) {
		err = bad("%s: %w: give the file of a sweep, or a shipped study: %s", file, path.Err, strings.Join(studies.Names(), ", "))
	}
	return nil, err
}

// only reads the conditions of --only.
func (c *sweepRunCmd) only(plan *study.Plan) (list []study.Condition, err error) {
	for _, text := range c.Only {
		one, err := study.ParseCondition(text)
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
func (a *app) dryRun(g *study.Grid, o study.Options, loss bool) error {
	left, err := g.Left(o)
	if err != nil {
		return err
	}
	a.warnNoEffect(false, loss, "the page of the sweep has all of them", g.Index().NoEffects())
	runs := len(g.Runs())
	fmt.Fprintf(a.stdout, "%s, %s, %s (equal recipes are counted once)\n", figure.Count(len(g.Commands), "point"), figure.Count(len(g.Cells), "cell"), figure.Count(runs, "run"))
	if part := o.Shard; part.Count > 0 {
		fmt.Fprintf(a.stdout, "Part %d of %d: ", part.Index, part.Count)
	}
	most := len(left)
	if g.Plan.Ladder == nil {
		fmt.Fprintf(a.stdout, "%d to make\n", most)
	} else {
		if most, err = g.Most(o); err != nil {
			return err
		}
		fmt.Fprintf(a.stdout, "%d to make now, at most %d in all: each ladder of learning rates goes on by what its runs come to\n", len(left), most)
	}
	if len(left) == 0 {
		return nil
	}
	if plan := g.Plan; plan.MissingModels() > 0 {
		fmt.Fprintln(a.stdout, "Their duration is not known before the base models are made.")
		return nil
	}
	var total float64
	for _, c := range left {
		total += c.Recipe.Work()
	}
	total *= float64(most) / float64(len(left))
	pace, finished := g.Pace(o.Dir)
	how := fmt.Sprintf("from the times of %s", figure.Count(finished, "finished run"))
	atOnce := study.Parallelism(o.Workers) // as many as those were
	if finished == 0 {
		atOnce = o.Workers
		var timed int
		if pace, timed, err = timing(a.ctx, left); err != nil {
			return err
		}
		how = fmt.Sprintf("from a few steps of %s", figure.Count(timed, "run"))
	}
	seconds := time.Duration(total * pace / float64(min(atOnce, len(left))) * float64(time.Second))
	about := "About"
	if most > len(left) {
		about = "At most"
	}
	fmt.Fprintf(a.stdout, "%s %s on %s, %s\n", about, seconds.Round(max(time.Second, seconds.Round(time.Minute)/60)), figure.Count(min(o.Workers, len(left)), "core"), how)
	return nil
}

// timing makes a few steps of some runs, the first and others evenly from the list,
// and returns how many seconds a unit of cost takes.
func timing(ctx context.Context, left []*study.Cell) (pace float64, runs int, err error) {
	const most, steps = 4, 3
	var took, cost float64
	for i := range min(most, len(left)) {
		r := left[i*len(left)/min(most, len(left))].Recipe
		r.Steps = min(steps, r.Steps)
		began := time.Now()
		if _, err := runner.Run(ctx, r, runner.Options{}); err != nil && ctx.Err() != nil {
			return 0, 0, err
		}
		took += time.Since(began).Seconds()
		cost += r.Work()
		runs++
	}
	return took / cost, runs, nil
}
