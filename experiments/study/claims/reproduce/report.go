package reproduce

import (
	_ "embed" // of the heads of tables
	"fmt"
	"math"
	"slices"
	"strings"

	"driftlab/experiments/study"
	"driftlab/experiments/study/claims/claim"
	"driftlab/experiments/study/judge"
	"driftlab/experiments/study/sources"
	"driftlab/results"
	"driftlab/results/figure"
	"driftlab/results/published"
	"driftlab/results/record"
	"driftlab/results/stats"
)

//go:embed heads.yaml
var headsText []byte

// head is a table of this package without its rows.
var head = figure.Heads(headsText)

// VerdictTable has a line per claim: the paper's figure, ours, the verdict, and
// the verdict of fresh seeds.
func VerdictTable(list []Result) *figure.Figure {
	t := head("verdicts")
	t.Note += " "
	if slices.ContainsFunc(list, func(r Result) bool { return r.Provisional() }) {
		t.Note += "Preview: fewer than ten replications, or a smaller measurement."
	}
	states := statuses(list)
	for i := range list {
		r := &list[i]
		name, needs := "-", ""
		if d := r.decisive(); d != nil {
			name, needs = d.Label(), d.Needs
		}
		declared := figure.Word(string(r.Claim.Declared.When))
		if d := r.Claim.Declared.First(); d != nil {
			declared = figure.Word(fmt.Sprintf("%s; %s: %s", d.When, d.Date, d.Verdict)).As(figure.Warn)
		}
		adjusted, fresh, own, freshFigure, sample := figure.Word("-"), figure.Word("-"), r.figure(), "-", r.sample()
		if p := float64(states[i].Holm); !math.IsNaN(p) {
			adjusted = figure.Number(p, 2)
		}
		if r.Fresh != nil {
			fresh, freshFigure = figure.Word(string(r.Fresh.Verdict)).As(emphasis(r.Fresh.Verdict)), r.Fresh.figure()
		}
		if l := r.ladder(); l != nil { // judged on models of its own
			own = fmt.Sprintf("%s; at the claim's own learning rates: %s, %s, n = %s", l.Effect, r.own(), own, sample)
			name, needs, sample = "stability/"+l.Study, l.Check, "-"
			adjusted, fresh, freshFigure = figure.Word("-"), figure.Word("-"), "-"
		}
		t.Add(figure.Word(r.Claim.ID).As(figure.Strong), figure.Word(r.verdictText()+states[i].unadjusted()).As(emphasis(r.confirmed())), fresh, figure.Word(states[i].Judged), figure.Word(states[i].Measured()), declared, figure.Word(r.Claim.Figure), figure.Word(name+": "+needs),
			figure.Word(own), figure.Word(freshFigure), figure.Word(sample), adjusted)
	}
	return t
}

// holm sets the adjusted p-values of the claims whose verdict rejects; NaN of the others.
func holm(list []Status) {
	p := make([]float64, len(list))
	for i := range list {
		p[i] = math.NaN()
		if d := list[i].Own.Primary; d != nil && (d.Outcome == judge.Passed || d.Outcome == judge.Contrary) {
			p[i] = d.P[0]
		}
	}
	for i, adjusted := range judge.Adjusted(p) {
		list[i].Holm = record.Number(adjusted)
	}
}

// DeclaredTable counts the verdicts of checks that were declared before any published result separately from
// those of checks that were revised after one, and from those over a ladder of learning rates.
func DeclaredTable(list []Status) *figure.Figure {
	t := head("declared")
	total := [5]int{}
	add := func(name string, n [5]int) {
		t.Add(figure.Words(name, fmt.Sprint(n[0]), fmt.Sprint(n[1]), fmt.Sprint(n[2]), fmt.Sprint(n[3]), fmt.Sprint(n[4]))...)
	}
	for _, v := range judge.Verdicts {
		n := [5]int{}
		for i := range list {
			s := &list[i]
			if s.Verdict == v {
				switch {
				case !s.OwnCheck():
					n[4]++
				case s.Declared == claim.Revised:
					n[1]++
				default:
					n[0]++
				}
				if s.unadjusted() != "" {
					n[3]++
				}
			}
			if s.Own.Verdict != "" && s.First != nil && s.First.Verdict == v {
				n[2]++
			}
		}
		for k := range n {
			total[k] += n[k]
		}
		add(string(v), n)
	}
	add("all", total)
	return t
}

