package main

import (
	"fmt"
	"strings"

	"driftlab/engine"
	"driftlab/experiments"
	"driftlab/results"
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
