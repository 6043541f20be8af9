package main

import (
	"fmt"
	"os"
	"path/filepath"

	"driftlab/results/record"
	"driftlab/trainer/method/loss/scaffold"
)

type newCmd struct {
	Loss newLossCmd `cmd:"" help:"Write the file of a new loss and its line in the registry."`
}

type newLossCmd struct {
	Name string `arg:"" help:"The name that recipes will use, such as tanh_pg."`
}

// Run writes the files.
func (c *newLossCmd) Run(a *app) error {
	root, err := scaffold.Root(".")
	if err != nil {
		return bad("new loss: %w", err)
	}
	files, err := scaffold.Loss(root, c.Name)
	if err != nil {
		return bad("new loss: %w", err)
	}
	for _, f := range files {
		path := filepath.Join(root, filepath.FromSlash(f.Path))
		if err := record.WriteFile(filepath.Dir(path), filepath.Base(path), []byte(f.Text)); err != nil {
			return err
		}
		here, _ := os.Getwd() // "" if it is gone
		if shown, err := filepath.Rel(here, path); err == nil {
			path = shown
		}
		fmt.Fprintf(a.stdout, "Wrote %s\n", path)
	}
	fmt.Fprint(a.stdout, textOf("new loss", c.Name))
	return nil
}
