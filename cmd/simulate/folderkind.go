package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"driftlab/results/record"
	"driftlab/trainer/recipe"
)

// folderKind is what a folder was made for, as far as its files say.
type folderKind int

const (
	notAFolder folderKind = iota
	otherFolder
	runFolder        // a run's
	runsFolder       // it holds runs
	checkpointFolder // weights
)

// kindOf looks at a folder; run is the first run in one that holds runs, and the folder
// itself where it is a run's.
func kindOf(dir string) (kind folderKind, run string) {
	has := func(parts ...string) bool {
		_, err := os.Stat(filepath.Join(append([]string{dir}, parts...)...))
		return err == nil
	}
	switch {
	case !has("."):
		return notAFolder, ""
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
		if entry.Name() == record.RecipeFile {
			run = filepath.Dir(path)
			return fs.SkipAll
		}
		return nil
	})
	if run != "" {
		return runsFolder, run
	}
	return otherFolder, ""
}

// folderForRecipe is the error for a folder in the place of a recipe, nil if it is none.
func folderForRecipe(dir string) error {
	if slices.Contains(recipe.Names(), dir) {
		return nil
	}
	switch kind, run := kindOf(dir); kind {
	case runFolder, runsFolder:
		return bad("%s: %s, and a recipe is a file: give %s; `simulate evaluate %s` samples the weights it came to",
			dir, folderText(kind), filepath.Join(run, record.RecipeFile), run)
	case checkpointFolder:
		return bad("%s: a checkpoint, and a recipe is a file: give a recipe, and the weights with --set checkpoint=%[1]s", dir)
	}
	return nil
}

// folderForWeights is the error for a folder in the place of a checkpoint that is none;
// nil where nothing better can be said.
func folderForWeights(dir string) error {
	switch kind, run := kindOf(dir); kind {
	case runFolder, runsFolder:
		weights := filepath.Join(run, record.CheckpointFolder)
		if _, err := os.Stat(weights); err != nil {
			return bad("%s: %s that has not ended: it has no checkpoint yet", dir, folderText(kind))
		}
		return bad("%s: %s: give its weights, %s", dir, folderText(kind), weights)
	}
	return nil
}

// folderToEvaluate is the error for a folder that is no run's.
func folderToEvaluate(dir string) error {
	switch kind, run := kindOf(dir); kind {
	case runFolder:
		return nil
	case runsFolder:
		return bad("%s: %s: name them, such as %s", dir, folderText(kind), run)
	case checkpointFolder:
		return bad("%s: a checkpoint: give a recipe that says the task, and the weights: simulate evaluate default --set checkpoint=%[1]s", dir)
	}
	return bad("%s: no run here or below: give the folder of a finished run, or a recipe", dir)
}

// folderText says what a folder with runs is.
func folderText(kind folderKind) string {
	if kind == runsFolder {
		return "a folder of runs"
	}
	return "the folder of a run"
}
