package reproduce

import (
	"fmt"
	"math"
	"strings"

	"driftlab/experiments/claims/claim"
	"driftlab/results"
	"driftlab/results/figure"
	"driftlab/results/stats"
)

// VerdictTable has a line per claim: the paper's figure, ours, the verdict, and
// the verdict of fresh seeds.
func VerdictTable(list []Result) *figure.Figure {
	t := &figure.Figure{
		Kind:  figure.Table,
		Title: "Claims of papers",
		Columns: []figure.Column{{Name: "claim"}, {Name: "verdict"}, {Name: "new seeds"}, {Name: "paper"}, {Name: "primary check"},
			{Name: "effect, 95 % CI"}, {Name: "new seeds, 95 % CI"}, {Name: "n", Align: figure.Right}, {Name: "p, Holm", Align: figure.Right}},
		Note: "One primary check decides. Confidence intervals are Student's over independent models or runs, or exact ones of pooled counts. " +
			"New seeds are other models, prompts and samples, on which no setting was chosen. " +
			"A ratio is infinite where a replication has 0 in its denominator. p-values of significant verdicts are adjusted across the claims (Holm). The figures of papers are context: other models, other scale. " + provisionalNote(list),
	}
	adjusted := holm(list)
	for i := range list {
		r := &list[i]
		name, needs := "-", ""
		if d := r.decisive(); d != nil {
			name, needs = d.Label(), d.Needs
		}
		fresh, freshFigure := figure.Word("-"), "-"
		if r.Fresh != nil {
			fresh, freshFigure = figure.Word(string(r.Fresh.Verdict)).As(emphasis(r.Fresh.Verdict)), r.Fresh.figure()
		}
		t.Add(figure.Word(r.Claim.ID).As(figure.Strong), r.verdictCell(), fresh, figure.Word(r.Claim.Figure), figure.Word(name+": "+needs),
			figure.Word(r.figure()), figure.Word(freshFigure), figure.Word(fmt.Sprintf("%d %ss", len(r.Seeds), r.Claim.Unit)), adjustedCell(adjusted[i]))
	}
	return t
}

// holm is the adjusted p-value of every claim whose verdict rejects; NaN of the others.
func holm(list []Result) []float64 {
	p := make([]float64, len(list))
	for i := range list {
		p[i] = math.NaN()
		if d := list[i].decisive(); d != nil && (d.Outcome == claim.Passed || d.Outcome == claim.Contrary) {
			p[i] = d.P
		}
	}
	return stats.Holm(p)
}

func adjustedCell(p float64) figure.Cell {
	if math.IsNaN(p) {
		return figure.Word("-")
	}
	return figure.Number(p, 2)
}

// decisive is the check that the verdict rests on.
func (j *Judged) decisive() *claim.Check { return j.Verdict.Decisive(j.Evidence.Checks) }

// figure is the value of the check that the verdict rests on. One of the natural
// level has the amplified one next to it and the other way round, where both were
// measured.
func (j *Judged) figure() string {
	d := j.decisive()
	if d == nil {
		return "-"
	}
	if d.Level == claim.Exact {
		return intervalText(d.Value)
	}
	text := string(d.Level) + " " + intervalText(d.Value)
	for _, c := range j.Evidence.Checks {
		if c.Primary && c.Level != d.Level {
			text += "; " + string(c.Level) + " " + intervalText(c.Value)
		}
	}
	return text
}

// provisionalNote explains the question mark if one is shown.
func provisionalNote(list []Result) string {
	for i := range list {
		if list[i].Provisional() {
			return "A verdict with a question mark is a preview: fewer than ten replications, or a smaller measurement."
		}
	}
	return ""
}

// checkTable has a line per check of a claim: the primary ones first, then what
// else was looked at.
func checkTable(r *Result) *figure.Figure {
	t := &figure.Figure{
		Kind:  figure.Table,
		Title: "Checks",
		Columns: []figure.Column{{Name: "check"}, {Name: "outcome"}, {Name: "level"}, {Name: "criterion"},
			{Name: "effect, 95 % CI", Align: figure.Right}, {Name: "new seeds, 95 % CI", Align: figure.Right}},
		Note: "The primary check decides; the others are secondary. Inconclusive: the interval contains both answers. Opposite: significant in the opposite direction.",
	}
	for _, primary := range []bool{true, false} {
		for _, level := range claim.Levels {
			for i, c := range r.Evidence.Checks {
				if c.Primary != primary || c.Level != level {
					continue
				}
				name, fresh := figure.Word(c.Name), "-"
				if c.Primary {
					name = figure.Word("primary: " + c.Name).As(figure.Strong)
				}
				if r.Fresh != nil && i < len(r.Fresh.Evidence.Checks) {
					again := r.Fresh.Evidence.Checks[i]
					fresh = intervalText(again.Value)
					if again.Outcome != c.Outcome {
						fresh += ", " + again.Outcome.Term()
					}
				}
				t.Add(name, outcomeCell(c.Outcome), figure.Word(string(c.Level)), figure.Word(c.Needs), figure.Word(intervalText(c.Value)), figure.Word(fresh))
			}
		}
	}
	return t
}

