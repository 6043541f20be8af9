package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"driftlab/experiments/bench"
)

// build is a program that has bench.
type build struct {
	name string // in a complaint
	path string
	bench.Build
}

// timeInTurns times this build and another, each as a process of its own, the first
// of a round last in the next.
func (c *benchCmd) timeInTurns(a *app) error {
	here, err := os.Executable()
	if err != nil {
		return err
	}
	there, err := filepath.Abs(c.Against)
	if err != nil {
		return err
	}
	if info, err := os.Stat(there); err != nil || info.IsDir() {
		return bad("--against %s: no program is there", c.Against)
	}
	pair := []*build{{name: "this build", path: here}, {name: "--against " + c.Against, path: there}}
	m := a.meter(c.Quiet, "bench", "run", 2*int(c.Rounds))
	defer m.close()
	for round := range int(c.Rounds) {
		for i := range pair {
			b := pair[(i+round)%2]
			if err := b.time(a, a.changed("bench")); err != nil {
				if err := a.ctx.Err(); err != nil {
					return err
				}
				return badInput{fmt.Errorf("%s: %w", b.name, err)}
			}
			m.add(1, 0, "")
		}
	}
	m.close()
	doc := bench.Compare(c.Against, &pair[0].Build, &pair[1].Build)
	if c.JSON {
		return a.printJSON(doc)
	}
	a.printTable(doc.Table())
	return nil
}

// changed are a command's flags as the user changed them, without those that say
// what is printed: so that a build that lacks a new flag is asked for nothing but
// what it would do anyway.
func (a *app) changed(command string) []string {
	args := []string{command, "--json", "--quiet"}
	for _, f := range visibleFlags(childNamed(a.parser.Model.Node, command)) {
		value := fmt.Sprint(f.Target.Interface())
		switch f.Name {
		case "json", "quiet", "against", "rounds", "help", "version":
		default:
			if value != f.Default && !(f.IsBool() && value == "false") {
				args = append(args, "--"+f.Name+"="+value)
			}
		}
	}
	return args
}

// time runs the build once.
func (b *build) time(a *app, args []string) error {
	if b.Ungrouped {
		args = slices.DeleteFunc(slices.Clone(args), func(arg string) bool { return strings.HasPrefix(arg, "--group=") })
	}
	command := exec.CommandContext(a.ctx, b.path, args...)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	text, err := command.Output()
	var status *exec.ExitError
	if errors.As(err, &status) && !b.Ungrouped && strings.Contains(stderr.String(), "unknown flag --group") {
		b.Ungrouped = true
		return b.time(a, args)
	}
	if err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, strings.TrimPrefix(strings.TrimSpace(stderr.String()), "simulate: "))
	}
	var doc map[string]any
	if err := json.Unmarshal(text, &doc); err != nil {
		return errors.New("does not print what bench --json does")
	}
	return b.Add(doc, command.ProcessState.UserTime().Seconds()+command.ProcessState.SystemTime().Seconds())
}
