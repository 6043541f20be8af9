package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"driftlab/model"
	"driftlab/results/figure"
	"driftlab/results/stats"
	"driftlab/trainer/method"
	"driftlab/trainer/method/correction"
	"driftlab/trainer/recipe"
	"driftlab/trainer/recipe/foreign"
)

// show writes a file if a folder is given, then prints the document or what is
// for people.
func (c *methodsCmd) show(a *app, file, text string, document any, print func()) error {
	if c.Out != "" {
		if err := writeFile(c.Out, file, []byte(text)); err != nil {
			return err
		}
	}
	if c.JSON {
		return a.printJSON(document)
	}
	print()
	return nil
}

// text shows a text that is the same in a file and on a terminal.
func (c *methodsCmd) text(a *app, file, text string, document any) error {
	return c.show(a, file, text, document, func() { fmt.Fprint(a.stdout, text) })
}

// fenced shows a text as it stands, in a file under its name.
func (c *methodsCmd) fenced(a *app, name, text string, document any) error {
	return c.show(a, "methods.md", "# "+name+"\n\n```\n"+text+"```\n", document, func() { fmt.Fprint(a.stdout, text) })
}

// table shows a table.
func (c *methodsCmd) table(a *app, file string, t *figure.Figure, document any) error {
	return c.show(a, file, t.Markdown(), document, func() { a.printTable(t) })
}

func (c *methodsCmd) fields(a *app, fields []recipe.FieldReference) error {
	var b strings.Builder
	for _, f := range fields {
		fmt.Fprintf(&b, "%s\n", strings.ReplaceAll(f.String(), "\t", "  ")) // formulas are set in by a tab
	}
	return c.text(a, "recipe.txt", b.String(), fields)
}

// shipped is a recipe in the binary, as --json lists it.
type shipped struct {
	Name string `json:"name"`
	For  string `json:"for"`
}

func (c *methodsCmd) recipes(a *app) error {
	t := tableHead("recipes")
	var list []shipped
	for _, name := range recipe.Names() {
		list = append(list, shipped{name, recipe.Description(name)})
		t.Add(figure.Word(name).As(figure.Strong), figure.Word(recipe.Description(name)))
	}
	return c.table(a, "recipes.md", t, list)
}

type recipePage struct {
	Name string       `json:"name"`
	Page string       `json:"page"`
	Arms []recipe.Arm `json:"arms"`
}

// page shows a shipped recipe: what of its source is modelled, its arms, its text.
func (c *methodsCmd) page(a *app) error {
	p := recipePage{c.Name, recipe.Page(c.Name), append([]recipe.Arm{}, recipe.Arms(c.Name)...)}
	r, _ := recipe.Load(c.Name) // it is in the program
	text := textOf("recipe", struct {
		recipePage
		Inert any
	}{p, r.Inert()})
	return c.text(a, p.Name+".txt", text, p)
}

// systems lists the published asynchronous systems: the rule in a line, the bound that
// it promises, where it is from, and what of it is inferred or left out.
func (c *methodsCmd) systems(a *app) error {
	list := slices.DeleteFunc(recipe.Methods(), func(m recipe.Method) bool { return m.Bound == nil })
	return c.text(a, "systems.txt", textOf("systems", list), list)
}

// boundText is the greatest lag that a system promises.
func boundText(bound int) string {
	if bound < 0 {
		return "none"
	}
	return fmt.Sprint(bound)
}

// presets lists published corrections, or shows one of them in full: what the
// name stands for in a recipe, and the loss it goes with.
func (c *methodsCmd) presets(a *app, presets []correction.Preset) error {
	t := tableHead("presets")
	type shown struct {
		correction.Preset
		Summary string `json:"summary"`
		Recipe  string `json:"recipe"`
	}
	list := make([]shown, len(presets))
	for i, p := range presets {
		list[i] = shown{p, p.Summary(), p.New().Recipe()}
		t.Add(figure.Word(p.Name).As(figure.Strong), figure.Word(p.Loss), figure.Word(p.Summary()))
	}
	if len(presets) != 1 {
		return c.table(a, "presets.md", t, list)
	}
	return c.show(a, "presets.md", t.Markdown(), list, func() { fmt.Fprint(a.stdout, textOf("preset", list[0])) })
}

// configFlag is of the commands that take another trainer's configuration.
type configFlag struct {
	Config  string `help:"Take the correction and all else that a recipe has from a configuration of verl, SkyRL, TRL, slime, vime, miles, NeMo-RL, AReaL, OpenRLHF, ROLL, prime-rl, open-instruct, ms-swift, rLLM, torchtitan or tinker-cookbook." placeholder:"FILE" complete:"files"`
	Dialect string `needs:"--config <file>" help:"Framework of --config, where its keys could be of several; in diagnose also the syntax of the recommended setting: verl, skyrl, trl, slime, vime, nemo-rl, areal, openrlhf, roll, prime-rl, open-instruct, ms-swift, rllm, torchtitan or tinker-cookbook." placeholder:"NAME"`
}

// mostConfig is more than any configuration has, so that a longer file is an error, and is not cut.
const mostConfig = 4<<20 + 1

