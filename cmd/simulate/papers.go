package main

import (
	"fmt"
	"slices"
	"strings"

	"driftlab/experiments/claims"
	"driftlab/results/figure"
	"driftlab/trainer/recipe"
)

// paperUse is what the program has of a paper.
type paperUse struct {
	// Paper is its arXiv id.
	Paper string `json:"paper"`
	// Methods are those whose source it is, Recipes those whose page cites it.
	Methods []string `json:"methods"`
	Recipes []string `json:"recipes"`
	// Claims are the ids of its claims, with their published verdicts.
	Claims []paperClaim `json:"claims"`
}

// paperClaim is a claim with its published verdict.
type paperClaim struct {
	ID      string `json:"id"`
	Verdict string `json:"verdict"`
}

// papersUsed are the papers that methods, shipped recipes and claims cite, in the order of their ids.
func papersUsed() []paperUse {
	var list []paperUse
	of := func(source string, add func(p *paperUse)) {
		ids := paper.FindAllString(source, -1)
		slices.Sort(ids)
		for _, id := range slices.Compact(ids) {
			at, found := slices.BinarySearchFunc(list, id, func(p paperUse, id string) int { return strings.Compare(p.Paper, id) })
			if !found {
				list = slices.Insert(list, at, paperUse{Paper: id, Methods: []string{}, Recipes: []string{}, Claims: []paperClaim{}})
			}
			add(&list[at])
		}
	}
	for _, m := range recipe.Methods() {
		of(m.Source, func(p *paperUse) {
			if !slices.Contains(p.Methods, m.Name) {
				p.Methods = append(p.Methods, m.Name)
			}
		})
	}
	for _, name := range recipe.Names() {
		of(recipe.Page(name), func(p *paperUse) { p.Recipes = append(p.Recipes, name) })
	}
	for _, c := range claims.All() {
		of(c.Source, func(p *paperUse) { p.Claims = append(p.Claims, paperClaim{c.ID, publishedVerdict(c)}) })
	}
	return list
}

// papers lists the papers.
func (c *methodsCmd) papers(a *app) error {
	list := papersUsed()
	t := papersTable(list)
	return c.show(a, "papers.md", t.Markdown(), list, func() { a.printTable(t) })
}

// papersTable is the list as a table.
func papersTable(list []paperUse) *figure.Figure {
	t := &figure.Figure{Kind: figure.Table, Title: "Papers", Columns: []figure.Column{{Name: "arXiv"}, {Name: "methods"}, {Name: "recipes"}, {Name: "claims"}},
		Note: "simulate methods NAME explains a method or a recipe and says what is a reconstruction; simulate reproduce NAME measures a claim."}
	for _, p := range list {
		var verdicts []string
		for _, c := range p.Claims {
			verdicts = append(verdicts, c.ID+": "+c.Verdict)
		}
		t.Add(figure.Word(p.Paper).As(figure.Strong), figure.Word(strings.Join(p.Methods, ", ")), figure.Word(strings.Join(p.Recipes, ", ")), figure.Word(strings.Join(verdicts, ", ")))
	}
	return t
}

// onePaper shows what the program has of a paper.
func (c *methodsCmd) onePaper(a *app) error {
	list := papersUsed()
	at := slices.IndexFunc(list, func(p paperUse) bool { return p.Paper == c.Name })
	if at < 0 {
		return bad("methods: no method, recipe or claim cites arXiv %s; `simulate methods papers` lists the papers", c.Name)
	}
	p := list[at]
	var b strings.Builder
	fmt.Fprintf(&b, "arXiv %s\n", p.Paper)
	section := func(title string, lines []string) {
		if len(lines) > 0 {
			fmt.Fprintf(&b, "\n%s\n  %s\n", title, strings.Join(lines, "\n  "))
		}
	}
	var methods, recipes, tested []string
	for _, m := range recipe.Methods() {
		if slices.Contains(paper.FindAllString(m.Source, -1), p.Paper) {
			line := fmt.Sprintf("%s (%s): %s", m.Name, m.Group, m.Does)
			if m.Reconstruction != "" {
				line += " A reconstruction: simulate methods " + m.Name + " says of what."
			}
			methods = append(methods, line)
		}
	}
	for _, name := range p.Recipes {
		recipes = append(recipes, name+": "+recipe.Description(name))
	}
	for _, published := range p.Claims {
		if c, ok := claims.Lookup(published.ID); ok {
			tested = append(tested, fmt.Sprintf("%s: %s: %s (simulate reproduce %s)", c.ID, c.Title, published.Verdict, c.ID))
		}
	}
	section("Methods", methods)
	section("Recipes", recipes)
	section("Claims, with the published verdict", tested)
	return c.show(a, "paper.txt", b.String(), p, func() { fmt.Fprint(a.stdout, b.String()) })
}
