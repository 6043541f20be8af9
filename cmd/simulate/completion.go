package main

import (
	"cmp"
	"embed"
	"fmt"
	"slices"
	"strings"

	"driftlab/engine"
	"driftlab/experiments/diagnose/reader"
	"driftlab/experiments/study/claims"
	"driftlab/model"
	"driftlab/results/lab"
	"driftlab/results/stats"
	"driftlab/trainer/method/schedule"
	"driftlab/trainer/method/schedule/simulation"
	"driftlab/trainer/recipe"

	"github.com/alecthomas/kong"
)

// The scripts decide nothing themselves: each asks the program itself what could stand next.
//
//go:embed completion
var completionScripts embed.FS

type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" complete:"shells" help:"bash, zsh or fish."`
}

// Run prints the script.
func (c *completionCmd) Run(a *app) error {
	script, _ := completionScripts.ReadFile("completion/simulate." + c.Shell) // there is one for every shell of the enum
	_, err := unchecked(a.stdout).Write(script)
	return err
}

type completeCmd struct {
	Words []string `arg:"" optional:"" help:"The words so far, the last one unfinished."`
}

// Run prints what could stand next: a line each, the word and its help.
func (c *completeCmd) Run(a *app) error {
	for _, found := range completions(a.parser.Model, c.Words) {
		fmt.Fprintf(unchecked(a.stdout), "%s\t%s\n", found.word, found.help)
	}
	return nil
}

// completion is a word that could stand next.
type completion struct{ word, help string }

// completions are the words that could stand where the last one of words is
// being typed: none where a file's name belongs.
func completions(app *kong.Application, words []string) []completion {
	words = joined(words)
	if len(words) == 0 {
		words = []string{""}
	}
	last := len(words) - 1
	typed, node, place := words[last], app.Node, 0
	if words[0] == "help" && last > 0 && !strings.HasPrefix(typed, "-") {
		for _, word := range words[1:last] {
			if node = childNamed(node, word); node == nil {
				return nil
			}
		}
		return startingWith(typed, "", commandWords(node))
	}
	for i := 0; i < last; i++ {
		flag := flagNamed(node, words[i])
		switch {
		case flag != nil && !flag.IsBool() && !flag.IsCounter() && !strings.Contains(words[i], "="):
			if i++; i == last {
				return startingWith(typed, "", values(flag.Tag.Get("complete")))
			}
		case strings.HasPrefix(words[i], "-"):
		default:
			if child := childNamed(node, words[i]); child != nil {
				node, place = child, 0
			} else {
				place++
			}
		}
	}
	name, _, assigned := strings.Cut(typed, "=")
	switch flag := flagNamed(node, name); {
	case assigned && flag != nil:
		return startingWith(typed, name+"=", values(flag.Tag.Get("complete")))
	case strings.HasPrefix(typed, "-"):
		return startingWith(typed, "", stats.Map(visibleFlags(node), func(f *kong.Flag) completion { return completion{"--" + f.Name, f.Help} }))
	}
	found := commandWords(node)
	if n := len(node.Positional); n > 0 && (place < n || node.Positional[n-1].IsCumulative()) {
		found = append(found, values(node.Positional[min(place, n-1)].Tag.Get("complete"))...)
	}
	return startingWith(typed, "", found)
}

// joined puts together what bash splits: a, =, b is a=b.
func joined(words []string) []string {
	var out []string
	for i, w := range words {
		if n := len(out); n > 0 && (w == "=" || i > 0 && words[i-1] == "=") {
			out[n-1] += w
		} else {
			out = append(out, w)
		}
	}
	return out
}

// childNamed is a command of a node, nil if it has none of that name.
func childNamed(node *kong.Node, name string) *kong.Node {
	if i := slices.IndexFunc(node.Children, func(child *kong.Node) bool { return child.Name == name }); i >= 0 {
		return node.Children[i]
	}
	return nil
}

