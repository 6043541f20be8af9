package experiments

import (
	"slices"
	"strings"

	"driftlab/experiments/measure/tables"
	"driftlab/experiments/study"
	"driftlab/results"
	"driftlab/results/figure"
)

// judged is the metric of the headline: the pass rate of the current
// weights on held-out prompts, sampled in the learner's engine. Training reward
// comes from older weights and hides a degradation.
const judged = "val/learner/pass_rate"

// partTitles are the headings of the parts.
var partTitles = map[headlinePart]string{
	age:    "Equal engines, stale rollouts (off-policy lag of 16 updates)",
	router: "Rollout engine with a low-precision (4-bit) router",
}

// partProse says what was done, not what came out.
var partProse = map[headlinePart]string{
	age:    "Both engines compute the same bits, but the weights that sample are 16 updates behind those that are trained.",
	router: "The rollout engine computes in bf16 with an unscaled 4-bit router, the trainer (learner) in fp32, with the same weights.",
}

// groups returns the arms of a part as groups of runs, the control first.
func (h *HeadlineResult) groups(part headlinePart) []results.RunGroup {
	var list []results.RunGroup
	for i, arm := range h.Arms {
		if arm.Part == part || arm.Name == control {
			list = append(list, results.RunGroup{Name: arm.Title, Slot: slot(arm.Title), Runs: h.Runs[i]})
		}
	}
	return list
}

// Markdown is the headline's tables as text.
func (h *HeadlineResult) Markdown() string {
	text := "# Headline\n\n" + h.lead() + "\n"
	tables := []*figure.Figure{h.OutcomeTable(nil), h.correctionTable(), tables.GapTable(h.Gap), tables.RouteTable(h.Gap)}
	for _, t := range tables {
		if len(t.Rows) > 0 {
			text += "\n" + t.Markdown()
		}
	}
	return text
}

// chart draws the pass rate of the arms of a part. Its heading says what they
// share, so the lines are named by their methods.
func (h *HeadlineResult) chart(part headlinePart) figure.Figure {
	groups := h.groups(part)
	for i := range groups {
		_, groups[i].Name = titleParts(groups[i].Name)
	}
	c := results.ChartOf(groups, judged, nil)
	c.Title, c.Metric, c.Y = partTitles[part], "", figure.Axis{Label: "pass rate", High: 1}
	return c
}

// titleParts are the setting and the method of an arm's title, such as "fp4
// rollouts" and "token TIS"; the matched control has no setting.
func titleParts(title string) (setting, method string) {
	setting, method, ok := strings.Cut(title, ", ")
	if !ok {
		return "", title
	}
	return setting, method
}

// methodColors are the methods in the order of the palette, so that a method
// has its colour in every chart.
var methodColors = []string{"clip against the rollout", "uncorrected", "token TIS", "OPSM", "sequence TIS", "R3 replay", "equal engines"}

// slot is the palette place of an arm, from 1.
func slot(title string) int {
	_, method := titleParts(title)
	return slices.Index(methodColors, method) + 1
}

// Picture is the headline as one figure: a chart for each part.
func (h *HeadlineResult) Picture() *figure.Figure {
	p := &figure.Figure{Kind: figure.Multiples, Title: "Pass rate with stale rollouts and with a low-precision router, by correction"}
	for _, part := range h.parts() {
		p.Parts = append(p.Parts, h.chart(part))
	}
	return p
}

// Report is the page of the headline, with published outcomes next to its own if there
// are any. The glossary explains the metrics.
func (h *HeadlineResult) Report(published []ArmOutcome, glossary []results.Term) results.Report {
	var groups []results.RunGroup
	for i, arm := range h.Arms {
		groups = append(groups, results.RunGroup{Name: arm.Title, Slot: slot(arm.Title), Runs: h.Runs[i]})
	}
	r := results.FromGroups(groups, glossary...)
	r.Title, r.Eyebrow = "Training-inference mismatch on a laptop", "simulate"
	r.Lead = h.lead()
	bars := tables.GapBars(h.Gap)
	bars.Title = "" // the section's
	gap := results.Section{Heading: "Training-inference mismatch at equal weights", Blocks: []results.Block{
		results.Prose("The rollout engine samples, and the trainer scores the same tokens with the **same weights**. Nothing is trained. " +
			"Every difference is due to the declared number formats and orders of summation."),
		bars,
		tables.GapTable(h.Gap),
	}}
	if t := tables.RouteTable(h.Gap); len(t.Rows) > 0 {
		gap.Blocks = append(gap.Blocks, t)
	}
	story := results.Section{Heading: "Training under staleness and mismatch, without and with a correction"}
	for _, part := range h.parts() {
		c := h.chart(part)
		c.Note = partProse[part]
		story.Blocks = append(story.Blocks, &c)
	}
	story.Blocks = append(story.Blocks, h.OutcomeTable(published), h.correctionTable())
	// The sections of FromGroups after its outcome table, which the story replaces.
	r.Sections = append([]results.Section{story, gap}, r.Sections[1:]...)
	if t := study.NoEffectTable(h.NoEffects); t != nil {
		r.Sections = append(r.Sections, results.Section{Heading: "Settings without effect", Blocks: []results.Block{t}})
	}
	return r
}