// readConfig reads the file, nil if none is given, and tells what of it a recipe cannot say.
func (f *configFlag) readConfig(a *app) (*foreign.Config, error) {
	if f.Dialect == "miles" {
		f.Dialect = "slime" // whose flags it has
	}
	if f.Dialect != "" && !slices.Contains(foreign.Frameworks(), f.Dialect) {
		return nil, bad("--dialect %s: not known: give one of %s", f.Dialect, strings.Join(foreign.Frameworks(), ", "))
	}
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
	if _, err := recipe.Parse(f.Config, text); err == nil && f.Dialect == "" {
		return nil, bad("--config %s: a recipe of this program: train takes it as its argument, not with --config", f.Config)
	}
	c, err := foreign.ReadWith(f.Dialect, f.Config, text, func(parent string) ([]byte, error) {
		if filepath.IsAbs(parent) {
			return nil, fs.ErrNotExist
		}
		info, err := os.Stat(filepath.Join(filepath.Dir(f.Config), parent))
		if err != nil || !info.Mode().IsRegular() || info.Size() > mostConfig {
			return nil, fs.ErrNotExist
		}
		return os.ReadFile(filepath.Join(filepath.Dir(f.Config), parent))
	})
	if err != nil {
		return nil, err
	}
	if c.Off != "" {
		fmt.Fprintf(a.stderr, "simulate: note: %s: %s would not apply its correction: %s\n", f.Config, c.Framework, c.Off)
	}
	for _, note := range c.Notes {
		fmt.Fprintf(a.stderr, "simulate: note: %s: %s: %s\n", f.Config, c.Framework, note)
	}
	fmt.Fprintf(a.stderr, "simulate: note: %s, read as %s:\n%s", f.Config, c.Framework, c.Table())
	return c, nil
}

// noteRandomWeights says that a recipe starts from nothing, where rewards are rare and
// gaps are not those of a model that has learned something. It is left out where
// nothing begins, or quiet is asked for.
func (a *app) noteRandomWeights(quiet bool, r recipe.Recipe) {
	if quiet || r.Checkpoint != "" {
		return
	}
	fix := "make one with `simulate pretrain`"
	if r.Checkpoint = r.Task.Name + "-base"; slices.Contains(model.Shipped(), r.Checkpoint) {
		config, err := modelOf(r.Checkpoint)
		if err == nil {
			_, err = r.ResolvedFor(config)
		}
		if err == nil {
			fix = fmt.Sprintf("set checkpoint: %s, or %s", r.Checkpoint, fix)
		}
	}
	fmt.Fprintf(a.stderr, "simulate: note: %s has no checkpoint and starts from random weights: %s\n", r.Name, fix)
}

// frameworkPage is what a framework has and what of it is here, under the framework's names.
type frameworkPage struct {
	// Framework is its name.
	Framework string `json:"framework"`
	// Registry are its losses, advantages, penalties, corrections, aggregations, rewards, schedulers and metrics.
	Registry []foreign.Counterpart `json:"registry"`
	// Missing says what of them could not be had.
	Missing []string `json:"missing,omitempty"`
	// Keys are the keys of its configuration: the field of a recipe, or why there is none.
	Keys []foreign.Key `json:"keys"`
}

// pageOf makes a framework's page. miles reads the flags of slime, of which it is a fork.
func pageOf(r foreign.Registry) frameworkPage {
	keys := r.Framework
	if keys == "miles" {
		keys = "slime"
	}
	return frameworkPage{r.Framework, r.Has, r.Missing, foreign.Keys(keys)}
}

func (p frameworkPage) tables() []*figure.Figure {
	count := map[string]int{}
	var sources []string
	names, keys := tableHead("framework", p.Framework), tableHead("keys", p.Framework)
	names.Columns[1].Name = p.Framework
	for _, c := range p.Registry {
		source, file, _ := strings.Cut(c.Source, " ")
		if !slices.Contains(sources, source) {
			sources = append(sources, source)
		}
		here := c.Ours
		if c.Field != "field" && c.Field != "metric" && here != "" {
			here = c.Field + " " + here
		}
		count[c.Relation()]++
		names.Add(figure.Word(c.Kind), figure.Word(c.Theirs).As(figure.Strong), figure.Word(c.Relation()), figure.Word(here), figure.Word(c.Note), figure.Word(file).As(figure.Muted))
	}
	names.Note = fmt.Sprintf(names.Note, len(p.Registry), count["have"], count["alias of"], count["left out because"], strings.Join(sources, ", "), strings.Join(p.Missing, " "))
	for _, k := range p.Keys {
		keys.Add(figure.Word(k.Key).As(figure.Strong), figure.Word(k.Field), figure.Word(k.Why))
	}
	return []*figure.Figure{names, keys}
}

func (c *methodsCmd) framework(a *app) error {
	registries := foreign.Registries()
	known := stats.Map(registries, func(r foreign.Registry) string { return r.Framework })
	at := slices.Index(known, c.Framework)
	if at < 0 {
		return bad("methods: --framework: %w; known are %s", method.UnknownName(c.Framework, known), strings.Join(known, ", "))
	}
	p := pageOf(registries[at])
	shown := p.tables()
	text := fmt.Sprintf("# %s and driftlab\n\n", c.Framework)
	for _, t := range shown {
		text += t.Markdown() + "\n"
	}
	return c.show(a, "framework.md", text, p, func() { a.show(false, nil, shown...) })
}
