package main

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"driftlab/experiments"
	"driftlab/experiments/claims"
	"driftlab/trainer/recipe"

	"github.com/alecthomas/kong"
)

// readmeCommands are the command lines of a page: what follows the program's name
// in the lines that are set in, without their comments, and in `quotes`.
func readmeCommands(page string) [][]string {
	var commands [][]string
	line := regexp.MustCompile(`(?m)^ {4}.*?(?:\./simulate|go run \./cmd/simulate)\b([^#|\n)]*)`)
	quoted := regexp.MustCompile("`(?:\\./)?simulate ([^`]+)`")
	for _, match := range slices.Concat(line.FindAllStringSubmatch(page, -1), quoted.FindAllStringSubmatch(page, -1)) {
		commands = append(commands, strings.Fields(match[1]))
	}
	return commands
}

// wrong says why a command line could not be run, nil if it could.
func wrong(args []string) (err error) {
	defer func() {
		if e, ok := recover().(exit); ok && e != 0 {
			err = bad("exit status %d", int(e))
		}
	}()
	var c cli
	parser, err := newParser(&app{stdout: io.Discard, stderr: io.Discard}, &c)
	if err != nil {
		return err
	}
	k, err := parser.Parse(args)
	if err != nil {
		return withRemedy(err, parser.Model, args)
	}
	return knownNames(k, &c)
}

// knownNames looks up what a command line names.
func knownNames(k *kong.Context, c *cli) error {
	var err error
	switch command, _, _ := strings.Cut(k.Command(), " "); command {
	case "headline":
		_, err = experiments.ChooseArms(c.Headline.Arms)
	case "measure":
		c.Measure.setBy("--rollout", "rollout.numerics", c.Measure.Rollout)
		c.Measure.setBy("--learner", "learner.numerics", c.Measure.Learner)
		_, err = c.Measure.load(c.Measure.Recipe)
	case "train":
		_, err = c.Train.load(c.Train.Recipe)
	case "compare":
		for _, name := range c.Compare.Recipes {
			if _, failed := c.Compare.load(name); failed != nil {
				err = failed
			}
		}
	case "reproduce":
		for _, id := range c.Reproduce.Claims {
			if _, ok := claims.Lookup(id); !ok {
				err = bad("no claim %s", id)
			}
		}
	case "methods":
		name := c.Methods.Name
		if !slices.Contains([]string{"", "recipes", "systems", "numerics", "presets", "tanh_pg"}, name) && recipe.LookUp(name) == nil && !slices.Contains(recipe.Names(), name) {
			_, err = findMethods(name)
		}
	}
	return err
}

// TestReadmeCommands: every command of the README is one, with flags it has and
// names that exist.
func TestReadmeCommands(t *testing.T) {
	page, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	commands := readmeCommands(string(page))
	named := map[string]bool{}
	for _, args := range commands {
		if len(args) > 0 {
			named[args[0]] = true
		}
		if slices.Contains(args, "NAME") { // stands for any name
			continue
		}
		if err := wrong(args); err != nil {
			t.Errorf("simulate %s: %v", strings.Join(args, " "), err)
		}
	}
	for _, command := range commandTable(t).Leaves(true) {
		if name, _, _ := strings.Cut(commandName(command), " "); name != "headline" && !named[name] {
			t.Errorf("the README does not show `simulate %s`", name)
		}
	}
	for _, args := range [][]string{{"trian"}, {"train", "--steps", "5"}, {"train", "nothing"}, {"reproduce", "nothing"}, {"--arms", "nothing"}} {
		if wrong(args) == nil {
			t.Errorf("simulate %s passes for a command", strings.Join(args, " "))
		}
	}
}

// figureTables are the lines of a page's tables of figures: those with a column set to
// the right.
func figureTables(page string) (tables [][]string) {
	lines := strings.Split(page, "\n")
	for i, line := range lines {
		if i == 0 || !strings.HasPrefix(line, "|--") || !strings.Contains(line, "-:|") {
			continue
		}
		table := []string{lines[i-1]}
		for _, row := range lines[i+1:] {
			if !strings.HasPrefix(row, "|") {
				break
			}
			table = append(table, row)
		}
		tables = append(tables, table)
	}
	return tables
}

// TestReadmeFigures: every row of a table of figures stands, as it is, in what is
// published.
func TestReadmeFigures(t *testing.T) {
	page, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	published := map[string]bool{}
	root := os.DirFS("../../results/published")
	err = fs.WalkDir(root, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".md" {
			return err
		}
		text, err := fs.ReadFile(root, path)
		for line := range strings.Lines(string(text)) {
			published[strings.TrimSuffix(line, "\n")] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	tables := figureTables(string(page))
	if len(tables) == 0 {
		t.Fatal("the README has no table of figures")
	}
	for _, table := range tables {
		for _, row := range table {
			if !published[row] {
				t.Errorf("nothing published says: %s", row)
			}
		}
	}
}
