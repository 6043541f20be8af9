package reproduce

import (
	"fmt"
	"strings"

	"driftlab/experiments/claim"
	"driftlab/experiments/stats"
	"driftlab/results"
)

// VerdictTable has a line per claim: the paper's figure, ours, the verdict.
func VerdictTable(list []Result) *results.Table {
	t := &results.Table{
		Title:   "Published claims",
		Columns: []results.TableColumn{{Name: "claim"}, {Name: "verdict"}, {Name: "published"}, {Name: "compared here"}, {Name: "ours, 95% interval"}, {Name: "decided by"}},
		Note:    "Intervals are bootstraps over paired seeds. Published figures are context: other models, other scale. " + provisionalNote(list),
	}
	for i := range list {
		r := &list[i]
		t.Add(results.Word(r.Claim.ID).As(results.Strong), r.verdictCell(), results.Word(r.Claim.Figure), results.Word(r.Evidence.Checks[0].Name),
			results.Word(r.summary()), results.Word(r.decidedBy()))
	}
	return t
}

// summary is the figure of the first check. A figure of the natural dose has the
// amplified one beside it and the other way round, where both were measured.
func (r *Result) summary() string {
	first := r.Evidence.Checks[0]
	text := intervalText(first.Value)
	if first.Dose == claim.Exact {
		return text
	}
	text = string(first.Dose) + " " + text
	for _, c := range r.Evidence.Checks[1:] {
		if c.Dose != first.Dose && c.Dose != claim.Exact && c.Name == first.Name {
			text += "; " + string(c.Dose) + " " + intervalText(c.Value)
		}
	}
	return text
}

// decidedBy names the check that stands between the claim and "reproduced".
func (r *Result) decidedBy() string {
	d := r.Verdict.Decisive(r.Evidence.Checks)
	if d == nil {
		return "all checks hold"
	}
	return d.Label() + ": " + string(d.Outcome)
}

// provisionalNote explains the question mark if one is shown.
func provisionalNote(list []Result) string {
	for i := range list {
		if list[i].Provisional() {
			return "A verdict with a question mark is a preview: fewer than five seeds, or a smaller measurement."
		}
	}
	return ""
}

// CheckTable has a line per check of a claim, natural dose before amplified.
func CheckTable(r *Result) *results.Table {
	t := &results.Table{
		Title: "Checks",
		Columns: []results.TableColumn{{Name: "check"}, {Name: "outcome"}, {Name: "dose"}, {Name: "needs"},
			{Name: "ours, 95% interval", Align: results.Right}},
	}
	for _, dose := range []claim.Dose{claim.Exact, claim.Natural, claim.Amplified} {
		for _, c := range r.Evidence.Checks {
			if c.Dose == dose {
				t.Add(results.Word(c.Name), outcomeCell(c.Outcome), results.Word(string(c.Dose)), results.Word(c.Needs),
					results.Word(intervalText(c.Value)))
			}
		}
	}
	return t
}

// intervalText is "2.1 [1.9, 2.4]", or the value alone for a single seed.
func intervalText(i stats.Interval) string {
	show := func(v float64) string { return results.FormatNumber(v, 3) }
	if i.N < 2 || i.Low == i.High {
		return show(i.Estimate)
	}
	return fmt.Sprintf("%s [%s, %s]", show(i.Estimate), show(i.Low), show(i.High))
}

func outcomeCell(o claim.Mark) results.Cell {
	e := results.Muted
	switch o {
	case claim.Passed:
		e = results.Good
	case claim.Failed, claim.Contrary:
		e = results.Bad
	case claim.Open:
		e = results.Warn
	}
	return results.Word(string(o)).As(e)
}

func (r *Result) verdictCell() results.Cell {
	return results.Word(r.VerdictText()).As(r.emphasis())
}

// VerdictText is the verdict, with a question mark while it is provisional.
func (r *Result) VerdictText() string {
	if r.Provisional() {
		return string(r.Verdict) + "?"
	}
	return string(r.Verdict)
}

func (r *Result) emphasis() results.Emphasis {
	switch r.Verdict {
	case claim.Reproduced:
		return results.Good
	case claim.OnlyAmplified, claim.Undecided:
		return results.Warn
	}
	return results.Bad
}

// Report is the page: one section per claim with its picture.
func Report(list []Result) results.Report {
	count := map[claim.Verdict]int{}
	for i := range list {
		count[list[i].Verdict]++
	}
	page := results.Report{
		Title: "Published claims, measured", Eyebrow: "simulate reproduce",
		Lead: verdictLead(count) + fmt.Sprintf("%d claims on a transformer small enough for a laptop, with two engines that share weights and differ only in how they compute. "+
			"Thresholds stand in the code of each claim, and verdicts are computed from them.", len(list)),
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
var verdictOrder = []claim.Verdict{claim.Reproduced, claim.OnlyAmplified, claim.Undecided, claim.NotReproduced, claim.Refuted}

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
	s := results.Section{Heading: c.Title, Badges: []results.Badge{{Text: r.VerdictText(), Emphasis: r.emphasis()}}}
	add := func(b ...results.Block) { s.Blocks = append(s.Blocks, b...) }
	add(results.Prose(c.Statement))
	switch p := r.Evidence.Picture.(type) {
	case *results.Chart:
		add(p)
	case nil:
	default:
		add(results.Drawing{Figure: p})
	}
	for _, n := range r.Evidence.Notes {
		add(results.Prose(n))
	}
	add(CheckTable(r))
	if r.Evidence.Table != nil {
		add(r.Evidence.Table)
	}
	add(results.Prose("**Run it again**"), results.Code(r.again().Command))
	for i, text := range r.Recipes {
		head, _, _ := strings.Cut(strings.TrimPrefix(text, "# "), "\n")
		add(results.Fold{Summary: fmt.Sprintf("Recipe of training run %d: %s", i+1, head), Blocks: []results.Block{results.Code(text)}})
	}
	how := []results.Block{
		results.Prose("**Source.** " + c.Source), results.Prose("**Published.** " + c.Figure),
		results.Prose("**Counts as reproduced.** " + c.Threshold), results.Prose("**Measured on.** " + c.Setup),
	}
	if c.LeftOut != "" {
		how = append(how, results.Prose("**Not judged here.** "+c.LeftOut))
	}
	for _, command := range c.Commands {
		how = append(how, results.Code(command))
	}
	add(results.Fold{Summary: "Source, threshold and setup of " + c.ID, Blocks: how})
	return s
}

func (r *Result) again() results.Rerun {
	command := fmt.Sprintf("simulate reproduce %s --seeds %d --seed-base %d", r.Claim.ID, len(r.Seeds), r.Seeds[0])
	if r.Size == claim.Quick {
		command += " --quick"
	}
	return results.Rerun{Name: r.Claim.ID, Command: command}
}
