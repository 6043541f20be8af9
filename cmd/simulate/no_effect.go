package main

import (
	"fmt"

	"driftlab/trainer/recipe"
)

// mostNotes is how many notes a command prints before its runs where a page has them all.
const mostNotes = 8

// warnNoEffect says which parts of recipes cannot act, one line each; rest says where those
// beyond the first are, and is empty where there are few. It is left out where nothing
// begins, or quiet is asked for.
func (a *app) warnNoEffect(quiet bool, rest string, notes []recipe.NoEffect) {
	if quiet {
		return
	}
	shown := len(notes)
	if rest != "" {
		shown = min(shown, mostNotes)
	}
	for _, note := range notes[:shown] {
		fmt.Fprintf(a.stderr, "simulate: note: %s\n", note)
	}
	if shown < len(notes) {
		fmt.Fprintf(a.stderr, "simulate: note: %d more parts cannot act: %s\n", len(notes)-shown, rest)
	}
}
