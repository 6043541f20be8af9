package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"driftlab/experiments/study/sources"
	"driftlab/precision/must"
	"driftlab/trainer/recipe"

	"mvdan.cc/sh/v3/shell"
)

var exhaustive = flag.Bool("exhaustive", false, "run every command of the list of coverage, as in nightly tests, in place of reading its names and flags")

// TestPublishedCoverage: the published list is what the program says now.
func TestPublishedCoverage(t *testing.T) {
	list := must.Get(sources.Coverage())(t)
	for _, p := range sources.CoveragePages(list) {
		checkPublished(t, p.Name, p.Text)
	}
}

// TestCoverageCommands: every command of the list, and of that of figures, has a subcommand and flags that exist, names
// recipes, methods, systems, fields and files that exist, and a recipe that is valid with its changes,
// each of which acts. A shell reads the command as it is meant.
func TestCoverageCommands(t *testing.T) {
	t.Chdir(filepath.Join("..", ".."))
	list := must.Get(sources.Coverage())(t)
	for _, f := range must.Get(sources.Figures())(t) {
		list = append(list, sources.Covered{Item: f.ID, Answers: f.Answers})
	}
	seen := map[string]bool{}
	for _, c := range list {
		for _, line := range c.Answers {
			if kind, _, _ := strings.Cut(line, " "); slices.Contains([]string{"claim", "check", "map", "alarm"}, kind) || seen[line] {
				continue
			}
			seen[line] = true
			typed, err := shell.Fields(sources.CoverageCommand(line), nil)
			if err != nil || !slices.Equal(typed, strings.Fields(line)) {
				t.Errorf("%s: a shell reads %s as %q (%v)", c.Item, sources.CoverageCommand(line), typed, err)
			}
			if err := tryCommand(t, strings.Fields(line)); err != nil {
				t.Errorf("%s: simulate %s: %v", c.Item, line, err)
			}
		}
	}
}

// tryCommand reads a command, and runs it if it takes no time or the test is exhaustive.
func tryCommand(t *testing.T, args []string) error {
	t.Helper()
	var out, stderr bytes.Buffer
	if *exhaustive && (args[0] == "train" || args[0] == "measure" || args[0] == "diagnose") {
		folder := t.TempDir()
		if at := slices.Index(args, "--dump"); at >= 0 {
			args[at+1] = filepath.Join(folder, args[at+1])
		}
		args = append(args, "--out", filepath.Join(folder, "run"))
		if args[0] != "diagnose" {
			args = append(args, "-q")
		}
		if args[0] == "train" {
			args = append(args, "--set", "steps=2", "--set", "eval.every=0")
		}
		a := &app{ctx: context.Background(), stdout: &out, stderr: &stderr}
		return a.dispatch(args)
	}
	c := new(cli)
	a := &app{ctx: context.Background(), stdout: &out, stderr: &stderr}
	var err error
	if a.parser, err = newParser(a, c); err != nil {
		return err
	}
	k, err := a.parser.Parse(args)
	if err != nil {
		return err
	}
	switch args[0] {
	case "train":
		config, err := c.Train.readConfig(a)
		if err != nil {
			return err
		}
		if config != nil {
			if c.Train.before, err = config.Changes(); err != nil {
				return err
			}
		}
		r, err := c.Train.load(c.Train.Recipe)
		if err != nil {
			return err
		}
		for _, n := range recipe.NoEffects(r) {
			if !n.OfUsualLoss() {
				return errors.New(n.Note)
			}
		}
		return nil
	case "measure":
		m := &c.Measure
		m.setBy("--rollout", "rollout.numerics", m.Rollout)
		m.setBy("--learner", "learner.numerics", m.Learner)
		_, err := m.load(m.Recipe)
		return err
	case "evaluate":
		_, err := c.Evaluate.load(c.Evaluate.What[0])
		return err
	case "diagnose":
		_, err := os.Stat(args[1])
		return err
	case "study":
		_, err := readPlan(args[1])
		return err
	case "pretrain":
		_, err := c.Pretrain.load(c.Pretrain.Recipe)
		return err
	}
	return k.Run(a)
}

// TestCoverageFaults: what names nothing is an error.
func TestCoverageFaults(t *testing.T) {
	for _, line := range []string{
		"feature\tS4\tPPO\t\t",
		"statement\tS9\tx\tclaim tp-order\t",
		"thing\tS4\tx\tclaim tp-order\t",
		"statement\tS4\tx\tclaim tp-border\t",
		"statement\tS4\tx\tcheck tp-order: distinct\t",
		"statement\tS4\tx\talarm clipped share\t",
		"statement\tS4\tx\tmap staleness: 17, none\t",
		"statement\tS4\tx",
	} {
		if _, err := sources.ParseCoverage(line + "\n"); err == nil {
			t.Errorf("%q is accepted", line)
		}
	}
	for _, line := range []string{"train defaults", "train default --set loss=pppo", "train default --sett x=1", "methods pppo", "schedule areals", "trains default", "diagnose no-such-file"} {
		if err := tryCommand(t, strings.Fields(line)); err == nil {
			t.Errorf("simulate %s is accepted", line)
		}
	}
}
