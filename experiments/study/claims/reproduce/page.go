package reproduce

import (
	"fmt"
	"path/filepath"
	"strings"

	"driftlab/experiments/study/claims/claim"
	"driftlab/experiments/study/judge"
	"driftlab/experiments/study/sources"
	"driftlab/results/figure"
	"driftlab/results/stats"
)

// markdown is the claim's page: what the paper reports, what was measured, the verdict in a
// sentence, the effect, then picture, checks, table and setup.
func (r *Result) markdown() string {
	c := &r.Claim
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n", c.Title)
	for _, p := range r.summary() {
		b.WriteString(p + "\n\n")
	}
	if r.Evidence.Picture != nil {
		fmt.Fprintf(&b, "![%s](%s)\n\n", c.Title, pictureFile)
	}
	for _, n := range r.Evidence.Notes {
		b.WriteString(n + "\n\n")
	}
	b.WriteString(checkTable(r).Markdown())
	if r.Evidence.Table != nil {
		b.WriteString("\n" + r.Evidence.Table.Markdown())
	}
	if c.Differs != nil {
		b.WriteString("\n## Why the toy differs\n\n" + r.difference() + "\n")
	}
	b.WriteString("\n")
	for _, p := range methodOf(c) {
		b.WriteString("- " + p + "\n")
	}
	if c.Study != "" {
		fmt.Fprintf(&b, "\nMake the runs that it judges, which takes hours and may be stopped:\n\n    simulate study %s --out %s\n", c.Study, filepath.ToSlash(claim.StudyFolder("runs/reproduce", c.Study)))
	}
	fmt.Fprintf(&b, "\nReproduce it:\n\n    %s\n", r.again().Command)
	if len(c.Commands) > 0 {
		fmt.Fprintf(&b, "\nSimilar measurements with other commands:\n\n    %s\n", strings.Join(c.Commands, "\n    "))
	}
	if n := len(r.Arms); n > 0 {
		fmt.Fprintf(&b, "\nThe %d training runs are the arms of `plan.yaml`, each with the command that makes it. A checkpoint in `warm/` is made by the command above, in its --out folder.\n", n)
	}
	return b.String()
}

// summary is what a reader needs first, a paragraph each: the verdict with the checks that
// say otherwise, the paper, the measurement, the effect, and what was published before.
func (r *Result) summary() []string {
	c := &r.Claim
	on := fmt.Sprintf("%d independent %ss", len(r.Seeds), c.Unit)
	if c.Unit == claim.Run || r.Independent < len(r.Seeds) {
		on = fmt.Sprintf("%d %ss from %d independent warm starts", len(r.Seeds), c.Unit, r.Independent)
	}
	if r.Fresh != nil {
		on += fmt.Sprintf(", and again on %d new ones", len(r.Fresh.Seeds))
	}
	list := []string{
		r.verdictLine(),
		fmt.Sprintf("**What the paper reports.** %s Source: %s", sentence(c.Figure), sentence(c.Source)),
		fmt.Sprintf("**What we measured.** We tested this statement on %s: %s", on, c.Statement),
		r.effect(),
	}
	if l := sources.OverLadder(*c); l != nil {
		list = append(list, ladderText(l))
	}
	if d := c.Declared; d.When == claim.Revised {
		text := fmt.Sprintf("**First version.** The primary check was revised after its first publication. Published on %s: %s. Criterion then: %s.", d.Date, d.Verdict, d.Check)
		if d.Again != "" {
			text += fmt.Sprintf(" Published again: %s.", d.Again)
		}
		list = append(list, text)
	}
	if d := c.Declared; d.Corrected != "" {
		list = append(list, "**Corrected unit.** "+d.Corrected)
	}
	return list
}

// ladderText says what studies over ladders of learning rates have of a claim.
func ladderText(list []sources.Laddered) string {
	text := "**Over a ladder of learning rates, each arm at its own best rate.**"
	for _, l := range list {
		text += fmt.Sprintf(" `stability/%s`, \"%s\": %s.", l.Study, l.Check, l.Found)
		if l.Part != "" {
			text += " This is a part of the claim: " + sentence(l.Part)
		}
	}
	return text
}

// byRate says what the decisive check comes to at each learning rate.
func (r *Result) byRate() string {
	d := r.decisive()
	if d == nil || len(d.ByRate) == 0 {
		return ""
	}
	parts := stats.Map(d.ByRate, func(at judge.RateOutcome) string {
		return fmt.Sprintf("%s at %s (%s)", at.Outcome.Term(), at.Rate, intervalText(at.Value))
	})
	return " By learning rate: " + strings.Join(parts, ", ") + "."
}