// intervalText is "2.1 [1.9, 2.4]", the value alone for a single seed, or "none" where
// there is nothing to estimate. A ratio with a denominator of 0 has no finite value.
func intervalText(i stats.Interval) string {
	show := func(v float64) string {
		if math.IsInf(v, 1) {
			return "infinite"
		}
		return figure.FormatNumber(v, 3)
	}
	if math.IsNaN(i.Estimate) {
		return "none"
	}
	if math.IsNaN(i.Low) || math.IsNaN(i.High) {
		return show(i.Estimate) + ", no interval"
	}
	if i.N < 2 || i.Low == i.High {
		return show(i.Estimate)
	}
	return fmt.Sprintf("%s [%s, %s]", show(i.Estimate), show(i.Low), show(i.High))
}

func outcomeCell(o claim.Mark) figure.Cell {
	e := figure.Muted
	switch o {
	case claim.Passed:
		e = figure.Good
	case claim.Failed, claim.Contrary:
		e = figure.Bad
	case claim.Open:
		e = figure.Warn
	}
	return figure.Word(o.Term()).As(e)
}

func (r *Result) verdictCell() figure.Cell {
	return figure.Word(r.VerdictText()).As(emphasis(r.Verdict))
}

// VerdictText is the verdict, with a question mark while it is provisional.
func (r *Result) VerdictText() string {
	if r.Provisional() {
		return string(r.Verdict) + "?"
	}
	return string(r.Verdict)
}

func emphasis(v claim.Verdict) figure.Emphasis {
	switch v {
	case claim.Reproduced:
		return figure.Good
	case claim.Extrapolates, claim.OnlyAmplified, claim.Undecided:
		return figure.Warn
	}
	return figure.Bad
}

// Report is the page: one section per claim with its picture.
func Report(list []Result) results.Report {
	count := map[claim.Verdict]int{}
	for i := range list {
		count[list[i].Verdict]++
	}
	page := results.Report{
		Title: "Claims of papers, measured", Eyebrow: "simulate reproduce",
		Lead: verdictLead(count) + fmt.Sprintf("%d claims on a transformer small enough for a laptop, with two engines that share weights and differ only in how they compute. "+
			"One primary check per claim decides, by a threshold that stands in its code; an independent model or run is one replication.", len(list)) + agreement(list),
		Sections: []results.Section{{Heading: "Verdicts", Blocks: []results.Block{VerdictTable(list)}}},
	}
	for _, v := range verdictOrder {
		if count[v] > 0 {
			page.Facts = append(page.Facts, results.Fact{Name: string(v), Value: fmt.Sprint(count[v])})
		}
	}
	for i := range list {
		page.Sections = append(page.Sections, list[i].section())
		page.Reruns = append(page.Reruns, list[i].again())
	}
	return page
}

// verdictOrder is the order in which verdicts are counted up.
var verdictOrder = []claim.Verdict{claim.Reproduced, claim.Extrapolates, claim.OnlyAmplified, claim.Undecided, claim.NotReproduced, claim.Refuted}

// verdictLead is the finding: how many claims have each verdict.
func verdictLead(count map[claim.Verdict]int) string {
	var parts []string
	for _, v := range verdictOrder {
		if count[v] > 0 {
			parts = append(parts, fmt.Sprintf("**%d %s**", count[v], v))
		}
	}
	return strings.Join(parts, ", ") + ". "
}

func (r *Result) section() results.Section {
	c := &r.Claim
	s := results.Section{Heading: c.Title, Badges: []results.Badge{{Text: r.VerdictText(), Emphasis: emphasis(r.Verdict)}}}
	add := func(b ...results.Block) { s.Blocks = append(s.Blocks, b...) }
	for _, p := range r.summary() {
		add(results.Prose(p))
	}
	if r.Evidence.Picture != nil {
		add(r.Evidence.Picture)
	}
	for _, n := range r.Evidence.Notes {
		add(results.Prose(n))
	}
	add(checkTable(r))
	if r.Evidence.Table != nil {
		add(r.Evidence.Table)
	}
	add(results.Prose("**Reproduce it**"), results.Code(r.again().Command))
	for i, text := range r.Recipes {
		head, _, _ := strings.Cut(strings.TrimPrefix(text, "# "), "\n")
		add(results.Fold{Summary: fmt.Sprintf("Recipe of training run %d: %s", i+1, head), Blocks: []results.Block{results.Code(text)}})
	}
	var how []results.Block
	for _, p := range methodOf(c) {
		how = append(how, results.Prose(p))
	}
	for _, command := range c.Commands {
		how = append(how, results.Code(command))
	}
	add(results.Fold{Summary: "Criterion and setup of " + c.ID, Blocks: how})
	return s
}

func (r *Result) again() results.Rerun {
	command := fmt.Sprintf("simulate reproduce %s --seeds %d --seed-base %d", r.Claim.ID, len(r.Seeds), r.Seeds[0])
	if r.Fresh != nil {
		command += " --fresh"
	}
	if r.Size == claim.Quick {
		command += " --quick"
	}
	return results.Rerun{Name: r.Claim.ID, Command: command}
}

// agreement is how many verdicts stayed with fresh seeds; empty where none was
// measured with them.
func agreement(list []Result) string {
	same, all := 0, 0
	for i := range list {
		if f := list[i].Fresh; f != nil {
			all++
			if f.Verdict == list[i].Verdict {
				same++
			}
		}
	}
	if all == 0 {
		return ""
	}
	return fmt.Sprintf(" With new models and new seeds **%d of %d** verdicts are the same.", same, all)
}
