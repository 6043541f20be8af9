package main

import (
	"context"
	"errors"
	"io"
	"runtime"
	"strconv"
	"strings"

	"driftlab/model"
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
	Reproduce  reproduceCmd  `cmd:"" help:"Published claims, measured and judged."`
	Pretrain   pretrainCmd   `cmd:"" help:"Supervised warm start -> checkpoint."`
	Methods    methodsCmd    `cmd:"" help:"What is implemented: formula, unit, source, defaults."`
	Checkpoint checkpointCmd `cmd:"" help:"The base checkpoints inside the binary."`
	Report     reportCmd     `cmd:"" help:"Self-contained HTML and SVG from finished runs."`
	Bench      benchCmd      `cmd:"" help:"Tokens per second, by phase."`
}

const description = `Train a tiny mixture-of-experts policy by reinforcement learning in two engines that deliberately disagree.

Recipes are shipped by name or are YAML files; any of their fields can be changed with --set.`

// common are the flags of every command. Where nothing random happens the seed
// changes nothing, and where no recipe is read there is nothing to set.
type common struct {
	JSON    bool     `name:"json" help:"Print one JSON document on standard output, and nothing else there."`
	Seed    *uint64  `help:"Start of every random stream: short for --set seed=N." placeholder:"N"`
	Out     string   `help:"Folder to write to." placeholder:"DIR"`
	Quiet   bool     `short:"q" help:"No progress on standard error."`
	Set     []string `sep:"none" help:"Change a field of the recipe; may be repeated." placeholder:"PATH=VALUE"`
	Workers int      `help:"Cores to use; 0 means all. It changes no figure." default:"0" placeholder:"N"`
}

// workers is the number of cores to use.
func (c *common) workers() int {
	if c.Workers > 0 {
		return c.Workers
	}
	return runtime.GOMAXPROCS(0)
}

// sets are the assignments of the flags, in order; the seed comes last.
func (c *common) sets() []string {
	if c.Seed == nil {
		return c.Set
	}
	return append(c.Set[:len(c.Set):len(c.Set)], "seed="+strconv.FormatUint(*c.Seed, 10))
}

// app is what the commands share.
type app struct {
	ctx            context.Context
	stdout, stderr io.Writer
}

// dispatch parses the arguments and runs the command they name.
func (a *app) dispatch(args []string) error {
	var c cli
	parser, err := kong.New(&c,
		kong.Name("simulate"), kong.Description(description),
		kong.Writers(a.stdout, a.stderr), kong.Exit(func(status int) { panic(exit(status)) }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 100}),
	)
	if err != nil {
		return err
	}
	k, err := parser.Parse(args)
	if err != nil {
		return withNearestCommand(err, parser, args)
	}
	return k.Run(a)
}

// withNearestCommand adds the command that was perhaps meant: a word that is
// none is taken for an argument of the default command, which has none.
func withNearestCommand(err error, parser *kong.Kong, args []string) error {
	if len(args) == 0 || !strings.HasPrefix(err.Error(), "unexpected argument "+args[0]) || strings.Contains(err.Error(), "did you mean") {
		return err
	}
	var names []string
	for _, command := range parser.Model.Children {
		names = append(names, command.Name)
	}
	if near := method.Nearest(args[0], names); near != "" {
		return bad("unknown command %q: did you mean %q?", args[0], near)
	}
	return bad("unknown command %q; `simulate --help` lists them", args[0])
}

// load reads a recipe with the flags' changes, and its checkpoint's header, so
// that whatever is wrong with either is said before any work starts.
func (c *common) load(nameOrPath string) (recipe.Recipe, error) {
	r, err := recipe.Load(nameOrPath, c.sets()...)
	if err != nil {
		return r, err
	}
	if r.Checkpoint == "" {
		return r.Resolved(), nil
	}
	at := func(field, problem string) recipe.Fault {
		source, line := recipe.Locate(nameOrPath, field, c.sets()...)
		return recipe.Fault{Source: source, Line: line, Path: field, Problem: problem}
	}
	ck, err := openCheckpoint(r.Checkpoint)
	if err != nil {
		return r, recipe.Faults{at("checkpoint", err.Error())}
	}
	resolved, err := r.ResolvedFor(ck.Params.Config)
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
		return nil, errors.New(strings.TrimPrefix(err.Error(), "checkpoint "))
	}
	return ck, nil
}
