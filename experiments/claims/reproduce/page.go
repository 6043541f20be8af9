package reproduce

import (
	"fmt"
	"strings"

	"driftlab/experiments/claims/claim"
	"driftlab/results/figure"
	"driftlab/results/stats"
)

// Markdown is the claim's page: what the paper reports, what was measured, the verdict in a
// sentence, the effect, then picture, checks, table and setup.
func (r *Result) Markdown() string {
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
	b.WriteString("\n")
	for _, p := range methodOf(c) {
		b.WriteString("- " + p + "\n")
	}
	fmt.Fprintf(&b, "\nReproduce it:\n\n    %s\n", r.again().Command)
	if len(c.Commands) > 0 {
		fmt.Fprintf(&b, "\nSimilar measurements with other commands:\n\n    %s\n", strings.Join(c.Commands, "\n    "))
	}
	if n := len(r.Recipes); n > 0 {
		fmt.Fprintf(&b, "\nThe %d training runs are recipes in `%s-v%d/recipes/`, for `simulate train FILE`; a checkpoint in `warm/` is made by the command above, in its --out folder.\n", n, r.Size, c.Version)
	}
	return b.String()
}

// summary is what a reader needs first, a paragraph each: the paper, the measurement, the
// verdict, the effect.
func (r *Result) summary() []string {
	c := &r.Claim
	sample := fmt.Sprintf("%d independent %ss", len(r.Seeds), c.Unit)
	if r.Fresh != nil {
		sample += fmt.Sprintf(", and again on %d new ones", len(r.Fresh.Seeds))
	}
	return []string{
		fmt.Sprintf("**What the paper reports.** %s Source: %s", sentence(c.Figure), sentence(c.Source)),
		fmt.Sprintf("**What we measured.** We tested this statement on %s: %s", sample, c.Statement),
		fmt.Sprintf("**Verdict: %s.** %s", r.VerdictText(), verdictSentences[r.Verdict]),
		r.effect(),
	}
}

// methodOf says by which threshold and setup a claim is judged.
func methodOf(c *claim.Claim) []string {
	list := []string{"**Criterion.** " + c.Threshold, "**Setup.** " + c.Setup}
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
var verdictSentences = map[claim.Verdict]string{
	claim.Reproduced:    "The primary check is met.",
	claim.Extrapolates:  "The law that was fitted to small models predicts the published figure within its 95 % interval.",
	claim.OnlyAmplified: "The primary check is met with an amplified mismatch, and not with that of real stacks.",
	claim.NotReproduced: "The primary check is not met: the 95 % confidence interval excludes the threshold.",
	claim.Refuted:       "The effect is significant in the opposite direction.",
	claim.Undecided:     "The primary check is inconclusive.",
}

// effect is that of the check which the verdict rests on, with its interval and n, what so many
// replications can detect, and the effect on new seeds.
func (r *Result) effect() string {
	d := r.decisive()
	if d == nil {
		return "**Effect.** None: no check is primary."
	}
	var b strings.Builder
	b.WriteString("**Effect")
	if d.Level != claim.Exact {
		fmt.Fprintf(&b, " at the %s level", d.Level)
	}
	fmt.Fprintf(&b, ".** %s: %s, n = %d %ss. Criterion: %s; %s.", d.Name, effectText(d.Value), len(r.Seeds), r.Claim.Unit, d.Needs, d.Outcome.Term())
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
			fmt.Fprintf(&b, ", %s, n = %d", effectText(again.Value), len(f.Seeds))
		}
		b.WriteString(".")
	}
	return b.String()
}

// effectText is an interval in a sentence.
func effectText(i stats.Interval) string {
	return strings.Replace(intervalText(i), " [", ", 95 % CI [", 1)
}
