package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"strconv"
	"strings"

	"driftlab/model"
	"driftlab/trainer"
	"driftlab/trainer/method"
	"driftlab/trainer/recipe"

	"github.com/alecthomas/kong"
)

// cli is the command line: one field per command.
type cli struct {
	Headline   headlineCmd   `cmd:"" default:"withargs" help:"Measure the gap, provoke a collapse, compare fixes: what runs without a command."`
	Measure    measureCmd    `cmd:"" help:"Engine gap at equal weights: no training, seconds."`
	Train      trainCmd      `cmd:"" help:"One run."`
	Compare    compareCmd    `cmd:"" help:"Several recipes x seeds: one table, one picture."`
	Sweep      sweepCmd      `cmd:"" help:"A grid over any fields of recipes: resumes, runs in parallel, shards over a cluster."`
	Table      tableCmd      `cmd:"" help:"The table of methods, from the sweeps screen, confirm, models and doses."`
	Reproduce  reproduceCmd  `cmd:"" help:"Published claims, measured and judged."`
	Evaluate   evaluateCmd   `cmd:"" help:"Pass@k of trained weights, and which are best at which k."`
	Schedule   scheduleCmd   `cmd:"" help:"A published system's schedule on a virtual clock: idle, lag, speed-ups."`
	Diagnose   diagnoseCmd   `cmd:"" help:"A real run's dump: whether its log-probs can be trusted, and the gap."`
	Lab        labCmd        `cmd:"" help:"The lab: lessons in a browser, with this program behind them."`
	Pretrain   pretrainCmd   `cmd:"" help:"Supervised warm start -> checkpoint."`
	Lesson     lessonCmd     `cmd:"" help:"A lesson of the lab in the terminal: question, guess, run, figure."`
	Methods    methodsCmd    `cmd:"" help:"What is implemented: formula, unit, source, defaults."`
	Checkpoint checkpointCmd `cmd:"" help:"The base checkpoints inside the binary."`
	Seal       sealCmd       `cmd:"" help:"Seals for claims and sweeps that were made before there were any."`
	Pack       packCmd       `cmd:"" help:"Compresses finished sweeps and claims, which stay readable."`
	Report     reportCmd     `cmd:"" help:"Self-contained HTML and SVG from finished runs."`
	Bench      benchCmd      `cmd:"" help:"Tokens per second, by phase."`
	New        newCmd        `cmd:"" help:"Files of a new method, in a clone of the source."`
	Help       helpCmd       `cmd:"" help:"Explain a command, or print the manual page."`
	Completion completionCmd `cmd:"" help:"Completion for bash, zsh and fish."`
	Complete   completeCmd   `cmd:"" hidden:""`

	Version kong.VersionFlag `help:"Print module, commit and Go version."`
}

const description = `Train a tiny mixture-of-experts policy by reinforcement learning in two engines that deliberately disagree.

Recipes are shipped by name or are YAML files; any of their fields can be changed with --set.`

// app is what the commands share.
type app struct {
	ctx            context.Context
	stdout, stderr io.Writer
	parser         *kong.Kong
	signals        signals
}

// dispatch parses the arguments and runs the command they name.
func (a *app) dispatch(args []string) error {
	var err error
	if a.parser, err = newParser(a, &cli{}); err != nil {
		return err
	}
	args = joinNegatives(args)
	k, err := a.parser.Parse(args)
	if err != nil {
		return withRemedy(err, a.parser.Model, args)
	}
	if err := emptyValue(k); err != nil {
		return err
	}
	return k.Run(a)
}

// joinNegatives writes --flag -1 as --flag=-1: the parser would take a negative number for a flag.
func joinNegatives(args []string) []string {
	var joined []string
	for i, word := range args {
		if word == "--" {
			return append(joined, args[i:]...)
		}
		_, err := strconv.ParseFloat(word, 64)
		if i > 0 && err == nil && word[0] == '-' && strings.HasPrefix(args[i-1], "--") && !strings.Contains(args[i-1], "=") {
			joined[len(joined)-1] += "=" + word
		} else {
			joined = append(joined, word)
		}
	}
	return joined
}

// newParser makes the table of commands and flags.
func newParser(a *app, c *cli) (*kong.Kong, error) {
	return kong.New(c,
		kong.Name("simulate"), kong.Description(description), kong.Vars{"version": version()},
		kong.Writers(a.stdout, a.stderr), kong.Exit(func(status int) { panic(exit(status)) }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 100}),
	)
}

// load reads a recipe with the flags' changes and the models that it names, so
// that whatever is wrong with them is said before any work starts.
func (f *recipeFlags) load(nameOrPath string) (recipe.Recipe, error) {
	changes, err := f.changes()
	if err != nil {
		return recipe.Recipe{}, err
	}
	r, err := loadChanged(nameOrPath, changes)
	return r, f.asTyped(err)
}

// loadChanged reads a recipe with changes of any origin, and the models that it names.
func loadChanged(nameOrPath string, changes []recipe.Change) (recipe.Recipe, error) {
	r, err := recipe.LoadChanged(nameOrPath, changes...)
	if err != nil {
		return r, cmp.Or(folderForRecipe(nameOrPath), err)
	}
	at := func(field, problem string) recipe.Fault {
		source, line := recipe.Locate(nameOrPath, field, changes...)
		return recipe.Fault{Source: source, Line: line, Path: field, Problem: problem}
	}
	resolved := r.Resolved()
	if r.Checkpoint != "" {
		ck, fault := openCheckpoint(r.Checkpoint)
		if fault != nil {
			return r, recipe.Faults{at("checkpoint", fault.Error())}
		}
		resolved, err = r.ResolvedFor(ck.Params.Config)
	}
	if err == nil {
		err = trainer.Check(resolved)
	}
	var faults recipe.Faults
	if errors.As(err, &faults) {
		for i, f := range faults {
			faults[i] = at(f.Path, f.Problem)
		}
	}
	return resolved, err
}

// openCheckpoint is model.Open; a name that is none gets the nearest one.
func openCheckpoint(nameOrDir string) (*model.Checkpoint, error) {
	ck, err := model.Open(nameOrDir)
	if err != nil && !strings.ContainsAny(nameOrDir, `/\`) && method.Nearest(nameOrDir, model.Shipped()) != "" {
		return nil, method.UnknownName(nameOrDir, model.Shipped())
	}
	if err != nil {
		return nil, cmp.Or(folderForWeights(nameOrDir), errors.New(strings.TrimPrefix(err.Error(), "checkpoint ")))
	}
	return ck, nil
}
