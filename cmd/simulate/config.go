package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"driftlab/trainer/recipe/foreign"
)

// configFlag is of the commands that take another trainer's configuration.
type configFlag struct {
	Config string `help:"Correction, and the loss and routing that go with it, from a block or file of verl, SkyRL, TRL, slime, NeMo-RL, AReaL, OpenRLHF, ROLL or prime-rl." placeholder:"FILE" complete:"files"`
}

// mostConfig is more than any configuration has, so that what is longer is told, and not cut.
const mostConfig = 4<<20 + 1

// readConfig reads the file, nil if none is given, and tells what of it a recipe cannot say.
func (f *configFlag) readConfig(a *app) (*foreign.Config, error) {
	if f.Config == "" {
		return nil, nil
	}
	file, err := os.Open(f.Config)
	if err != nil {
		return nil, bad("--config %s: %v", f.Config, errors.Unwrap(err))
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, mostConfig))
	if err != nil {
		return nil, bad("--config %s: %v", f.Config, errors.Unwrap(err))
	}
	c, err := foreign.Read(f.Config, text)
	if err != nil {
		return nil, err
	}
	if c.Off != "" {
		fmt.Fprintf(a.stderr, "simulate: note: %s: %s would not apply its correction: %s\n", f.Config, c.Framework, c.Off)
	}
	for _, note := range c.Notes {
		fmt.Fprintf(a.stderr, "simulate: note: %s: %s: %s\n", f.Config, c.Framework, note)
	}
	return c, nil
}
