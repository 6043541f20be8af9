package main

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"

	"driftlab/trainer/recipe/foreign"

	"go.yaml.in/yaml/v4"
)

//go:embed terms.yaml
var termsText []byte

// frameworkTerm is a word of the frameworks that is no method of a registry.
type frameworkTerm struct {
	Name    string   `json:"name" yaml:"name"`
	Aliases []string `json:"aliases" yaml:"aliases"`
	Text    string   `json:"text" yaml:"text"`
}

// terms are the terms of terms.yaml, which tests read.
var terms = sync.OnceValue(func() (list []frameworkTerm) {
	if err := yaml.Unmarshal(termsText, &list); err != nil {
		panic("terms.yaml: " + err.Error())
	}
	return list
})

// term shows the term of that name, but for case and separators; ok is false where there is none.
func (c *methodsCmd) term(a *app) (ok bool, err error) {
	plain := strings.NewReplacer("-", "", "_", "", " ", "")
	named := func(name string) bool { return strings.EqualFold(plain.Replace(name), plain.Replace(c.Name)) }
	i := slices.IndexFunc(terms(), func(t frameworkTerm) bool { return named(t.Name) || slices.ContainsFunc(t.Aliases, named) })
	if i < 0 {
		return false, nil
	}
	t := terms()[i]
	text := fmt.Sprintf("%s (also: %s)\n  %s\n", t.Name, strings.Join(t.Aliases, ", "), strings.ReplaceAll(strings.TrimSpace(t.Text), "\n", "\n  "))
	return true, c.fenced(a, t.Name, text, t)
}

// counterparts shows what the frameworks have under that name, as their pages say; ok is false where none has it.
func (c *methodsCmd) counterparts(a *app) (ok bool, err error) {
	var pages []frameworkPage
	for _, r := range foreign.Registries() {
		p := pageOf(r)
		p.Registry = slices.DeleteFunc(slices.Clone(p.Registry), func(x foreign.Counterpart) bool { return x.Theirs != c.Name })
		p.Keys = slices.DeleteFunc(slices.Clone(p.Keys), func(k foreign.Key) bool {
			return k.Key != c.Name && k.Key[strings.LastIndexByte(k.Key, '.')+1:] != c.Name
		})
		if len(p.Registry)+len(p.Keys) > 0 {
			pages = append(pages, p)
		}
	}
	if pages == nil {
		return false, nil
	}
	return true, c.text(a, "methods.md", textOf("counterparts", pages), pages)
}