// statuses are the claims as lines of the list.
func statuses(list []Result) []Status {
	out := make([]Status, len(list))
	for i := range list {
		r := &list[i]
		out[i] = statusOf(r.Claim, func(s *Status) { s.Own, s.Verdict = r.outcome(), r.own() })
	}
	holm(out)
	return out
}

// Verdicts is the page of all verdicts: counted up, then one by one.
func Verdicts(list []Result) string {
	return DeclaredTable(statuses(list)).Markdown() + "\n" + VerdictTable(list).Markdown()
}

// decisive is the check that the verdict rests on.
func (j *Judged) decisive() *judge.Check { return judge.Decisive(j.Evidence.Checks) }

// figure is the value of the check that the verdict rests on. One of the natural
// level has the amplified one next to it and the other way round, where both were
// measured.
func (j *Judged) figure() string {
	d := j.decisive()
	if d == nil {
		return "-"
	}
	if d.Level == judge.Exact {
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

// checkTable has a line per check of a claim: the primary ones first, then what
// else was looked at.
func checkTable(r *Result) *figure.Figure {
	t := head("checks")
	for _, primary := range []bool{true, false} {
		for _, level := range judge.Levels {
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
				t.Add(name, figure.Word(c.Outcome.Term()).As(emphases[c.Outcome]), figure.Word(string(c.Level)), figure.Word(c.Needs), figure.Word(intervalText(c.Value)), figure.Word(fresh))
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

// emphases are the emphases of outcomes.
var emphases = map[judge.Mark]figure.Emphasis{judge.Passed: figure.Good, judge.Failed: figure.Bad, judge.Contrary: figure.Bad, judge.Open: figure.Warn, judge.Reported: figure.Muted}

// ladder is the study over a ladder of learning rates that answers the claim; nil where none does.
func (r *Result) ladder() *sources.Laddered { return sources.Answering(sources.OverLadder(r.Claim)) }

// confirmed is the claim's verdict: that over a ladder of learning rates where there is one, else that of its own check.
func (r *Result) confirmed() judge.Verdict {
	if l := r.ladder(); l != nil {
		return l.Verdict
	}
	return r.own()
}

// own is the verdict of the first seeds where new ones and all learning rates agree, and else undecided, as that of a study
// whose runs no other models repeat.
func (r *Result) own() judge.Verdict {
	switch {
	case r.Fresh != nil:
		return r.overRates().Confirmed(r.Fresh.overRates())
	case r.Claim.Study != "":
		return judge.Undecided
	}
	return r.overRates()
}

// overRates is the verdict where all learning rates agree, and else undecided.
func (j *Judged) overRates() judge.Verdict { return j.Verdict.OverRates(j.decisive()) }

// Agreement says how many verdicts of the claims' own checks are the published ones, and what the others are; empty for previews alone.
func Agreement(list []Result) string {
	n, others := 0, []string{}
	for _, r := range list {
		k, ok := readVerdict(published.Claims()[r.Claim.ID].Verdict, r.Claim)
		if !ok || r.Provisional() {
			continue
		}
		if n++; r.own() != k.Confirmed {
			others = append(others, fmt.Sprintf("; %s is %s, published as %s", r.Claim.ID, r.own(), k.Confirmed))
		}
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d verdicts are the published ones%s.\n", n-len(others), n, strings.Join(others, ""))
}

// verdictText is the confirmed verdict, and that it is a preview while that of the claim's own check is provisional.
func (r *Result) verdictText() string {
	if r.Provisional() && r.ladder() == nil {
		return string(r.confirmed()) + ", preview"
	}
	return string(r.confirmed())
}

// verdictLine is the verdict with what says otherwise, and after one over a ladder that of the claim's own check.
func (r *Result) verdictLine() string {
	line, own := fmt.Sprintf("**Verdict: %s.**", r.verdictText()), r.disagreement()+verdictSentences[r.Verdict]+r.byRate()+r.unmet()
	if l := r.ladder(); l != nil {
		return fmt.Sprintf("%s It is that of `stability/%s`: runs of 1,000 updates, each arm at its own best learning rate. At the claim's own learning rates the verdict is: %s. %s", line, l.Study, r.own(), own)
	}
	return line + " " + own
}

// disagreement says, before the sentence of the first seeds' verdict, that new ones or single learning rates come to another; empty
// where they agree.
func (r *Result) disagreement() string {
	switch {
	case r.own() == r.Verdict:
		return ""
	case r.Fresh == nil && r.Claim.Study != "":
		return fmt.Sprintf("No other models repeat the runs of the study; its own say: %s. On them: ", r.Verdict)
	case r.Fresh != nil && r.Fresh.Verdict != r.Verdict:
		return fmt.Sprintf("First and new seeds disagree: %s, then %s. On the first: ", r.Verdict, r.Fresh.Verdict)
	case r.overRates() == r.Verdict:
		return fmt.Sprintf("On new seeds the learning rates disagree; their mean says: %s. On the first: ", r.Verdict)
	}
	return fmt.Sprintf("The learning rates disagree; their mean says: %s. On it: ", r.Verdict)
}

func emphasis(v judge.Verdict) figure.Emphasis {
	switch v {
	case judge.Reproduced:
		return figure.Good
	case judge.Extrapolates, judge.OnlyAmplified, judge.Undecided:
		return figure.Warn
	}
	return figure.Bad
}

// Report is the page: one section per claim with its picture.
func Report(list []Result) results.Report {
	count := map[judge.Verdict]int{}
	for i := range list {
		count[list[i].confirmed()]++
	}
	page := results.Report{
		Title: "Claims of papers, measured", Eyebrow: "simulate reproduce",
		Lead: fmt.Sprintf("%d claims on a transformer small enough for a laptop, with two engines that share weights and differ only in how they compute. "+
			"One primary check per claim decides, by a threshold that stands in its code; an independent model or warm start is one replication.", len(list)) + agreement(list),
		Sections: []results.Section{{Heading: "Verdicts", Blocks: []results.Block{DeclaredTable(statuses(list)), VerdictTable(list)}}},
	}
	var counted []string
	for _, v := range judge.Verdicts {
		if count[v] > 0 {
			counted = append(counted, fmt.Sprintf("**%d %s**", count[v], v))
			page.Facts = append(page.Facts, results.Fact{Name: string(v), Value: fmt.Sprint(count[v])})
		}
	}
	page.Lead = strings.Join(counted, ", ") + ". " + page.Lead
	for i := range list {
		page.Sections = append(page.Sections, list[i].section())
		page.Reruns = append(page.Reruns, list[i].again())
	}
	return page
}

func (r *Result) section() results.Section {
	c := &r.Claim
	s := results.Section{Heading: c.Title, Badges: []results.Badge{{Text: r.verdictText(), Emphasis: emphasis(r.confirmed())}}}
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
	if c.Differs != nil {
		add(results.Prose("**Why the toy differs.** " + r.difference()))
	}
	add(results.Prose("**Reproduce it**"), results.Code(r.again().Command))
	if len(r.Arms) > 0 {
		commands := stats.Map(r.Arms, func(arm study.Arm) string { return arm.Command })
		add(results.Fold{Summary: fmt.Sprintf("The %d training runs", len(r.Arms)), Blocks: []results.Block{results.Code(strings.Join(commands, "\n"))}})
	}
	how := stats.Map(methodOf(c), func(p string) results.Block { return results.Prose(p) })
	commands := stats.Map(c.Commands, func(command string) results.Block { return results.Code(command) })
	add(results.Fold{Summary: "Criterion and setup of " + c.ID, Blocks: append(how, commands...)})
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
