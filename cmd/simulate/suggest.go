package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"driftlab/trainer/method"
	"driftlab/trainer/recipe"

	"github.com/alecthomas/kong"
)

// withRemedy says what was perhaps meant by a command line that is none.
func withRemedy(err error, model *kong.Application, args []string) error {
	var parse *kong.ParseError
	if !errors.As(err, &parse) {
		return err
	}
	if flag, ok := strings.CutPrefix(err.Error(), "unknown flag --"); ok {
		flag, _, _ = strings.Cut(flag, ", did you mean")
		if remedy := flagRemedy(flag, valueOf(flag, args), selected(parse.Context), model); remedy != "" {
			return bad("unknown flag --%s: %s", flag, remedy)
		}
		return err
	}
	// A word that is no command is taken for an argument of the default
	// command, which has none.
	if len(args) > 0 && strings.HasPrefix(err.Error(), "unexpected argument "+args[0]) && !strings.Contains(err.Error(), "did you mean") {
		return unknownCommand(args[0], model.Node)
	}
	return err
}

// unknownCommand is the error for a word that names none of a node's commands.
func unknownCommand(word string, parent *kong.Node) error {
	var names []string
	for _, command := range parent.Children {
		if !command.Hidden {
			names = append(names, command.Name)
		}
	}
	if near := method.Nearest(word, names); near != "" {
		return bad("unknown command %q: did you mean %q?", word, near)
	}
	return bad("unknown command %q; `simulate --help` lists them", word)
}

// selected is the command that was parsed as far as it went, the default one
// where none was named.
func selected(ctx *kong.Context) *kong.Node {
	if node := ctx.Selected(); node != nil {
		return node
	}
	return ctx.Model.DefaultCmd
}

// flagRemedy says what to write instead of a flag that a command has not: the
// field of the recipe it is, or which commands have that flag. Empty if there is
// neither.
func flagRemedy(flag, value string, command *kong.Node, model *kong.Application) string {
	if fields := fieldsNamed(flag); flagsOf(command)["set"] && len(fields) > 0 {
		for i, path := range fields {
			fields[i] = "--set " + path + "=" + value
		}
		return "it is a field of the recipe: say " + strings.Join(fields, " or ")
	}
	var holders []string
	for _, leaf := range model.Leaves(true) {
		if name, _, _ := strings.Cut(commandName(leaf), " "); flagsOf(leaf)[flag] && !slices.Contains(holders, name) {
			holders = append(holders, name)
		}
	}
	if len(holders) == 0 {
		return ""
	}
	return fmt.Sprintf("%s has no use for it (only: %s)", commandName(command), strings.Join(holders, ", "))
}

// valueOf is what was given to a flag, dots if that is nothing.
func valueOf(flag string, args []string) string {
	for i, arg := range args {
		if value, ok := strings.CutPrefix(arg, "--"+flag+"="); ok {
			return value
		}
		if arg == "--"+flag && i+1 < len(args) && !strings.HasPrefix(args[i+1], "--") {
			return args[i+1]
		}
	}
	return "..."
}

// fieldsNamed are the fields of a recipe with that path or that last name, the
// shortest paths if there are many. Sections have no value to set.
func fieldsNamed(name string) []string {
	name = strings.ReplaceAll(name, "-", "_")
	var fields []string
	for _, f := range recipe.Reference() {
		switch {
		case f.Default == "":
		case f.Path == name:
			return []string{f.Path}
		case strings.HasSuffix(f.Path, "."+name) && !strings.Contains(f.Path, "["):
			fields = append(fields, f.Path)
		}
	}
	slices.SortStableFunc(fields, func(a, b string) int { return len(a) - len(b) })
	const most = 3
	return fields[:min(len(fields), most)]
}

// flagsOf are the names of a command's flags.
func flagsOf(command *kong.Node) map[string]bool {
	names := map[string]bool{}
	for _, group := range command.AllFlags(true) {
		for _, f := range group {
			names[f.Name] = true
		}
	}
	return names
}

// commandName is how a command is called, without the program's name.
func commandName(command *kong.Node) string {
	_, name, _ := strings.Cut(command.FullPath(), " ")
	return name
}
