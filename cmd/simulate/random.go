package main

import (
	"fmt"
	"slices"

	"driftlab/model"
	"driftlab/trainer/recipe"
)

// tellRandom says that a recipe starts from nothing, where rewards are rare and
// gaps are not those of a model that has learned something. It is left out where
// nothing begins, or quiet is asked for.
func (a *app) tellRandom(quiet bool, r recipe.Recipe) {
	if quiet || r.Checkpoint != "" {
		return
	}
	remedy := "make one with `simulate pretrain`"
	if base := r.Task.Name + "-base"; slices.Contains(model.Shipped(), base) {
		remedy = fmt.Sprintf("set checkpoint: %s, or %s", base, remedy)
	}
	fmt.Fprintf(a.stderr, "simulate: note: %s has no checkpoint and starts from random weights: %s\n", r.Name, remedy)
}
