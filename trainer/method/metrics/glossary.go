package metrics

import (
	_ "embed"
	"path"
	"slices"
	"strings"
)

// Term explains one metric.
type Term struct {
	// Name is the metric's name on record. A * stands for any text without a slash.
	Name string
	// Title is a short name for people.
	Title string
	// Unit is empty for pure numbers.
	Unit string
	// Formula is one line, in the symbols of the package's documentation; Meaning
	// says how to read the figure; Source says who defined it.
	Formula, Meaning, Source string
}

//go:embed glossary.tsv
var glossaryText string

//go:embed elsewhere.tsv
var elsewhereText string

// readTerms reads a term a line: the fields of Term with tabs between them.
func readTerms(text string) (terms []Term) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSuffix(line, "\n"); line != "" {
			f := strings.Split(line, "\t")
			terms = append(terms, Term{f[0], f[1], f[2], f[3], f[4], f[5]})
		}
	}
	return terms
}

// glossary explains every metric of a training step, in the order in which a
// step reports them. With mu the rollout engine's log-prob, old and new the learner's before and after the
// updates of the step, and pi_v the learner's with the weights that sampled: e = old − mu, ρ = exp(e), m the generated tokens;
// verl's means divide by the count plus 1e-8.
var glossary = readTerms(glossaryText)

// Lookup explains a metric: the first term whose name fits it, under the
// metric's own name.
func Lookup(name string) (Term, bool) {
	for _, terms := range [][]Term{glossary, Elsewhere} {
		if i := slices.IndexFunc(terms, func(t Term) bool { return t.fits(name) }); i >= 0 {
			t := terms[i]
			t.Name = name
			return t, true
		}
	}
	return Term{}, false
}

func (t Term) fits(name string) bool {
	ok, _ := path.Match(t.Name, name)
	return ok || t.Name == name
}

// Elsewhere explains the names under which other trainers log a gap between engines.
// One name often means two things, and one thing has many names.
var Elsewhere = readTerms(elsewhereText)
