package main

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"driftlab/experiments/diagnose/reader"
	"driftlab/model"
	"driftlab/results/record"
	"driftlab/results/stats"
	"driftlab/trainer"
	"driftlab/trainer/method"
	"driftlab/trainer/recipe"

	"github.com/alecthomas/kong"
)

// cli is the command line: one field per command.
type cli struct {
	Headline   headlineCmd   `cmd:"" default:"withargs" help:"The main job: a small map of where training is stable, by learning rate. Runs without a command."`
	Measure    measureCmd    `cmd:"" help:"Training-inference mismatch at equal weights: no training, seconds."`
	Train      trainCmd      `cmd:"" help:"Train one run from a recipe."`
	Compare    compareCmd    `cmd:"" help:"Train several recipes with several seeds: one table, one plot."`
	Sweep      sweepCmd      `cmd:"" help:"Ablation: a grid over any fields of recipes, resumable, parallel, on one machine or a cluster."`
	Study      studyCmd      `cmd:"" help:"Run a study: the main job, a claim, a shipped sweep or the file of a plan."`
	Reproduce  reproduceCmd  `cmd:"" help:"Reproduce claims of papers: effect, interval, verdict."`
	Evaluate   evaluateCmd   `cmd:"" help:"Pass@k of trained weights, ranked at each k."`
	Schedule   scheduleCmd   `cmd:"" help:"Simulate an asynchronous system on a virtual clock: idle time, staleness, speed-up."`
	Diagnose   diagnoseCmd   `cmd:"" help:"Check the dump of a real run: trust in its log-probs, mismatch, likely cause, correction."`
	Watch      watchCmd      `cmd:"" help:"Follow a run that goes on, and say when an alarm fires, with its false-alarm rate."`
	Lab        labCmd        `cmd:"" help:"Interactive lessons in a browser."`
	Pretrain   pretrainCmd   `cmd:"" help:"Train a base checkpoint on demonstrations."`
	Site       siteCmd       `cmd:"" help:"Write the site: stability map, corrections, claims, methods, lab, as static files."`
	Lesson     lessonCmd     `cmd:"" help:"A lesson of the lab in the terminal."`
	Methods    methodsCmd    `cmd:"" help:"Look up a method, setting, stressor, recipe or field: what it does, formula, source, effects."`
	Checkpoint checkpointCmd `cmd:"" help:"List or export the base checkpoints inside the binary."`
	Report     reportCmd     `cmd:"" help:"Write a self-contained HTML page and SVG plots from runs."`
	Bench      benchCmd      `cmd:"" help:"Measure speed in tokens per second, by phase."`
	New        newCmd        `cmd:"" help:"Write the files of a new method into a clone of the source."`
	Help       helpCmd       `cmd:"" help:"Explain a command, or print the manual page."`
	Completion completionCmd `cmd:"" help:"Print completion for bash, zsh and fish."`
	Complete   completeCmd   `cmd:"" hidden:""`

	Version kong.VersionFlag `help:"Print version, commit and Go version."`
}

const description = `driftlab measures training-inference mismatch and staleness in the reinforcement learning of language models. It trains a tiny
mixture-of-experts (MoE) policy in a rollout engine and a trainer with different numerics, and compares corrections.

A recipe is a shipped name or a YAML file; --set changes any of its fields.`

// app is what the commands share.
type app struct {
	ctx            context.Context
	stdout, stderr io.Writer
	parser         *kong.Kong
	signals        signals
}

// dispatch parses the arguments and runs the command they name.
func (a *app) dispatch(args []string) error {
	a.parser = newParser(a, &cli{})
	args = joinNegatives(args)
	k, err := a.parser.Parse(args)
	if err != nil {
		return withSuggestion(err, a.parser.Model, args)
	}
	if err := checkGiven(k); err != nil {
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

// helpTexts has what each command's --help says after its usage: help/COMMAND.txt.
//
//go:embed help
var helpTexts embed.FS

// indented is a text with two blanks before every line.
func indented(text string) string { return "  " + strings.ReplaceAll(text, "\n", "\n  ") }

// newParser makes the table of commands and flags.
func newParser(a *app, c *cli) *kong.Kong {
	parser := kong.Must(c,
		kong.Name("simulate"), kong.Description(description), kong.Vars{"version": version()},
		kong.Writers(a.stdout, a.stderr), kong.Exit(func(status int) { panic(exit(status)) }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 100}),
	)
	var arms strings.Builder
	for _, arm := range mainArms() {
		fmt.Fprintf(&arms, "  %-22s %s\n", arm.Name, arm.Labels[0].Text)
	}
	parts := strings.NewReplacer("{formats}", reader.FormatTable(), "{neutral}", indented(reader.Neutral), "{arms}", arms.String())
	_ = kong.Visit(parser.Model, func(node kong.Visitable, next kong.Next) error { // it has no error of its own
		if command, ok := node.(*kong.Node); ok {
			name := strings.ReplaceAll(commandName(command), " ", "-")
			if text, err := helpTexts.ReadFile("help/" + name + ".txt"); err == nil {
				command.Detail = parts.Replace(strings.TrimSuffix(string(text), "\n"))
			}
		}
		return next(nil)
	})
	return parser
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
		config, fault := modelOf(r.Checkpoint)
		if fault != nil {
			return r, recipe.Faults{at("checkpoint", fault.Error())}
		}
		resolved, err = r.ResolvedFor(config)
	}
	if err == nil {
		err = trainer.Check(resolved)
	}
	if faults, ok := errors.AsType[recipe.Faults](err); ok {
		for i, f := range faults {
			faults[i] = at(f.Path, f.Problem)
		}
	}
	return resolved, err
}

