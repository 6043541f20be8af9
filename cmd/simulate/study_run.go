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
	"driftlab/experiments/study"
	"driftlab/results"
	"driftlab/results/figure"
	"driftlab/results/record"
	"driftlab/trainer/recipe"
)

// studyRun is a study as a command asks for it: sweep, compare and the main job differ in their plans.
type studyRun struct {
	plan    *study.Plan
	maker   string        // the command, as its page names it
	options study.Options // without a folder: the command's own, by what it runs
	tables  tableFlags
	dryRun  bool
	loss    bool // the user chose the loss, and needs no note on it
	// announce says first what will run, and how long that takes.
	announce bool
	*common
}

// runStudy makes the runs of a study that are missing and shows what they came to.
func (a *app) runStudy(s studyRun) error {
	o := s.options
	o.Workers, o.Now = s.workers(), time.Now
	if err := a.baseModels(s.plan, s.common, s.dryRun); err != nil {
		return err
	}
	load := study.Loader(loadChanged)
	if s.plan.MissingModels() > 0 {
		load = func(base string, changes []recipe.Change) (recipe.Recipe, error) { // a dry run before they are made
			return recipe.LoadChanged(base, changes...)
		}
	}
	grid, err := s.plan.Grid(load, o.Only...)
	if err != nil {
		return sweepFault(err)
	}
	whole := cmp.Or(o.Dir, s.Out, filepath.Join("runs", s.plan.Name+"-"+grid.Hash()))
	o.Dir = filepath.Join(whole, o.Shard.Folder())
	index := grid.Index()
	tables, err := s.tables.tables("", index)
	if err != nil {
		return err
	}
	if s.dryRun {
		return a.dryRun(grid, o, s.loss)
	}
	if err := ownPage(o.Dir, s.maker); err != nil {
		return err
	}
	if old, err := study.ReadIndex(o.Dir); err == nil && len(o.Only) == 0 && old.Replaced(index) {
		fmt.Fprintf(a.stderr, "simulate: note: %s had the plan %s: its cells stay, its tables and plots are replaced\n", o.Dir, old.Name)
	}
	a.warnNoEffect(s.Quiet, s.loss, "the page has all of them", index.Only(o.Only).NoEffects())
	if s.announce && !s.Quiet {
		if err := a.announce(grid, o); err != nil {
			return err
		}
	}
	_, label, named := strings.Cut(s.maker, " ")
	if !named { // the main job, whose command has no word of its own
		label = s.plan.Name
	}
	m := a.meter(s.Quiet, label, "step", 0)
	o.Progress = m.queue()
	end := a.signals.begin()
	err = grid.Run(a.ctx, o)
	m.close()
	err = cmp.Or(err, end())
	if err != nil && !errors.As(err, new(study.FailedTasks)) {
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
	return errors.Join(a.showStudy(done, o.Dir, o.Dir, s.maker, s.JSON), err)
}

// studyDocument is the document of a study with --json.
type studyDocument struct {
	Dir     string      `json:"dir"`
	Report  string      `json:"report"`
	Plots   []string    `json:"plots"`
	Finding string      `json:"finding"`
	Cells   int         `json:"cells"`
	Rows    []study.Row `json:"rows"`
}

// mostPrinted is how many rows of a study's table are printed: the page and the files have more.
const mostPrinted = 40

// noteMissing says which runs of a study are missing.
func (a *app) noteMissing(done *study.Folder) {
	if missing := done.Missing(); missing != "" {
		fmt.Fprintf(a.stderr, "simulate: note: %s\n", missing)
	}
}

// showStudy writes the page and the pictures of a study's folder into out, where its tables are, and prints what a reader needs
// first.
func (a *app) showStudy(done *study.Folder, dir, out, maker string, asJSON bool) error {
	kept, err := done.Kept()
	if err != nil {
		return err
	}
	var runs []*record.Record
	for _, g := range kept {
		runs = append(runs, g.Runs...)
	}
	report, pictures := done.Report(kept, glossary(runs))
	report.Eyebrow = maker
	doc := studyDocument{Dir: dir, Report: filepath.Join(out, pageFile), Finding: done.Finding(), Rows: done.Rows, Cells: len(done.Rows)}
	if err := results.WriteReport(doc.Report, report); err != nil {
		return err
	}
	if doc.Plots, err = savePictures(out, pictures); err != nil {
		return err
	}
	plots := filepath.Join(out, "plots")
	for _, pattern := range []string{"by-*.svg", "dose-*.svg", "map-*.svg"} { // of factors that the plan no longer has
		old, _ := fs.Glob(os.DirFS(plots), pattern) // which is valid
		for _, name := range old {
			if path := filepath.Join(plots, name); !slices.Contains(doc.Plots, path) {
				os.Remove(path)
			}
		}
	}
	if asJSON {
		return a.printJSON(doc)
	}
	for _, t := range done.Tables(mostPrinted) {
		a.printTable(t)
	}
	fmt.Fprintf(a.stdout, "Table: %s\nReport: %s\n", filepath.Join(out, "runs.csv"), doc.Report)
	if len(doc.Plots) > 0 {
		fmt.Fprintf(a.stdout, "Plot: %s\n", doc.Plots[0])
	}
	if doc.Finding != "" {
		fmt.Fprintf(a.stdout, "Finding: %s\n", doc.Finding)
	}
	return nil
}

// sweepFault makes an error about a plan one about the input.
func sweepFault(err error) error {
	if errors.As(err, new(recipe.Faults)) || errors.As(err, new(*record.FolderError)) {
		return err
	}
	return badInput{err}
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
	if !c.Quiet {
		fmt.Fprintf(a.stderr, "simulate: first %s, from which the runs start\n", figure.Count(missing, "base model"))
	}
	m := a.meter(c.Quiet, "base models", "model", missing)
	m.first = m.printed // a model is a unit, and the first says as much as another
	err := plan.MakeModels(a.ctx, loadChanged, c.workers(), m.queue())
	m.close()
	if errors.Is(err, context.Canceled) {
		return interrupted{"the base models that are finished stay; run the same command again"}
	}
	return err
}

// dryRun says what there is to do.
func (a *app) dryRun(g *study.Grid, o study.Options, loss bool) error {
	left, err := g.Left(o)
	if err != nil {
		return err
	}
	asked := g.Index().Only(o.Only)
	a.warnNoEffect(false, loss, "the page of the sweep has all of them", asked.NoEffects())
	fmt.Fprintf(a.stdout, "%s, %s, %s (equal recipes are counted once)\n", figure.Count(len(asked.Arms), "point"), figure.Count(asked.Cells(), "cell"), figure.Count(asked.Runs(), "run"))
	if part := o.Shard; part.Count > 0 {
		fmt.Fprintf(a.stdout, "Part %d of %d: ", part.Index, part.Count)
	}
	most, about := len(left), "About"
	if !g.Climbs(o) {
		fmt.Fprintf(a.stdout, "%d to make\n", most)
	} else {
		if most, err = g.Most(o); err != nil {
			return err
		}
		fmt.Fprintf(a.stdout, "%d to make now, at most %d in all: each ladder of learning rates goes on by what its runs come to\n", len(left), most)
		if most > len(left) {
			about = "At most"
		}
	}
	if len(left) == 0 {
		return nil
	}
	if g.Plan.MissingModels() > 0 {
		fmt.Fprintln(a.stdout, "Their duration is not known before the base models are made.")
		return nil
	}
	took, how, err := a.estimate(g, o, left, most)
	if err == nil {
		fmt.Fprintf(a.stdout, "%s %s on %s, %s\n", about, took, figure.Count(min(o.Workers, len(left)), "core"), how)
	}
	return err
}

// estimate is how long runs like those that are left will take, as many as most, and from what that is known: the times of finished
// runs, or a few steps.
func (a *app) estimate(g *study.Grid, o study.Options, left []*study.Cell, most int) (took time.Duration, how string, err error) {
	var total float64
	for _, c := range left {
		total += c.Recipe.Work()
	}
	total *= float64(most) / float64(len(left))
	pace, finished := g.Pace(o.Dir)
	how = fmt.Sprintf("from the times of %s", figure.Count(finished, "finished run"))
	atOnce := study.Parallelism(o.Workers) // as many as those were
	if finished == 0 {
		atOnce = o.Workers
		var timed int
		if pace, timed, err = timing(a.ctx, left); err != nil {
			return 0, "", err
		}
		how = fmt.Sprintf("from a few steps of %s", figure.Count(timed, "run"))
	}
	took = time.Duration(total * pace / float64(min(atOnce, len(left))) * float64(time.Second))
	return took.Round(max(time.Second, took.Round(time.Minute)/60)), how, nil
}

// announce says what a study is about to run, and how long that takes.
func (a *app) announce(g *study.Grid, o study.Options) error {
	left, err := g.Left(o)
	if err != nil || len(left) == 0 {
		return err
	}
	took, _, err := a.estimate(g, o, left, len(left))
	if err == nil {
		fmt.Fprintf(a.stderr, "simulate: %s of %s each, in %s: about %s on %s\n", figure.Count(len(left), "run"), figure.Count(left[0].Recipe.Steps, "update"), o.Dir, took, figure.Count(min(o.Workers, len(left)), "core"))
	}
	return err
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
