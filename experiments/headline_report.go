package experiments

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"driftlab/results"
	"driftlab/results/record"
)

// judged is the figure the headline is told by: the pass rate of the current
// weights on held-out prompts, sampled in the learner's engine. Training reward
// comes from older weights and hides a fall.
const judged = "val/learner/pass_rate"

// partTitles are the headings of the parts.
var partTitles = [...]string{
	Mismatch:  "A coarse rollout engine, trained on negatives only",
	Staleness: "Equal engines, rollouts 4 updates old, negatives only",
	Ordinary:  "The same coarse engine with the positives kept",
}

// partProse says what was done, not what came out.
var partProse = [...]string{
	Mismatch: "Both engines hold the same weights. One samples with 4-bit weights, 8-bit inputs, cache and head; the other learns in fp32. " +
		"Positive advantages are dropped, so only wrong responses teach. The lines are the same run with different corrections.",
	Staleness: "Both engines compute the same bits, but the rollouts come from the weights of 4 updates ago.",
	Ordinary:  "Ordinary GRPO, positives and negatives, on the same 4-bit rollouts.",
}

// groups returns the arms of a part as groups of runs.
func (h *HeadlineResult) groups(part HeadlinePart) []results.RunGroup {
	var list []results.RunGroup
	for i, arm := range h.Arms {
		if arm.Part == part {
			list = append(list, results.RunGroup{Name: arm.Title, Slot: slot(arm.Title), Runs: h.Runs[i]})
		}
	}
	return list
}

// Outcome is what became of one arm.
type Outcome struct {
	// Name and Title are the arm's.
	Name  string `json:"name"`
	Title string `json:"title"`
	// Start is the evaluation before the first update, Peak and Final are the best
	// and the last mean of three evaluations (record.Judgement), by seed.
	Start []float64 `json:"start"`
	Peak  []float64 `json:"peak"`
	Final []float64 `json:"final"`
	// Verdicts are the seeds' fates, and Collapsed counts those that fell.
	Verdicts  []record.Fate `json:"verdicts"`
	Collapsed int           `json:"collapsed"`
	// Stopped counts the seeds that a value which is not finite ended.
	Stopped int `json:"stopped"`
}

// Outcomes judges every arm.
func (h *HeadlineResult) Outcomes() []Outcome {
	var list []Outcome
	for i, arm := range h.Arms {
		o := Outcome{Name: arm.Name, Title: arm.Title}
		for _, run := range h.Runs[i] {
			c := record.Judge(run, judged)
			o.Verdicts = append(o.Verdicts, c.Fate)
			switch {
			case c.Fate == record.Stopped:
				o.Stopped++
			case c.Fate.Fallen():
				o.Collapsed++
			}
			if !math.IsNaN(c.Start) {
				o.Start = append(o.Start, c.Start)
			}
			if !math.IsNaN(c.Final) {
				o.Peak, o.Final = append(o.Peak, c.Peak), append(o.Final, c.Final)
			}
		}
		list = append(list, o)
	}
	return list
}

// Verdict is the outcome in words.
func (o Outcome) Verdict() results.Cell { return results.Verdict(o.Verdicts) }

// OutcomeTable shows every arm with its seeds.
func (h *HeadlineResult) OutcomeTable() *results.Table {
	t := &results.Table{
		Title:   "What became of the pass rate",
		Columns: []results.TableColumn{{Name: "run"}, {Name: "verdict"}, right("peak, by seed", ""), right("final, by seed", "")},
		Note: "Pass rate of the current weights on held-out prompts, sampled in the learner's engine; means of three evaluations. " +
			record.CollapseRule(),
	}
	part := HeadlinePart(-1)
	for i, o := range h.Outcomes() {
		if h.Arms[i].Part != part {
			part = h.Arms[i].Part
			t.Add(results.Word(partTitles[part]).As(results.Muted), results.Cell{}, results.Cell{}, results.Cell{})
		}
		t.Add(results.Word(o.Title), o.Verdict(), results.Word(rates(o.Peak)), results.Word(rates(o.Final)))
	}
	return t
}

// rates prints pass rates side by side.
func rates(values []float64) string {
	var words []string
	for _, v := range values {
		words = append(words, fmt.Sprintf("%.2f", v))
	}
	return strings.Join(words, "  ")
}

// Markdown is the headline's tables as text.
func (h *HeadlineResult) Markdown() string {
	text := "# Headline\n\n" + h.lead() + "\n"
	tables := []*results.Table{h.OutcomeTable(), GapTable(h.Gap), RouteTable(h.Gap)}
	for _, t := range tables {
		if len(t.Rows) > 0 {
			text += "\n" + t.Markdown()
		}
	}
	return text
}

