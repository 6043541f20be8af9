// Package claim is what a published claim is made of: its statement, what a
// measurement is given (Env), what it records (Observation), and how one
// primary check on the records of many replications comes to a verdict (Judge,
// Decide).
//
// A claim is a value: Measure makes the observation of one replication, and
// Judge turns observations into checks, a table and a picture, by thresholds
// that stand in the claim's file and were written before it ran.
//
// What it is not: it lists no claims (package claims does, by theme), and keeps
// no files (package reproduce does).
package claim

import (
	"cmp"
	"context"

	"driftlab/results/figure"
)

// Claim is one published statement made executable: arms, statistic and threshold, which
// Declared says were written before any result or revised after one.
type Claim struct {
	// ID names the claim: lower case, words joined by hyphens. Theme is the
	// package it stands in.
	ID, Theme string
	// Title is the claim in a line. Statement is the sentence that the primary
	// check judges, and says no more.
	Title     string
	Statement string
	// Source is where it comes from.
	Source string
	// Figure is what the source reports. It is context, not a target.
	Figure string
	// Threshold says what counts as reproduced: the primary check in words.
	Threshold string
	// Setup says what is sampled, with which engines, and what is amplified.
	Setup string
	// LeftOut says which part of the claim is not judged here, and why; empty
	// where all of it is.
	LeftOut string
	// Differs says why the figure differs from the paper's; nil where it is not asked.
	Differs *Difference
	// Commands come close to the measurement with other commands of the program.
	Commands []string

	// Declared says whether the primary check was declared before any result was published, and
	// what was published with another one.
	Declared Declaration
	// Unit is what the claim generalises over. Replications is how many of them
	// a verdict is published from; 0 means as many as the unit needs.
	Unit         Unit
	Replications int
	// Version counts changes of Measure: observations of another version are
	// measured again.
	Version int
	// Measure makes the observation of one replication. It depends on the seed
	// and the size alone.
	Measure func(ctx context.Context, e *Env) (*Observation, error)
	// Judge turns the observations into checks, table and picture. It is a
	// function of them alone, and so is the verdict.
	Judge func(j *Judge)
}

// Unit is what one replication is. Prompts, samples and random streams are
// drawn anew within each, and are the same across its arms.
type Unit string

// The units of replication.
const (
	// Model is a model with a warm start of its own, or with random weights of
	// its own: for claims at frozen weights.
	Model Unit = "model"
	// Run is a training run: 20 of them start from ten warm starts, which are what is independent.
	Run Unit = "run"
	// Draw is a problem drawn at random: no model is involved.
	Draw Unit = "draw"
)

// LeastReplications is the number below which a verdict is a preview.
const LeastReplications = 10

// Needed is how many replications a verdict is published from: 20 runs, 10
// of anything else, unless the claim asks for another number.
func (c *Claim) Needed() int {
	if c.Unit == Run {
		return cmp.Or(c.Replications, 2*LeastReplications)
	}
	return cmp.Or(c.Replications, LeastReplications)
}

// Evidence is what a claim shows.
type Evidence struct {
	// Checks are the comparisons. The primary ones decide; there is one at most
	// per level, and they ask the same question.
	Checks []Check
	// Picture makes the point without the text.
	Picture *figure.Figure
	// Table has the figures behind it; nil leaves the checks alone.
	Table *figure.Figure
	// Notes are findings that a verdict does not say; computed like all else.
	Notes []string
}