// shippedModels are the models of shipped checkpoints by name, as far as they were read: all cells of a sweep may name one.
var shippedModels sync.Map

// modelOf is the model of a checkpoint.
func modelOf(nameOrDir string) (model.Config, error) {
	if config, ok := shippedModels.Load(nameOrDir); ok {
		return config.(model.Config), nil
	}
	ck, err := openCheckpoint(nameOrDir)
	if err != nil {
		return model.Config{}, err
	}
	if slices.Contains(model.Shipped(), nameOrDir) {
		shippedModels.Store(nameOrDir, ck.Params.Config)
	}
	return ck.Params.Config, nil
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

type helpCmd struct {
	Topic []string `arg:"" optional:"" name:"command" help:"The command to explain; without one, all are listed."`
	Man   bool     `help:"Print the manual page of the whole program, in the format of man."`
}

// Run prints the help of the command.
func (c *helpCmd) Run(a *app) error {
	if c.Man {
		return a.printText([]byte(manPage(version())))
	}
	node := a.parser.Model.Node
	for _, word := range c.Topic {
		child := childNamed(node, word)
		if child == nil {
			return unknownCommand(word, node)
		}
		node = child
	}
	_, err := a.parser.Parse(append(c.Topic, "--help"))
	return err
}

const (
	statusOK          = 0
	statusFailure     = 1
	statusBadInput    = 2
	statusStrict      = 3   // a verdict that was asked to be one
	statusInterrupted = 130 // 128 + SIGINT, as shells report it
)

// badInput marks an error as the caller's to correct.
type badInput struct{ error }

// Unwrap returns the cause.
func (b badInput) Unwrap() error { return b.error }

func bad(format string, args ...any) error { return badInput{fmt.Errorf(format, args...)} }

// interrupted says that a signal stopped the work, and how to go on.
type interrupted struct{ resume string }

// Error is one line.
func (i interrupted) Error() string { return "stopped; " + i.resume }

func internalError(p any) error {
	return fmt.Errorf("internal error, please report it with the command (SIMULATE_TRACE=1 shows where): %v", p)
}

// fail prints an error, a line for each fault, and returns the exit status.
func (a *app) fail(err error) int {
	if err == nil {
		return statusOK
	}
	if errors.Is(err, context.Canceled) && !errors.As(err, new(interrupted)) {
		err = interrupted{"no results were kept; run the same command again"}
	}
	for _, line := range errorLines(err) {
		fmt.Fprintf(a.stderr, "simulate: %s\n", line)
	}
	return statusOf(err)
}

// errorLines are the faults in an error, a line each. Any other text of two
// lines quotes an input, and is put into one.
func errorLines(err error) []string {
	var lines []string
	switch e := err.(type) {
	case badInput:
		return errorLines(e.error)
	case recipe.Faults:
		lines = stats.Map(e, func(fault recipe.Fault) string { return oneLine(fault.Error()) })
	case interface{ Unwrap() []error }:
		for _, part := range e.Unwrap() {
			lines = append(lines, errorLines(part)...)
		}
	default:
		lines = []string{oneLine(err.Error())}
	}
	return lines
}

func statusOf(err error) int {
	switch {
	case errors.As(err, new(interrupted)):
		return statusInterrupted
	case errors.As(err, new(strict)):
		return statusStrict
	case errors.As(err, new(badInput)), errors.As(err, new(recipe.Faults)), errors.As(err, new(*record.FolderError)),
		errors.As(err, new(*model.CheckpointError)), errors.As(err, new(*kong.ParseError)), errors.As(err, new(*fs.PathError)):
		return statusBadInput
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, fs.ErrPermission), errors.Is(err, fs.ErrNotExist):
		return statusBadInput
	}
	return statusFailure
}