// flagNamed is the flag that a word gives, nil if it gives none. Before a command
// the flags are the default command's.
func flagNamed(node *kong.Node, word string) *kong.Flag {
	word, _, _ = strings.Cut(word, "=")
	for _, f := range visibleFlags(node) {
		if word == "--"+f.Name || f.Short != 0 && word == "-"+string(f.Short) {
			return f
		}
	}
	return nil
}

// visibleFlags are a command's flags, with those of its parents.
func visibleFlags(node *kong.Node) []*kong.Flag {
	return slices.Concat(cmp.Or(node.DefaultCmd, node).AllFlags(true)...)
}

func commandWords(node *kong.Node) []completion {
	var list []completion
	for _, child := range node.Children {
		if !child.Hidden {
			list = append(list, completion{child.Name, child.Help})
		}
	}
	return list
}

// startingWith keeps the words that go on from what is typed, each after prefix.
func startingWith(typed, prefix string, all []completion) []completion {
	var found []completion
	for _, c := range all {
		if c.word = prefix + c.word; strings.HasPrefix(c.word, typed) {
			found = append(found, c)
		}
	}
	return found
}

// values are the words that a flag or an argument takes, by its tag complete.
func values(kind string) []completion {
	var list []completion
	add := func(help string, words ...string) {
		list = append(list, stats.Map(words, func(w string) completion { return completion{w, help} })...)
	}
	switch kind {
	case "recipes":
		for _, name := range recipe.Names() {
			add(recipe.Description(name), name)
		}
	case "numerics":
		add("numerics", engine.PresetNames()...)
	case "checkpoints":
		add("checkpoint", model.Shipped()...)
	case "shells":
		add("shell", "bash", "zsh", "fish")
	case "claims":
		for _, id := range claims.IDs() {
			claim, _ := claims.Lookup(id)
			add(claim.Title, id)
		}
	case "methods":
		for _, m := range recipe.Methods() {
			add(m.Group, m.Name)
		}
		add("fields, recipes, systems, presets, papers, coverage", "recipe", "recipes", "systems", "numerics", "presets", "papers", "coverage")
	case "systems":
		for _, e := range schedule.Systems {
			add(e.Source, e.Name)
		}
	case "formats":
		formats, _ := reader.Formats()
		for _, f := range formats {
			add("dumps with "+f.Has, f.Name)
		}
	case "lengths":
		add("distribution of lengths", simulation.Laws()...)
	case "fields":
		for _, f := range recipe.Reference() {
			first, _, _ := strings.Cut(f.Doc, "\n")
			add(first, f.Path+"=")
		}
	case "arms":
		for _, arm := range mainArms() {
			add(arm.Labels[0].Text, arm.Name)
		}
	case "lessons":
		for _, l := range lab.Load().Lessons {
			add(l.Title, l.Name)
		}
	}
	return list
}

//go:embed completion/simulate.1
var manText string

// manPage is the manual page, in the macros of man(7): that of the file, with the help of every command set in as it stands.
func manPage(version string) string {
	var help, commands strings.Builder
	parser := newParser(&app{stdout: &help, stderr: &help}, &cli{})
	for _, node := range parser.Model.Leaves(true) {
		help.Reset()
		k, err := kong.Trace(parser, strings.Fields(commandName(node)))
		if err == nil {
			err = k.PrintUsage(false)
		}
		if err != nil {
			panic("simulate: " + err.Error()) // a test makes the page
		}
		fmt.Fprintf(&commands, ".SS \"%s\"\n.nf\n%s.fi\n", roffText(commandName(node)), roffLines(help.String()))
	}
	return strings.NewReplacer("{version}", roffText(version), "{about}\n", roffLines(parser.Model.Help+"\n"), "{commands}\n", commands.String()).Replace(manText)
}

// roffLines are lines of text; one that would be read as a request is not.
func roffLines(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			b.WriteString(`\&`)
		}
		b.WriteString(roffText(line))
	}
	return b.String()
}

func roffText(text string) string {
	return strings.NewReplacer(`\`, `\e`, `-`, `\-`).Replace(text)
}
