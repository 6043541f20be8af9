// Package table has the settings and stressors of the shipped sweeps, and their published effects: the README's table,
// the page "Which correction?" and the pages of `simulate methods NAME` are made from these.
//
//	effects.go        the effects at common learning rates, and the early-warning signals
//	tuned.go          the effects at tuned learning rates
//	corrections.go    the page "Which correction?"
//	named.go          settings and stressors of the shipped sweeps, by name
//
// What it is not: it runs and tests nothing. The figures were published by programs that the changelog names.
package table
