// Package claim is what a published claim is made of: its statement, what a
// measurement is given (Env), what it records (Observation), and how checks on
// the records of several seeds come to a verdict (Judge, Decide).
//
// A claim is a value: Measure makes the observation of one seed, and Judge
// turns observations into checks, a table and a picture, by thresholds that
// stand in the claim's file and were written before it ran.
//
// What it is not: it lists no claims (package claims does, by theme), and keeps
// no files (package reproduce does).
package claim

import (
	"context"

	"driftlab/results"
)

// Claim is one published statement made executable. Everything in it was
// written before it was run: arms, statistic and threshold.
type Claim struct {
	// ID names the claim: lower case, words joined by hyphens.
	ID string
	// Title is the claim in a line, Statement in a sentence or two.
	Title     string
	Statement string
	// Source is where it comes from.
	Source string
	// Figure is what the source reports. It is context, not a target.
	Figure string
	// Threshold says what counts as reproduced.
	Threshold string
	// Setup says what is sampled, with which engines, and what is amplified.
	Setup string
	// LeftOut says which part of the claim is not judged here, and why; empty
	// where all of it is.
	LeftOut string
	// Commands come close to the measurement with other commands of the program.
	Commands []string

	// Version counts changes of Measure: observations of another version are
	// measured again.
	Version int
	// Measure makes the observation of one seed. It depends on the seed and the
	// size alone.
	Measure func(ctx context.Context, e *Env) (*Observation, error)
	// Judge turns the observations into checks, table and picture. It is a
	// function of them alone, and so is the verdict.
	Judge func(j *Judge)
}

// Evidence is what a claim shows.
type Evidence struct {
	// Checks are the comparisons; the first is the one a summary quotes.
	Checks []Check
	// Picture makes the point without the text.
	Picture results.Figure
	// Table has the figures behind it; nil leaves the checks alone.
	Table *results.Table
	// Notes are findings that a verdict does not say; computed like all else.
	Notes []string
}
