package main

import (
	"fmt"

	"driftlab/trainer/recipe"
)

// tellInert says which parts of a recipe cannot act in it, or seldom, one line each. It is
// left out where nothing begins, or quiet is asked for.
func (a *app) tellInert(quiet bool, r recipe.Recipe) {
	if quiet {
		return
	}
	for _, note := range append(r.Inert(), r.Cautions()...) {
		fmt.Fprintf(a.stderr, "simulate: note: %s: %s\n", r.Name, note)
	}
}
