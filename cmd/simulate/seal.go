package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"driftlab/experiments/claims/reproduce"
	"driftlab/experiments/sweep"
)

type sealCmd struct {
	Dirs []string `arg:"" complete:"dirs" help:"Folders of claims or sweeps, or folders that hold some."`
}

// Help is the long help text.
func (*sealCmd) Help() string {
	return `Claims and sweeps have seals: the SHA-256 of every observation, and of every line of runs.jsonl. A file that does not
match its seal is refused, by name. This command seals folders that were made before there were seals, with no other
change. It refuses what contradicts itself, and writes no seal anew that is there.

Examples:
  simulate seal runs/reproduce runs/screen`
}

// Run seals.
func (c *sealCmd) Run(a *app) error {
	for _, dir := range c.Dirs {
		files, lines, err := eachResult(dir, reproduce.Seal, sweep.Seal)
		if err != nil {
			return err
		}
		fmt.Fprintf(a.stdout, "%s: sealed %d files of claims and %d lines of sweeps\n", dir, files, lines)
	}
	return nil
}

// eachResult does something with every directory of claims and every folder of a sweep at or
// below a folder, and adds up how many there were of what it counts.
func eachResult(dir string, claims, sweeps func(dir string) (int, error)) (ofClaims, ofSweeps int, err error) {
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		if info, err := os.Stat(filepath.Join(path, "claims")); err == nil && info.IsDir() {
			n, err := claims(path)
			if ofClaims += n; err != nil {
				return err
			}
		}
		if _, err := os.Stat(filepath.Join(path, sweep.IndexFile)); err != nil {
			return nil
		}
		n, err := sweeps(path)
		ofSweeps += n
		return err
	})
	return ofClaims, ofSweeps, err
}
