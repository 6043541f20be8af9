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
	"fmt"

	"driftlab/experiments/study/judge"
	"driftlab/results/figure"
	"driftlab/results/stats"
)

// Claim is one published statement made executable: arms, statistic and threshold, which
// Declared says were written before any result was published or revised after one.
type Claim struct {
	// ID names the claim: lower case, words joined by hyphens. Theme is the
	// package it stands in.
	ID    string
	Theme string `yaml:"-"`
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
	// Proxy names what stands in for what the source speaks of, such as simulated searchers; empty where that itself is measured.
	Proxy string
	// LeftOut says which part of the claim is not judged here, and why; empty
	// where all of it is.
	LeftOut string `yaml:"left out"`
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
	// Rates are the learning rates at which its arms train; nil where none trains.
	Rates []string `yaml:"-"`
	// Frozen says that the primary check is of frozen weights, and secondary ones alone of what its arms train.
	Frozen bool
	// Ladder are checks of studies over many learning rates that answer the claim, or a part of it.
	Ladder []Ladder
	// Study is the study whose finished runs it judges; empty for a claim that measures.
	Study string `yaml:"-"`
	// Measure makes the observation of one replication. It depends on the seed
	// and the size alone.
	Measure func(ctx context.Context, e *Env) (*Observation, error) `yaml:"-"`
	// Judge turns the observations into checks, table and picture. It is a
	// function of them alone, and so is the verdict.
	Judge func(j *Judge) `yaml:"-"`
}

// Ladder is a declared check of a study over a ladder of learning rates: runs of 1,000 updates, each arm at its own best rate,
// judged on ten models that located no rate.
type Ladder struct {
	// Study is that below stability, Check the name of its check, and Arm which arm of the check; empty for all of them.
	Study string `json:"study"`
	Check string `json:"check"`
	Arm   string `json:"arm,omitempty"`
	// Part says which part of the claim it answers; empty for the whole, whose verdict is then that of the check.
	Part string `json:"part,omitempty"`
}

// Declaration says when the primary check of a claim was written, and which verdicts were
// published before it was changed.
type Declaration struct {
	// When is Before or Revised.
	When When `json:"-"`
	// Date, Verdict and Check are the first publication's, where the primary check was
	// revised after it: Check is what was to be met, and what decided. Again is what became of the
	// same check in later publications; empty where there was none.
	Date    string        `json:"date"`
	Check   string        `json:"check"`
	Verdict judge.Verdict `json:"verdict"`
	Again   string        `json:"again,omitempty"`
	// Corrected says what moved when n became the number of warm starts; empty where nothing did.
	Corrected string `json:"-"`
}

// First is what was published with another check; nil where nothing was revised.
func (d Declaration) First() *Declaration {
	if d.When != Revised {
		return nil
	}
	return &d
}

// When is the time at which a primary check was declared.
type When string

// The times.
const (
	// Before any result was published.
	Before When = "before"
	// Revised after a result was published.
	Revised When = "revised"
)

// Difference is the section "Why the toy differs" of a claim's page.
type Difference struct {
	// Published is the paper's figure of the quantity of a check, in the check's unit; Level and
	// Check name that check.
	Published float64
	Level     judge.Level
	Check     string
	// Why is the reason that is suspected, and Experiment what would tell.
	Why, Experiment string
	// Checks are the names of the checks that such an experiment reports, in their order; empty
	// where none was made.
	Checks []string
}

// Find returns the first check of that name, at a level or, with "", at any.
func (e *Evidence) Find(level judge.Level, name string) *judge.Check {
	for i := range e.Checks {
		if c := &e.Checks[i]; c.Name == name && (level == "" || c.Level == level) {
			return c
		}
	}
	return nil
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
	Checks []judge.Check
	// Picture makes the point without the text.
	Picture *figure.Figure
	// Table has the underlying figures; nil leaves the checks alone.
	Table *figure.Figure
	// Notes are findings that a verdict does not say; computed like all else.
	Notes []string
}

// Judge collects the checks of a claim.
type Judge struct {
	// Seeds are the replications, and Runs what each measured.
	Seeds []uint64
	Runs  []*Observation
	// SharedWarmStarts says that replications whose seeds have the same warm start are not
	// independent: a value is then the mean over those of one warm start.
	SharedWarmStarts bool
	// Evidence is what the claim's Judge function fills.
	Evidence Evidence

	groups [][]int // replications by warm start
}

// byWarmStart lists the replications of each warm start, in the order of their first.
func (j *Judge) byWarmStart() [][]int {
	if j.groups == nil {
		at := map[uint64]int{}
		for i := range j.Runs {
			start := uint64(i) // its own
			if j.SharedWarmStarts {
				start = warmStart(j.Seeds[i])
			}
			group, seen := at[start]
			if !seen {
				group = len(j.groups)
				at[start], j.groups = group, append(j.groups, nil)
			}
			j.groups[group] = append(j.groups[group], i)
		}
	}
	return j.groups
}

// Independent is how many independent values a statistic has: warm starts, where
// replications share them.
func (j *Judge) Independent() int { return len(j.byWarmStart()) }

// Means are the means over the replications of each warm start; x has a value per replication.
func (j *Judge) Means(x []float64) []float64 {
	lists := make([][]float64, len(x))
	for i := range x {
		lists[i] = x[i : i+1]
	}
	return j.Pooled(lists)
}

// Pooled are the means of all values of each warm start; a replication has any number of them,
// and a warm start without one is left out.
func (j *Judge) Pooled(x [][]float64) []float64 {
	var out []float64
	for _, group := range j.byWarmStart() {
		var all []float64
		for _, i := range group {
			all = append(all, x[i]...)
		}
		switch len(all) {
		case 0:
		case 1:
			out = append(out, all[0]) // of any bits, a negative zero's included
		default:
			out = append(out, stats.Average(all))
		}
	}
	return out
}

// Primary adds the check that the verdict rests on. The same question may be
// asked at two levels; a second one at the same level is a programmer's fault.
func (j *Judge) Primary(c judge.Check) {
	for _, old := range j.Evidence.Checks {
		if old.Primary && old.Level == c.Level {
			panic(fmt.Sprintf("claim: %q is a second primary check at level %s", c.Name, c.Level))
		}
	}
	c.Primary = true
	j.Evidence.Checks = append(j.Evidence.Checks, c)
}

// Secondary adds a comparison that decides nothing.
func (j *Judge) Secondary(c judge.Check) { j.Evidence.Checks = append(j.Evidence.Checks, c) }

// Note adds a finding.
func (j *Judge) Note(format string, args ...any) {
	j.Evidence.Notes = append(j.Evidence.Notes, fmt.Sprintf(format, args...))
}

// Each computes a value per replication, and its mean over those that share a warm start.
func (j *Judge) Each(of func(o *Observation) float64) []float64 {
	return j.Means(stats.Map(j.Runs, of))
}

// Mean is the mean over replications of a list, entry by entry.
func (j *Judge) Mean(name string) []float64 {
	sum := make([]float64, len(j.Runs[0].List(name)))
	for _, o := range j.Runs {
		for i, v := range o.List(name) {
			sum[i] += v / float64(len(j.Runs))
		}
	}
	return sum
}
