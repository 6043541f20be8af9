package main

import (
	"fmt"
	"strings"

	"driftlab/engine"
	"driftlab/experiments"
	"driftlab/results"
	"driftlab/trainer/correction"
	"driftlab/trainer/recipe"
)

// fields shows fields of a recipe.
func (c *methodsCmd) fields(a *app, fields []recipe.FieldReference) error {
	var b strings.Builder
	for _, f := range fields {
		fmt.Fprintf(&b, "%s\n", f)
	}
	if c.Out != "" {
		if err := writeFile(c.Out, "recipe.txt", []byte(b.String())); err != nil {
			return err
		}
	}
	if c.JSON {
		return a.printJSON(fields)
	}
	fmt.Fprint(a.stdout, b.String())
	return nil
}

// shipped is a recipe in the binary, as --json lists it.
type shipped struct {
	Name string `json:"name"`
	For  string `json:"for"`
}

// recipes lists the shipped recipes and what they are for.
func (c *methodsCmd) recipes(a *app) error {
	t := &results.Table{Title: "Shipped recipes", Columns: []results.TableColumn{{Name: "recipe"}, {Name: "what it is for"}},
		Note: "simulate train NAME runs one, simulate measure NAME its engines without training."}
	var list []shipped
	for _, name := range recipe.Names() {
		list = append(list, shipped{name, recipe.Description(name)})
		t.Add(results.Word(name).As(results.Strong), results.Word(recipe.Description(name)))
	}
	if c.Out != "" {
		if err := writeFile(c.Out, "recipes.md", []byte(t.Markdown())); err != nil {
			return err
		}
	}
	if c.JSON {
		return a.printJSON(list)
	}
	a.printTable(t)
	return nil
}

// presets lists published corrections, or shows one of them in full: what the
// name stands for in a recipe, and the loss it goes with.
func (c *methodsCmd) presets(a *app, presets []correction.Preset) error {
	t := &results.Table{Title: "Published corrections", Columns: []results.TableColumn{{Name: "preset"}, {Name: "loss"}, {Name: "what it does"}},
		Note: "simulate methods NAME shows what the name stands for in a recipe; --set correction=NAME uses it."}
	for _, p := range presets {
		t.Add(results.Word(p.Name).As(results.Strong), results.Word(p.Loss), results.Word(p.Summary()))
	}
	if c.Out != "" {
		if err := writeFile(c.Out, "presets.md", []byte(t.Markdown())); err != nil {
			return err
		}
	}
	switch {
	case c.JSON:
		type shown struct {
			correction.Preset
			Summary string `json:"summary"`
			Recipe  string `json:"recipe"`
		}
		list := make([]shown, len(presets))
		for i, p := range presets {
			list[i] = shown{p, p.Summary(), p.New().Recipe()}
		}
		return a.printJSON(list)
	case len(presets) == 1:
		p := presets[0]
		fmt.Fprintf(a.stdout, "%s (correction preset)\n\nSource\n  %s\n\nWhat it does\n  %s\n\nGoes with the loss\n  %s\n\nIn a recipe\n  correction: %s\n  which is\n  %s\n\n",
			p.Name, p.Source, p.Summary(), p.Loss, p.Name, p.New().Recipe())
	default:
		a.printTable(t)
	}
	return nil
}

// numerics shows the presets.
func (c *methodsCmd) numerics(a *app) error {
	t := experiments.PresetTable()
	if c.Out != "" {
		if err := writeFile(c.Out, "numerics.md", []byte(t.Markdown())); err != nil {
			return err
		}
	}
	if c.JSON {
		return a.printJSON(engine.Presets())
	}
	a.printTable(t)
	return nil
}
