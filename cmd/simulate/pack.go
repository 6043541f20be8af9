package main

import (
	"fmt"

	"driftlab/experiments/claims/reproduce"
	"driftlab/experiments/sweep"
)

type packCmd struct {
	Undo bool     `help:"Write the plain files again."`
	Dirs []string `arg:"" complete:"dirs" help:"Folders of claims or sweeps, or folders that hold some."`
}

// Help is the long help text.
func (*packCmd) Help() string {
	return `Compresses finished results: runs.jsonl of a sweep to an eighth, the observations of each claim into one file, to a third. They are
stored by columns with zstd, and every byte comes back. Every command reads packed folders as they are, and the seals stay those
of the plain lines. A run that writes into a packed sweep makes its log plain again.

Examples:
  simulate pack runs/table
  simulate pack --undo results/published   # for other programs that read the JSON lines`
}

// Run packs.
func (c *packCmd) Run(a *app) error {
	verb := "packed"
	if c.Undo {
		verb = "unpacked"
	}
	for _, dir := range c.Dirs {
		observations, logs, err := eachResult(dir, func(dir string) (int, error) { return reproduce.Pack(dir, c.Undo) },
			func(dir string) (int, error) { return sweep.Pack(dir, c.Undo) })
		if err != nil {
			return err
		}
		fmt.Fprintf(a.stdout, "%s: %s %d observations of claims and %d logs of sweeps\n", dir, verb, observations, logs)
	}
	return nil
}
