package reproduce

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"driftlab/experiments/study/sources"
	"driftlab/results"
	"driftlab/results/figure"
	"driftlab/results/published"
	"driftlab/results/record"
	"driftlab/results/stats"
)

// Pages are the pages of the site about the published claims: the list first, then one for each.
func Pages(list []Status) []results.Report {
	t := head("list")
	t.Sortable = true
	for j := 1; j < 5; j++ {
		t.Columns[j].Filter = true
	}
	pages := []results.Report{{Site: "claims.html", Title: "Claims of papers, measured", Lead: fmt.Sprintf("%d claims, each with the check that was declared for it, an effect with its interval, and a verdict; negative results, too.", len(list)),
		Sections: []results.Section{{Heading: "All claims", Blocks: []results.Block{t}}, {Heading: "Verdicts", Blocks: []results.Block{DeclaredTable(list)}}}}}
	for i := range list {
		s := &list[i]
		page := s.page()
		pages = append(pages, page)
		papers := sources.ArXiv.FindAllString(s.Source, -1)
		slices.Sort(papers)
		measured, _, _ := strings.Cut(s.Measured(), ":") // the claim's page says by what
		effect := ""
		if l := sources.Answering(s.Ladder); l != nil {
			effect = l.Effect
		} else if s.Own.Primary != nil {
			effect = s.Own.Primary.interval(s.Own.Replications)
		}
		t.Add(figure.Cell{Text: s.Title, Link: page.Site}, figure.Word(string(s.Verdict)).As(emphasis(s.Verdict)), figure.Word(s.Judged), figure.Word(measured), figure.Word(strings.Join(slices.Compact(papers), ", ")), figure.Word(effect))
	}
	return pages
}

// interval is the effect of a published check.
func (d *Decisive) interval(n int) string {
	return intervalText(stats.Interval{Estimate: d.Ours[0], Low: d.Ours[1], High: d.Ours[2], N: n})
}

// page is the page of a published claim.
func (s *Status) page() results.Report {
	ours := published.Claims()[s.ID]
	var of struct {
		Checks []Decisive `json:"checks"`
	}
	if err := json.Unmarshal(ours.Verdict, &of); err != nil {
		panic(s.ID + "/verdict.json: " + err.Error()) // tests read them
	}
	t := head("checks")
	t.Columns = slices.Delete(t.Columns, 5, 6) // new seeds have a sentence
	for i := range of.Checks {
		c := &of.Checks[i]
		name := figure.Word(c.Name)
		if p := s.Own.Primary; p != nil && c.Name == p.Name && c.Level == p.Level {
			name = figure.Word("primary: " + c.Name).As(figure.Strong)
		}
		t.Add(name, figure.Word(c.Outcome.Term()).As(emphases[c.Outcome]), figure.Word(string(c.Level)), figure.Word(c.Needs), figure.Word(c.interval(s.Own.Replications)))
	}
	declared := "before any published result"
	if s.First != nil {
		declared = "revised after a result"
	}
	fresh := results.Prose("No new seeds were measured.")
	if s.Fresh != nil {
		fresh = results.Prose("With new models and new seeds the verdict of the claim's own check is **" + string(s.Fresh.Verdict) + "**.")
	}
	var what []results.Block
	if s.Ladder != nil {
		what = append(what, results.Prose(ladderText(s.Ladder)))
	}
	what = append(what, results.Picture{SVG: []byte(ours.Picture), Alt: s.Title}, fresh, t)
	return results.Report{Site: "claim-" + s.ID + ".html", Title: s.Title, Lead: s.Sentence, Badges: []results.Badge{{Text: s.MarkedVerdict(), Emphasis: emphasis(s.Verdict)}},
		Facts: []results.Fact{{Name: "replications of its own check", Value: s.Sample()}, {Name: "primary check declared", Value: declared}, {Name: "learning rates", Value: s.Judged}, {Name: "measured", Value: s.Measured()}},
		Sections: []results.Section{
			{Heading: "What was measured", Blocks: what},
			{Heading: "What the source says", Blocks: []results.Block{results.Prose(s.Published), results.Prose("Source: " + s.Source)}},
			{Heading: "Measure it again", Blocks: []results.Block{results.Code("./simulate reproduce " + record.ShellWord(s.ID) + " --quick")}},
		}}
}
