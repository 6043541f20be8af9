package experiments

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"driftlab/results"
)

// Files of a claim's folder, beside the observations.
const (
	verdictFile = "verdict.json"
	pageFile    = "README.md"
	pictureFile = "picture.png"
)

// keep writes what a claim came to into its folder: the verdict for programs,
// a page for readers, the picture. A preview does not replace a full verdict.
// It also reads back the recipes of training runs that were kept earlier.
func (r *Reproduction) keep(dir string) error {
	if dir == "" {
		return nil
	}
	var err error
	if r.Recipes, err = keptRecipes(claimDir(dir, r.Claim, r.Size)); err != nil {
		return err
	}
	where := filepath.Join(dir, "claims", r.Claim.ID)
	if old, ok := lastVerdict(where, r.Claim); ok && r.Provisional() && !old.provisional() {
		return nil
	}
	text, err := verdictText(r)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(where, 0o777); err != nil {
		return err
	}
	if err := results.WriteFile(where, verdictFile, text); err != nil {
		return err
	}
	if err := results.WriteFile(where, pageFile, []byte(r.Markdown())); err != nil {
		return err
	}
	if r.Evidence.Picture == nil {
		return nil
	}
	return results.WriteFile(where, pictureFile, results.PNG(r.Evidence.Picture, results.LightPaper))
}

// Markdown is the claim's page: what is claimed, the picture, the checks, the
// table and how to run it again.
func (r *Reproduction) Markdown() string {
	c := &r.Claim
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n%s\n\n**Verdict: %s.** ", c.Title, c.Statement, r.VerdictText())
	if d := r.decisive(); d != nil {
		fmt.Fprintf(&b, "Decided by: %s, %s, %s (needs: %s).", d.label(), intervalText(d.Value), d.Outcome, d.Needs)
	}
	b.WriteString("\n")
	if r.Evidence.Picture != nil {
		fmt.Fprintf(&b, "\n![%s](%s)\n", c.Title, pictureFile)
	}
	for _, n := range r.Evidence.Notes {
		b.WriteString("\n" + n + "\n")
	}
	b.WriteString("\n" + CheckTable(r).Markdown())
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

// decisive is the check that a verdict other than reproduced rests on: the
// first that stands in the way. nil where all hold.
func (r *Reproduction) decisive() *Check {
	dose, mark := Exact, map[Mark]bool{Failed: true, Contrary: true, Open: true}
	switch r.Verdict {
	case Reproduced:
		return nil
	case Amplified:
		dose = Natural
	default:
		if c := tally(r.Evidence.Checks, Exact); c.passed == c.all {
			dose = Stronger
			if tally(r.Evidence.Checks, Stronger).all == 0 {
				dose = Natural
			}
			switch r.Verdict {
			case Refuted:
				mark = map[Mark]bool{Contrary: true}
			case NotReproduced:
				mark = map[Mark]bool{Failed: true, Contrary: true}
			}
		}
	}
	for i := range r.Evidence.Checks {
		if c := &r.Evidence.Checks[i]; c.Dose == dose && mark[c.Outcome] {
			return c
		}
	}
	return nil
}

// label is the check's name with its dose.
func (c *Check) label() string {
	if c.Dose == Exact {
		return c.Name
	}
	return string(c.Dose) + ", " + c.Name
}

// Kept returns the claims that a directory has a verdict of, in the order of
// Claims, judged again from their observations. Claims whose observations are
// not all there are left out.
func Kept(dir string) ([]Reproduction, error) {
	var list []Reproduction
	for _, c := range Claims() {
		k, ok := lastVerdict(filepath.Join(dir, "claims", c.ID), c)
		size, known := sizeNamed(k.Size)
		if !ok || !known {
			continue
		}
		runs := make([]*Observation, 0, len(k.Seeds))
		for _, seed := range k.Seeds {
			o, there, err := keptObservation(claimDir(dir, c, size), seed)
			if err != nil {
				return nil, err
			}
			if there {
				runs = append(runs, o)
			}
		}
		if len(runs) < len(k.Seeds) || len(runs) == 0 {
			continue
		}
		r := judge(c, k.Seeds, runs, size)
		var err error
		if r.Recipes, err = keptRecipes(claimDir(dir, c, size)); err != nil {
			return nil, err
		}
		list = append(list, r)
	}
	return list, nil
}