// chart draws the pass rate of the arms of a part. Its heading says what they
// share, so the lines are named by their methods.
func (h *HeadlineResult) chart(part HeadlinePart) results.Chart {
	groups := h.groups(part)
	if part == Ordinary {
		// Its twin without the positives, and the matched run, to compare with.
		twins := h.groups(Mismatch)
		groups = append(groups, twins[:min(2, len(twins))]...)
	}
	for i := range groups {
		_, groups[i].Name = titleParts(groups[i].Name)
	}
	c := results.ChartOf(groups, judged, nil)
	c.Title, c.Metric, c.YLabel, c.YRange = partTitles[part], "", "pass rate", [2]float64{0, 1}
	return c
}

// titleParts are the setting and the method of an arm's title, such as "fp4
// rollouts" and "token TIS"; the matched run has no setting.
func titleParts(title string) (setting, method string) {
	setting, method, ok := strings.Cut(title, ", ")
	if !ok {
		return "", title
	}
	return setting, method
}

// methodColors are the methods in the order of the palette, so that a method
// has its colour in every chart; the control is grey.
var methodColors = []string{"clip against the rollout", "uncorrected", "token TIS", "OPSM", "IcePop", "R3 replay", "equal engines", "positives kept"}

// slot is the palette place of an arm, from 1.
func slot(title string) int {
	_, method := titleParts(title)
	name, _, _ := strings.Cut(method, " δ=") // whatever its threshold
	return slices.Index(methodColors, name) + 1
}

// Picture is the headline as one figure: the two collapses with their fixes.
func (h *HeadlineResult) Picture() results.Figure {
	p := &results.Panels{Title: "Two ways to collapse, and what holds", Columns: 2}
	for _, part := range h.parts() {
		if part != Ordinary || len(h.parts()) == 1 {
			p.Charts = append(p.Charts, h.chart(part))
		}
	}
	return p
}

// lead says in a few sentences what came out, computed from the outcomes:
// first what happens without a correction.
func (h *HeadlineResult) lead() string {
	var bare, fell, held, rest []string
	for _, o := range h.Outcomes() {
		setting, method := titleParts(o.Title)
		count := fmt.Sprintf("%d of %d", o.Collapsed, len(o.Verdicts))
		switch {
		case method == "uncorrected":
			bare = append(bare, fmt.Sprintf("**%s** in **%s**", setting, count))
		case o.Collapsed > 0:
			fell = append(fell, fmt.Sprintf("**%s** (%s)", o.Title, count))
		case !slices.ContainsFunc(o.Verdicts, func(f record.Fate) bool { return f != record.Held }):
			held = append(held, "**"+o.Title+"**")
		default:
			rest = append(rest, "**"+o.Title+"** ("+o.Verdict().Text+")")
		}
	}
	var parts []string
	if len(bare) > 0 {
		parts = append(parts, "Collapsed without a correction: "+strings.Join(bare, ", ")+".")
	}
	for _, list := range []struct {
		head  string
		names []string
	}{{"Held on every seed: ", held}, {"Collapsed with one: ", fell}, {"Neither: ", rest}} {
		if len(list.names) > 0 {
			parts = append(parts, list.head+strings.Join(list.names, ", ")+".")
		}
	}
	return strings.Join(parts, " ")
}

// Report is the page of the headline. The glossary explains the metrics.
func (h *HeadlineResult) Report(glossary []results.Term) results.Report {
	var groups []results.RunGroup
	for part := range partTitles {
		groups = append(groups, h.groups(HeadlinePart(part))...)
	}
	r := results.FromGroups(groups, glossary...)
	r.Title, r.Eyebrow = "Training–inference mismatch on a laptop", "simulate"
	r.Lead = h.lead()
	bars := GapBars(h.Gap)
	bars.Title = "" // the section's
	gap := results.Section{Heading: "The gap at equal weights", Blocks: []results.Block{
		results.Prose("One engine samples, the other scores the same tokens with the **same weights**. Nothing is trained. " +
			"Whatever differs is due to the number formats and the order of sums that the two engines declare."),
		results.Drawing{Figure: bars, Caption: "k3 estimate of the KL divergence from the rollout engine to the learner, per token."},
		GapTable(h.Gap),
	}}
	if t := RouteTable(h.Gap); len(t.Rows) > 0 {
		gap.Blocks = append(gap.Blocks, t)
	}
	story := results.Section{Heading: "Collapse, and what holds"}
	table := 0 // stands behind the collapses, before the ordinary runs
	for _, part := range h.parts() {
		c := h.chart(part)
		c.Caption = partProse[part]
		story.Blocks = append(story.Blocks, &c)
		if part != Ordinary {
			table = len(story.Blocks)
		}
	}
	story.Blocks = slices.Insert(story.Blocks, table, results.Block(h.OutcomeTable()))
	// The sections of FromGroups after its outcome table, which the story replaces.
	r.Sections = append([]results.Section{story, gap}, r.Sections[1:]...)
	return r
}