// unmet lists the secondary checks that fail, for the page's first paragraph.
func (r *Result) unmet() string {
	var b strings.Builder
	tested := 0
	for _, outcome := range []judge.Mark{judge.Failed, judge.Contrary, judge.Open} {
		var names []string
		for i := range r.Evidence.Checks {
			c := &r.Evidence.Checks[i]
			if c.Primary || c.Outcome == judge.Reported {
				continue
			}
			if outcome == judge.Failed {
				tested++
			}
			if c.Outcome == outcome {
				names = append(names, c.Label())
			}
		}
		switch {
		case len(names) == 0:
		case outcome == judge.Open:
			fmt.Fprintf(&b, " Inconclusive: %d of the %d secondary checks.", len(names), tested)
		default:
			fmt.Fprintf(&b, " %s, %d of %d secondary checks: %s.", map[judge.Mark]string{judge.Failed: "Not met", judge.Contrary: "Opposite"}[outcome], len(names), tested, strings.Join(names, "; "))
		}
	}
	return b.String()
}

// difference has the paper's figure next to ours, the reason suspected, and what tells.
func (r *Result) difference() string {
	d := r.Claim.Differs
	var b strings.Builder
	if c := r.Evidence.Find(d.Level, d.Check); c != nil {
		fmt.Fprintf(&b, "%s: %s in the paper, %s here, ", c.Name, figure.FormatNumber(d.Published, 3), intervalText(c.Value))
		if ratio := c.Value.Estimate / d.Published; ratio < 0 {
			b.WriteString("of the opposite sign. ")
		} else {
			fmt.Fprintf(&b, "%s of it. ", figure.FormatNumber(ratio, 2))
		}
	}
	fmt.Fprintf(&b, "%s %s", d.Why, d.Experiment)
	for _, name := range d.Checks {
		if c := r.Evidence.Find("", name); c != nil {
			fmt.Fprintf(&b, "\n- %s: %s, n = %d", c.Label(), intervalText(c.Value), c.Value.N)
		}
	}
	return b.String()
}

// methodOf says by which threshold and setup a claim is judged.
func methodOf(c *claim.Claim) []string {
	criterion := "**Criterion.** "
	if c.Declared.When == claim.Before {
		criterion = "**Criterion, declared before any published result.** "
	}
	list := []string{criterion + c.Threshold, "**Setup.** " + c.Setup}
	if c.LeftOut != "" {
		list = append(list, "**Not tested here.** "+c.LeftOut)
	}
	return list
}

// sentence has its full stop, and a capital where it begins with a word and not with a symbol.
func sentence(s string) string {
	if first, _, _ := strings.Cut(s, " "); len(first) > 1 && strings.Trim(first, "abcdefghijklmnopqrstuvwxyz") == "" {
		s = strings.ToUpper(s[:1]) + s[1:]
	}
	return strings.TrimSuffix(s, ".") + "."
}

// verdictSentences say what each verdict means.
var verdictSentences = map[judge.Verdict]string{
	judge.Reproduced:    "The primary check is met.",
	judge.Extrapolates:  "The law that was fitted to small models predicts the published figure within its 95 % interval.",
	judge.OnlyAmplified: "The primary check is met with an amplified mismatch, and not with that of real stacks.",
	judge.NotReproduced: "The primary check is not met: the 95 % confidence interval excludes the threshold.",
	judge.Refuted:       "The effect is significant in the opposite direction.",
	judge.Undecided:     "The primary check is inconclusive.",
}

// effect is the effect of the check which the verdict rests on, with its interval and n, what n
// replications can detect, and the effect on new seeds.
func (r *Result) effect() string {
	d := r.decisive()
	if d == nil {
		return "**Effect.** None: no check is primary."
	}
	var b strings.Builder
	b.WriteString("**Effect")
	if d.Level != judge.Exact {
		fmt.Fprintf(&b, " at the %s level", d.Level)
	}
	fmt.Fprintf(&b, ".** %s: %s, n = %s. Criterion: %s; %s.", d.Name, effectText(d.Value), r.sample(), d.Needs, d.Outcome.Term())
	if p := d.Power; p.Enough > 0 {
		what := "a difference"
		if p.Factor {
			what = "a factor"
		}
		fmt.Fprintf(&b, " This n has 80 %% power to detect %s of %s from the threshold; the observed effect needs n = %d.", what, figure.FormatNumber(p.Smallest, 3), p.Enough)
	}
	if f := r.Fresh; f != nil {
		fmt.Fprintf(&b, " New seeds: %s", f.Verdict)
		if again := f.decisive(); again != nil {
			fmt.Fprintf(&b, ", %s, n = %d", effectText(again.Value), f.Independent)
		}
		b.WriteString(".")
	}
	return b.String()
}

// effectText is an interval in a sentence.
func effectText(i stats.Interval) string {
	return strings.Replace(intervalText(i), " [", ", 95 % CI [", 1)
}
