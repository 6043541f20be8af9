package results

import (
	_ "embed" // of the areas
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"driftlab/results/figure"
	"driftlab/results/record"

	"go.yaml.in/yaml/v4"
)

// area is a section of the report: metrics by prefix, the main ones first.
type area struct {
	Heading  string
	Prose    Prose
	Prefixes []string
	Main     []struct{ Metric, Title string }
}

//go:embed areas.yaml
var areasText []byte

var areas = sync.OnceValue(func() (list []area) {
	if err := yaml.Load(areasText, &list, yaml.WithKnownFields()); err != nil {
		panic("results: areas.yaml: " + err.Error()) // every report reads it
	}
	return list
})

// titleOf is the metric's short name, or the metric itself.
func titleOf(metric string, terms []Term) string {
	for _, t := range terms {
		if t.Name == metric && t.Title != "" {
			return t.Title
		}
	}
	for _, a := range areas() {
		for _, m := range a.Main {
			if m.Metric == metric && m.Title != "" {
				return m.Title
			}
		}
	}
	return metric
}

// FromRuns builds the report of any set of runs: a table of outcomes, a chart
// for every metric on record with seeds as bands, the recipes to run again, and
// the terms of the glossary that occur.
func FromRuns(records []*record.Record, glossary ...Term) Report {
	return fromGroups(Group(records), records, glossary)
}

// FromGroups is FromRuns of groups that have their names and colours.
func FromGroups(groups []RunGroup, glossary ...Term) Report {
	var records []*record.Record
	for _, g := range groups {
		records = append(records, g.Runs...)
	}
	return fromGroups(groups, records, glossary)
}

// fromGroups takes all records, which are more than the groups' where runs are
// repeated.
func fromGroups(groups []RunGroup, records []*record.Record, glossary []Term) Report {
	names := metricNames(records)
	r := Report{Eyebrow: "simulate report", Facts: facts(records, groups)}
	r.Title = figure.Count(len(groups), "recipe") + ", " + figure.Count(len(records), "run")
	if len(groups) == 1 {
		r.Title = groups[0].Name
	}
	outcome := outcomes(groups, JudgedBy(records))
	r.Lead = outcome.lead(len(records))
	r.Sections = append(r.Sections, Section{Heading: "Outcome", Blocks: outcome.blocks(groups, glossary)})
	left := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == outcome.metric })
	if s, ok := clockSection(groups, outcome.metric, glossary); ok {
		r.Sections = append(r.Sections, s)
	}
	if c := PassAtKOf(groups); len(c.Series) > 0 {
		blocks := []Block{Charts{c}}
		for _, by := range passRatesOf(groups) { // of other axes: their cursors stay apart
			blocks = append(blocks, Charts{by})
		}
		r.Sections = append(r.Sections, Section{Heading: "Several attempts", Blocks: blocks})
	}
	for _, a := range areas() {
		if s, ok := a.section(groups, &left, glossary); ok {
			r.Sections = append(r.Sections, s)
		}
	}
	for _, g := range groups {
		r.Reruns = append(r.Reruns, rerun(g))
	}
	for _, t := range glossary {
		if slices.Contains(names, t.Name) {
			r.Glossary = append(r.Glossary, t)
		}
	}
	return r
}

// metricNames lists every metric on record, in the order of first appearance.
func metricNames(records []*record.Record) []string {
	var names []string
	for _, r := range records {
		for _, c := range r.Columns {
			if !slices.Contains(names, c.Name) {
				names = append(names, c.Name)
			}
		}
	}
	return names
}

// JudgedBy is the metric that says best what became of a set of runs: an
// evaluation if there is one, else the training reward; empty if neither is on
// record.
func JudgedBy(records []*record.Record) string {
	names := metricNames(records)
	for _, want := range []string{"val/learner/pass_rate", "val/rollout/pass_rate", "critic/score/mean", "critic/rewards/mean"} {
		if slices.Contains(names, want) {
			return want
		}
	}
	return ""
}

func facts(records []*record.Record, groups []RunGroup) []Fact {
	steps, finished := 0, 0
	var seeds []string
	for _, r := range records {
		steps = max(steps, r.Steps)
		if r.Summary != nil {
			finished++
		}
		if s := strconv.FormatUint(r.Seed, 10); !slices.Contains(seeds, s) {
			seeds = append(seeds, s)
		}
	}
	return []Fact{{"recipes", strconv.Itoa(len(groups))}, {"runs", strconv.Itoa(len(records))},
		{"finished", strconv.Itoa(finished)}, {"seeds", strconv.Itoa(len(seeds))}, {"longest run", figure.Count(steps, "step")}}
}

// section takes the area's metrics out of left and charts them: the main
// ones in sight, the rest in a fold.
func (a area) section(groups []RunGroup, left *[]string, terms []Term) (Section, bool) {
	var mine, rest []string
	for _, name := range *left {
		if slices.ContainsFunc(a.Prefixes, func(p string) bool { return strings.HasPrefix(name, p) }) {
			mine = append(mine, name)
		} else {
			rest = append(rest, name)
		}
	}
	*left = rest
	if len(mine) == 0 {
		return Section{}, false
	}
	var open, folded Charts
	for _, m := range a.Main {
		if i := slices.Index(mine, m.Metric); i >= 0 {
			open, mine = append(open, ChartOf(groups, m.Metric, terms)), slices.Delete(mine, i, i+1)
		}
	}
	for _, name := range mine {
		c := ChartOf(groups, name, terms)
		c.Most = mostFolded
		folded = append(folded, c)
	}
	s := Section{Heading: a.Heading}
	if a.Prose != "" {
		s.Blocks = append(s.Blocks, a.Prose)
	}
	if len(open) > 0 {
		s.Blocks = append(s.Blocks, open)
	}
	if len(folded) > 0 {
		s.Blocks = append(s.Blocks, Fold{figure.Count(len(folded), "more metric"), []Block{folded}})
	}
	return s, true
}

func rerun(g RunGroup) Rerun {
	a := Rerun{Name: g.Name}
	for i, r := range g.Runs {
		if i > 0 {
			a.Command += "\n"
		}
		a.Command += fmt.Sprintf("simulate train %s --seed %d", record.ShellWord(filepath.ToSlash(filepath.Join(g.Runs[0].Dir, record.RecipeFile))), r.Seed)
	}
	if len(g.Runs) > 0 {
		a.Recipe = string(g.Runs[0].Recipe)
	}
	return a
}
