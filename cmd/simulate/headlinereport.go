package main

import (
	"fmt"
	"slices"
	"strings"

	"driftlab/experiments"
	"driftlab/results"
	"driftlab/trainer"
)

// headlineMetric is what the arms are judged by: held-out prompts, current
// weights, the learner's engine.
const headlineMetric = "val/learner/pass_rate"

// part is one comparison of the headline.
type part struct {
	title, prose string
	groups       []results.RunGroup
	table        *results.Table
	notes        []results.Block // what the report says beside the table
}

// partTexts says what each comparison is, and which arms of other parts it
// stands beside.
var partTexts = []struct {
	part         experiments.HeadlinePart
	title, prose string
	beside       []string
}{
	{experiments.Mismatch, "A coarse rollout engine",
		"Only negative advantages are learned, with rollouts in fp4 and an fp32 learner. Nothing is stale: the engines compute differently, and that is all.", nil},
	{experiments.Staleness, "Old rollouts",
		"The same with equal engines, and rollouts from weights of four updates ago.", []string{"matched"}},
	{experiments.Ordinary, "The ordinary weighting",
		"Most people learn from positive advantages as well. The coarse engine once more, with and without them.", []string{"fp4"}},
}

// headlineParts sorts the arms into comparisons.
func headlineParts(h *experiments.HeadlineResult) []part {
	var parts []part
	for _, text := range partTexts {
		p := part{title: text.title, prose: text.prose}
		var records []*results.Record
		for i, arm := range h.Arms {
			if arm.Part != text.part && !slices.Contains(text.beside, arm.Name) {
				continue
			}
			for _, r := range h.Runs[i] {
				named := *r
				named.Name = arm.Title
				records = append(records, &named)
			}
		}
		p.groups = results.Group(records)
		for _, b := range results.FromRuns(records, glossary()...).Sections[0].Blocks {
			if t, ok := b.(*results.Table); ok && p.table == nil {
				t.Title = text.title + ": means over seeds"
				p.table = t
				continue
			}
			p.notes = append(p.notes, b)
		}
		parts = append(parts, p)
	}
	return parts
}

// headlinePicture is the pass rate of every comparison, side by side.
func headlinePicture(parts []part) *results.Panels {
	p := &results.Panels{Title: "Pass rate on held-out prompts, current weights", Columns: len(parts)}
	for i := range parts {
		chart := results.ChartOf(parts[i].groups, headlineMetric, glossary())
		chart.Title = parts[i].title
		for k := range chart.Arms {
			chart.Arms[k].Slot = 0 // one legend for all: a colour per name
		}
		p.Charts = append(p.Charts, chart)
	}
	return p
}

// headlineReport is the page.
func headlineReport(gap *trainer.Measurement, parts []part) results.Report {
	r := results.Report{
		Title: "Two engines, one policy", Eyebrow: "simulate",
		Lead: headlineLead(gap, parts), Glossary: glossary(),
	}
	r.Sections = append(r.Sections, results.Section{Heading: "The gap at equal weights", Blocks: []results.Block{
		results.Prose("Responses are sampled in one engine and scored in the other with the **same** weights. Whatever differs is due to number formats and the order of sums."),
		gapTable(gap), routeTable(gap),
	}})
	for _, p := range parts {
		main := results.ChartOf(p.groups, headlineMetric, glossary())
		blocks := []results.Block{results.Prose(p.prose), &main, p.table}
		blocks = append(blocks, p.notes...)
		var more results.Charts
		for _, metric := range []string{"critic/score/mean", "gap/k3", "actor/entropy", "routes/flip_token", "actor/grad_norm", "response_length/mean"} {
			if c := results.ChartOf(p.groups, metric, glossary()); len(c.Arms) > 0 {
				more = append(more, c)
			}
		}
		if len(more) > 0 {
			blocks = append(blocks, results.Fold{Summary: fmt.Sprintf("%d more charts", len(more)), Blocks: []results.Block{more}})
		}
		r.Sections = append(r.Sections, results.Section{Heading: p.title, Blocks: blocks})
	}
	var records []*results.Record
	for _, p := range parts {
		for _, g := range p.groups {
			records = append(records, g.Runs...)
		}
	}
	all := results.FromRuns(records, glossary()...)
	r.Facts, r.Again = all.Facts, all.Again
	return r
}

// headlineLead says in two sentences what came out.
func headlineLead(gap *trainer.Measurement, parts []part) string {
	var b strings.Builder
	for _, p := range gap.Pairs {
		if p.Rollout == "bf16" && p.Learner == "fp32" && p.Gap.HasExact {
			fmt.Fprintf(&b, "At equal weights a bf16 rollout engine is **%s nats** of KL per token away from an fp32 learner. ", results.FormatNumber(p.Gap.ExactKL, 2))
		}
	}
	for _, p := range parts {
		var said []string
		for _, arm := range armsOf(p.groups, headlineMetric) {
			var peak, final float64
			for _, run := range arm.Runs {
				peak += run.Peak / float64(len(arm.Runs))
				final += run.Final / float64(len(arm.Runs))
			}
			said = append(said, fmt.Sprintf("%s **%s** (peak %s)", arm.Name, results.FormatNumber(final, 2), results.FormatNumber(peak, 2)))
		}
		fmt.Fprintf(&b, "%s, pass rate at the end: %s. ", p.title, strings.Join(said, ", "))
	}
	return strings.TrimSpace(b.String())
}
