package reproduce

import (
	"fmt"
	"slices"
	"strings"
)

// conjectures are the five that a survey of off-policy drift closes with. The sentences
// are those of its own text, shortened; what fails them is the survey's word, too.
var conjectures = []struct {
	name, sentence, fails string
	// claims put it to the test; elsewhere is where the answer stands if none does.
	claims    []string
	elsewhere string
}{
	{"Intermediate aggregation", "For responses of 200 tokens and more under mismatch, the best gradient lies strictly between the token surrogate and the weight of the whole sequence.",
		"an extreme of the list is best at every such length.", []string{"sga-frontier", "sga-training"}, ""},
	{"A sufficient diagnostic", "The 95th percentile of token chi², the effective share of responses, the clip fraction and the mean length foretell a collapse within 200 updates with an AUROC of 0.90.",
		"no calibrated predictor on the four reaches it, or signals of the stack add more than 0.03.", nil,
		"measured on the runs of the table of methods, with each stressor left out of the fit in turn: [the table's page](../table/table.md), in its last table."},
	{"The routing penalty", "At fixed token KL the bias of the gradient grows in proportion to length, experts and flip rate.",
		"the bias grows more slowly than experts × flip rate, or token chi² or KL foretell it alone.", []string{"moe-tkd", "routing-penalty"}, ""},
	{"A budget of mismatch", "With a 95th percentile of the total variation below 1e-4, chi² of responses below 0.1 and flips below 1e-3, a correction brings less than 0.3 %.",
		"a correction brings 0.3 % or more inside the budget.", []string{"budget"}, ""},
	{"Tolerance of lag", "Objectives that are regularised toward the rollout policy stand lags up to 50 times a power near one of the effective share of responses.",
		"no power law parts what is stable from what is not, or its power differs by more than 0.5 between tasks.", []string{"lag-law"}, ""},
}

// Conjectures is the page of the survey's five conjectures: the sentence, what was
// measured, and what it came to.
func Conjectures(list []Result) string {
	var b strings.Builder
	b.WriteString("# Five conjectures of a survey, and what became of them\n")
	for i, c := range conjectures {
		fmt.Fprintf(&b, "\n## %d. %s\n\n%s It fails if %s\n", i+1, c.name, c.sentence, c.fails)
		if c.elsewhere != "" {
			fmt.Fprintf(&b, "\nHere: %s\n", c.elsewhere)
		}
		for _, id := range c.claims {
			at := slices.IndexFunc(list, func(r Result) bool { return r.Claim.ID == id })
			if at < 0 {
				fmt.Fprintf(&b, "\nHere: `simulate reproduce %s`, which has not been measured.\n", id)
				continue
			}
			r := &list[at]
			fmt.Fprintf(&b, "\nHere: %s %s [All of it](%s/README.md).\n\n![%s](%s/%s)\n", r.Claim.Statement, r.decision(), id, r.Claim.Title, id, pictureFile)
		}
	}
	return b.String()
}
