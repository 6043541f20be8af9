package main

import (
	"fmt"
	"strings"

	"driftlab/engine"
	"driftlab/experiments"
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
