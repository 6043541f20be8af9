package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	runner "driftlab/experiments/run"
	"driftlab/results"
	"driftlab/results/figure"
	"driftlab/results/record"
	"driftlab/trainer/recipe"
)

type trainCmd struct {
	Recipe string `arg:"" complete:"recipes" optional:"" default:"default" help:"A shipped recipe or a file; without it, the recipe default."`
	configFlag
	Partial bool   `needs:"--config" help:"With --config, train although its loss or advantage has no counterpart in a recipe."`
	Dump    string `help:"Write one JSON line per sampled response; a name ending in .gz is compressed." placeholder:"FILE" complete:"files"`
	scorerFlags
	Recompute bool `help:"Compute activations again in the backward pass instead of keeping them: less memory, more time, the same bits."`
	common
}

type trained struct {
	Dir     string          `json:"dir"`
	Report  string          `json:"report"`
	Digest  string          `json:"digest"`
	Summary record.Summary  `json:"summary"`
	Recipe  json.RawMessage `json:"recipe"`
}

func (c *trainCmd) Run(a *app) error {
	config, err := c.readConfig(a)
	if err != nil {
		return err
	}
	if config != nil {
		if len(config.Other) > 0 && !c.Partial {
			return bad("--config %s: a recipe of it would have another objective: %s has no counterpart here: give --partial to take the rest", c.Config, strings.Join(slices.Compact(config.Other), ", "))
		}
		if c.before, err = config.Changes(); err != nil {
			return err
		}
	}
	r, err := c.load(c.Recipe)
	if err != nil {
		return err
	}
	scorer, err := c.scorer(a, r)
	if err != nil {
		return err
	}
	// The name holds the recipe's identity, so that another recipe never meets this one's record.
	dir := cmp.Or(c.Out, filepath.Join("runs", fmt.Sprintf("%s-seed%d-%s", r.Name, r.Seed, r.Identity()[:8])))
	if scorer != nil && c.Out == "" {
		dir += "-scored"
	}
	if err := ownPage(dir, runsPage); err != nil {
		return err
	}
	a.warnForeign(dir, filepath.Base(c.Dump))
	options := runner.Options{Dir: dir, DumpFile: c.Dump, Workers: c.workers(), Recompute: c.Recompute, Scorer: scorer}
	a.noteRandomWeights(c.Quiet || record.Exists(dir), r)
	a.warnNoEffect(c.Quiet || record.Exists(dir), c.choosesLoss(), "", recipe.NoEffects(r))
	m := a.meter(c.Quiet, r.Name, "step", r.Steps)
	options.Progress = m.run()
	end := a.signals.begin()
	result, err := runner.Run(a.ctx, r, options)
	m.close()
	if stopped := end(); result != nil && stopped != nil {
		err, result = stopped, nil
	}
	if result == nil {
		return resumable(err, dir)
	}
	doc := trained{dir, filepath.Join(dir, pageFile), result.Digest(), result.Summary, r.JSON()}
	records := []*record.Record{result.Record}
	lock, held := record.LockFolder(dir) // again: the page is one process's work too
	switch {
	case held == nil:
		defer lock.Release()
		if _, failed := writeReport(doc.Report, results.FromRuns(records, glossary(records)...), records); err == nil {
			err = failed
		}
	case errors.Is(held, fs.ErrPermission) || errors.Is(held, syscall.EROFS):
		fmt.Fprintf(a.stderr, "simulate: note: %s cannot be written: its page is unchanged; simulate report %[1]s --out DIR writes a page elsewhere\n", dir)
	default:
		return errors.Join(err, held)
	}
	if c.JSON {
		return errors.Join(err, a.printJSON(doc))
	}
	a.printTable(summaryTable(result.Summary))
	fmt.Fprintf(a.stdout, "Record: %s\nReport: %s\nDigest: %s\n", dir, doc.Report, doc.Digest)
	return err
}

// resumable replaces a cancelled context by what to do next: to go on from the folder, if
// anything was put there.
func resumable(err error, dir string) error {
	if !errors.Is(err, context.Canceled) {
		return err
	}
	entries, _ := os.ReadDir(dir) // a folder that cannot be read holds nothing to go on from
	if !slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() != record.LockFile }) {
		return interrupted{"no results were kept; run the same command again"}
	}
	return interrupted{"run the same command again to resume from " + dir}
}

func summaryTable(s record.Summary) *figure.Figure {
	t := tableHead("summary", s.Name, s.Seed, s.Status, s.Steps)
	t.Note = s.Reason
	for _, m := range s.Metrics {
		t.Add(figure.Word(m.Name), figure.Number(m.Value, 4))
	}
	return t
}

// mostNotes is how many notes a command prints before its runs where a page has them all.
const mostNotes = 8

// warnNoEffect says which parts of recipes cannot act, one line each; rest says where those
// beyond the first are, and is empty where there are few. It is left out where nothing
// begins, or quiet is asked for. The clip of the usual loss is a note where the loss was chosen.
func (a *app) warnNoEffect(quiet, loss bool, rest string, notes []recipe.NoEffect) {
	if quiet {
		return
	}
	notes = slices.DeleteFunc(notes, func(n recipe.NoEffect) bool { return !loss && n.OfUsualLoss() })
	shown := len(notes)
	if rest != "" {
		shown = min(shown, mostNotes)
	}
	for _, note := range notes[:shown] {
		fmt.Fprintf(a.stderr, "simulate: note: %s\n", note)
	}
	if shown < len(notes) {
		fmt.Fprintf(a.stderr, "simulate: note: %d more parts have no effect: %s\n", len(notes)-shown, rest)
	}
}
