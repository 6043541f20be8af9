package main

import (
	"fmt"
	"slices"
	"strings"

	"driftlab/results/figure"
	"driftlab/trainer/method"
	"driftlab/trainer/recipe"
	"driftlab/trainer/recipe/foreign"
)

// frameworkPage is what the program has of a framework, under the framework's names.
type frameworkPage struct {
	// Framework is its name.
	Framework string `json:"framework"`
	// Words are its names of losses, advantages, penalties and aggregations with ours.
	Words []foreign.Word `json:"words"`
	// Methods are ours whose source or other names mention it.
	Methods []frameworkMethod `json:"methods"`
	// Keys are those of its configuration: the field of a recipe, or why there is none.
	Keys []foreign.Key `json:"keys"`
}

// frameworkMethod is a method of ours and what it is called.
type frameworkMethod struct {
	Field   string   `json:"field"`
	Name    string   `json:"name"`
	Aliases []string `json:"aliases"`
	Source  string   `json:"source"`
}

// spellings are how sources write the frameworks, where that is not their name.
var spellings = map[string][]string{
	"nemo-rl": {"NeMo-RL", "NVIDIA-NeMo"}, "trl": {"TRL"}, "slime": {"slime", "miles"}, "roll": {"ROLL"}, "areal": {"AReaL"}, "skyrl": {"SkyRL"}, "openrlhf": {"OpenRLHF"},
	"rllm": {"rLLM"}, "tinker-cookbook": {"tinker"}, "prime-rl": {"prime-rl", "PrimeIntellect"},
}

// pageOf makes a framework's page.
func pageOf(name string) frameworkPage {
	p := frameworkPage{Framework: name, Words: foreign.Words(name), Methods: []frameworkMethod{}, Keys: foreign.Keys(name)}
	names := spellings[strings.ToLower(name)]
	if names == nil {
		names = []string{name}
	}
	for _, m := range recipe.Methods() {
		text := m.Source + " " + strings.Join(m.Aliases, " ")
		if slices.ContainsFunc(names, func(s string) bool { return strings.Contains(text, s) }) {
			p.Methods = append(p.Methods, frameworkMethod{m.Field, m.Name, m.Aliases, m.Source})
		}
	}
	return p
}

// tables are the page as tables.
func (p frameworkPage) tables() []*figure.Figure {
	words := &figure.Figure{Kind: figure.Table, Title: p.Framework + ": names", Columns: []figure.Column{{Name: "kind"}, {Name: p.Framework}, {Name: "here"}},
		Note: "Values of its configuration. A value that is not in this list is reported by --config as one without a counterpart."}
	for _, w := range p.Words {
		words.Add(figure.Word(w.Kind), figure.Word(w.Theirs).As(figure.Strong), figure.Word(w.Ours))
	}
	methods := &figure.Figure{Kind: figure.Table, Title: p.Framework + ": methods here that its code or its names are a source of", Columns: []figure.Column{{Name: "field"}, {Name: "name"}, {Name: "also called"}, {Name: "source"}},
		Note: "simulate methods NAME explains a method."}
	for _, m := range p.Methods {
		methods.Add(figure.Word(m.Field), figure.Word(m.Name).As(figure.Strong), figure.Word(strings.Join(m.Aliases, ", ")), figure.Word(m.Source))
	}
	keys := &figure.Figure{Kind: figure.Table, Title: p.Framework + ": keys of its configuration", Columns: []figure.Column{{Name: "key"}, {Name: "field of a recipe"}, {Name: "left out because"}},
		Note: "simulate train --config reads them. A * stands for every key that begins alike."}
	for _, k := range p.Keys {
		keys.Add(figure.Word(k.Key).As(figure.Strong), figure.Word(k.Field), figure.Word(k.Why))
	}
	return []*figure.Figure{words, methods, keys}
}

// framework shows a framework's page.
func (c *methodsCmd) framework(a *app) error {
	if !slices.Contains(foreign.Frameworks(), c.Framework) {
		return bad("methods: --framework: %w; known are %s", method.UnknownName(c.Framework, foreign.Frameworks()), strings.Join(foreign.Frameworks(), ", "))
	}
	p := pageOf(c.Framework)
	var b strings.Builder
	fmt.Fprintf(&b, "# %s and driftlab\n\n", c.Framework)
	for _, t := range p.tables() {
		b.WriteString(t.Markdown() + "\n")
	}
	return c.show(a, "framework.md", b.String(), p, func() {
		for _, t := range p.tables() {
			a.printTable(t)
		}
	})
}
