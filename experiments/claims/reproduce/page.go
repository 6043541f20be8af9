package reproduce

import (
	"fmt"
	"strings"

	"driftlab/experiments/claims/claim"
	"driftlab/results/figure"
)

// Markdown is the claim's page: what is claimed, the picture, the checks, the
// table and how to run it again.
func (r *Result) Markdown() string {
	c := &r.Claim
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n%s\n\n%s\n", c.Title, c.Statement, r.decision())
	if r.Evidence.Picture != nil {
		fmt.Fprintf(&b, "\n![%s](%s)\n", c.Title, pictureFile)
	}
	for _, n := range r.Evidence.Notes {
		b.WriteString("\n" + n + "\n")
	}
	b.WriteString("\n" + checkTable(r).Markdown())
	if r.Evidence.Table != nil {
		b.WriteString("\n" + r.Evidence.Table.Markdown())
	}
	fmt.Fprintf(&b, "\n- **Source.** %s\n- **Published.** %s\n- **Counts as reproduced.** %s\n- **Measured on.** %s\n", c.Source, c.Figure, c.Threshold, c.Setup)
	if c.LeftOut != "" {
		fmt.Fprintf(&b, "- **Not judged here.** %s\n", c.LeftOut)
	}
	fmt.Fprintf(&b, "\nAgain:\n\n    %s\n", r.again().Command)
	if len(c.Commands) > 0 {
		fmt.Fprintf(&b, "\nNear it, with other commands:\n\n    %s\n", strings.Join(c.Commands, "\n    "))
	}
	if n := len(r.Recipes); n > 0 {
		fmt.Fprintf(&b, "\nThe %d training runs are recipes in `%s-v%d/recipes/`, for `simulate train FILE`; a checkpoint in `warm/` is made by the command above, in its --out folder.\n", n, r.Size, c.Version)
	}
	return b.String()
}

// decision is the verdict in a paragraph: the check it rests on, the unit and
// number of replications, what they can find, and what fresh seeds came to.
func (r *Result) decision() string {
	var b strings.Builder
	fmt.Fprintf(&b, "**Verdict: %s**, from %d independent %ss. ", r.VerdictText(), len(r.Seeds), r.Claim.Unit)
	if d := r.decisive(); d != nil {
		fmt.Fprintf(&b, "Primary check: %s, %s, %s (needs: %s). ", d.Label(), intervalText(d.Value), d.Outcome, d.Needs)
		if p := d.Power; p.Enough > 0 {
			fmt.Fprintf(&b, "Power: 8 times of 10 these find %s from the threshold; the distance measured takes %d. ", distance(p), p.Enough)
		}
	}
	if f := r.Fresh; f != nil {
		fmt.Fprintf(&b, "Fresh seeds: %s", f.Verdict)
		if d := f.decisive(); d != nil {
			b.WriteString(", " + intervalText(d.Value))
		}
		b.WriteString(".")
	}
	return strings.TrimSpace(b.String())
}

func distance(p claim.Power) string {
	if p.Factor {
		return "a factor of " + figure.FormatNumber(p.Smallest, 3)
	}
	return "a distance of " + figure.FormatNumber(p.Smallest, 3)
}
