package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"driftlab/experiments/study"
	"driftlab/results"
	"driftlab/results/record"
	"driftlab/results/record/atomicfile"
	"driftlab/results/stats"
	"driftlab/trainer/recipe"
)

// writeFile puts a file into a folder, which is made if need be. The file
// appears whole or not at all.
func writeFile(dir, name string, data []byte) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return unusable(dir, err)
	}
	return record.WriteFile(dir, name, data)
}

// writeDocument puts the JSON of a document into a folder.
func writeDocument(dir, name string, document any) error {
	text, err := record.Document(document)
	if err != nil {
		return err
	}
	return writeFile(dir, name, text)
}

// hold keeps the folder of a set of runs for this process: the runs lock their
// own. It tells of files there that are somebody else's.
func (a *app) hold(dir string, known ...string) (*record.Lock, error) {
	entries, _ := os.ReadDir(dir) // a folder that is not there yet holds nothing
	for _, e := range entries {
		if e.IsDir() {
			known = append(known, e.Name()) // arms and claims
		}
	}
	a.warnForeign(dir, known...)
	return record.LockFolder(dir)
}

// warnForeign says which files of a folder are not a run's.
func (a *app) warnForeign(dir string, known ...string) {
	const most = 3
	list := record.Foreign(dir, known...)
	if len(list) == 0 {
		return
	}
	if more := len(list) - most; more > 0 {
		list = append(list[:most], fmt.Sprintf("%d more", more))
	}
	fmt.Fprintf(a.stderr, "simulate: note: %s also has files that belong to no run, left unchanged: %q\n", dir, list)
}

// pageFile is the name of every command's page.
const pageFile = "report.html"

// The eyebrows of pages that cmd/simulate titles, which name the command that made them.
const (
	mainPage    = "simulate"
	runsPage    = "simulate report" // also train's
	comparePage = "simulate compare"
	measurePage = "simulate measure"
	levelsPage  = "simulate measure --levels"
	sweepPage   = "simulate sweep"
)

// ownPage refuses a folder whose page another command made, or no command of ours: writing it
// again would lose that one. It is asked before any work.
func ownPage(dir, maker string) error {
	path := filepath.Join(dir, pageFile)
	page, err := record.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil // what is wrong with the path is said when it is used
	}
	if err != nil {
		return unusable(path, err)
	}
	switch have := results.MadeBy(page); have {
	case maker:
		return nil
	case "":
		return bad("%s: not written by this program, and therefore not overwritten: choose another folder with --out", path)
	default:
		return bad("%s: the page of %s, which %s would overwrite: choose another folder with --out", path, commandsOf(have), commandsOf(maker))
	}
}

// commandsOf are the commands that make the page of that eyebrow.
func commandsOf(maker string) string {
	if maker == runsPage {
		return "`simulate train` or `simulate report`"
	}
	return "`" + maker + "`"
}

// unusable is an error of the operating system about a folder, in one line.
func unusable(dir string, err error) error {
	return bad("%s: %w: choose another folder", dir, atomicfile.Cause(err))
}

// emptyFolder returns an error if there is something at the path already.
func emptyFolder(dir string) error {
	entries, err := os.ReadDir(dir)
	entries = slices.DeleteFunc(entries, func(e os.DirEntry) bool { return e.Name() == record.LockFile })
	switch {
	case os.IsNotExist(err):
		return nil
	case err != nil:
		return unusable(dir, err)
	case len(entries) > 0:
		const most = 3
		names := stats.Map(entries[:min(len(entries), most)], os.DirEntry.Name)
		if len(entries) > most {
			names = append(names, "...")
		}
		return bad("%s: the folder is not empty (it has %s): choose another folder", dir, strings.Join(names, ", "))
	}
	return nil
}

// folderKind is what a folder was made for, in words, as far as its files say; empty for any other, and for none.
type folderKind string

const (
	runFolder        folderKind = "the folder of a run"
	runsFolder       folderKind = "a folder of runs"
	checkpointFolder folderKind = "a checkpoint"
)

// kindOf looks at a folder; run is the first run in one that holds runs, and the folder
// itself where it is a run's.
func kindOf(dir string) (kind folderKind, run string) {
	has := func(name string) bool {
		_, err := os.Stat(filepath.Join(dir, name))
		return err == nil
	}
	switch {
	case has(record.RecipeFile):
		return runFolder, dir
	case has("config.json"):
		return checkpointFolder, ""
	}
	const most = 10_000 // entries, of a folder that is no runs'
	seen := 0
	// What cannot be read holds nothing that could be named.
	_ = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if seen++; err != nil || seen > most {
			return fs.SkipAll
		}
		if entry.Name() == record.RecipeFile && path != dir {
			kind, run = runsFolder, filepath.Dir(path)
			return fs.SkipAll
		}
		return nil
	})
	return kind, run
}

// sweepFolder is the error for a sweep's folder in the place of a run's; nil for any other.
func sweepFolder(dir string) error {
	if _, err := os.Stat(filepath.Join(dir, study.PlanFile)); err != nil {
		return nil
	}
	return bad("%s: a sweep's folder: simulate sweep report %s", dir, record.ShellWord(dir))
}

// folderForRecipe is the error for a folder in the place of a recipe, nil if it is none.
func folderForRecipe(dir string) error {
	if slices.Contains(recipe.Names(), dir) {
		return nil
	}
	switch kind, run := kindOf(dir); kind {
	case runFolder, runsFolder:
		return bad("%s: %s, and a recipe is a file: give %s; `simulate evaluate %s` samples its trained weights",
			dir, kind, filepath.Join(run, record.RecipeFile), run)
	case checkpointFolder:
		return bad("%s: %s, and a recipe is a file: give a recipe, and the weights with --set checkpoint=%[1]s", dir, kind)
	}
	return nil
}

// folderForWeights is the error for a folder in the place of a checkpoint that is none;
// nil where nothing better can be said.
func folderForWeights(dir string) error {
	kind, run := kindOf(dir)
	if run == "" {
		return nil
	}
	weights := filepath.Join(run, record.CheckpointFolder)
	if _, err := os.Stat(weights); err != nil {
		return bad("%s: %s that is not finished: it has no checkpoint yet", dir, kind)
	}
	return bad("%s: %s: give its weights, %s", dir, kind, weights)
}

// folderToEvaluate is the error for a folder that is no run's.
func folderToEvaluate(dir string) error {
	switch kind, run := kindOf(dir); kind {
	case runFolder:
		return nil
	case runsFolder:
		return bad("%s: %s: name them, such as %s", dir, kind, run)
	case checkpointFolder:
		return bad("%s: a checkpoint: give a recipe with the task, and the weights: simulate evaluate default --set checkpoint=%[1]s", dir)
	}
	return bad("%s: no run in this folder or below: give the folder of a finished run, or a recipe", dir)
}
