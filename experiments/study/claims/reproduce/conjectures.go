package reproduce

import (
	"fmt"
	"slices"
	"strings"

	"driftlab/experiments/study/judge"
	"driftlab/experiments/study/sources"
)

// conjectures are the five that a survey of off-policy drift closes with. The sentences
// are those of its own text, shortened; what fails them is the survey's word, too.
var conjectures = []struct {
	name, sentence, fails string
	// claims put it to the test; where none does, answer says what did.
	claims []string
	answer func() string
}{
	{"Intermediate aggregation", "For responses of 200 tokens and more under mismatch, the best gradient lies strictly between the token surrogate and the weight of the whole sequence.",
		"an extreme of the list is best at every such length.", []string{"sga-frontier", "sga-training"}, nil},
	{"A sufficient diagnostic", "The 95th percentile of token chi², the effective share of responses, the clip fraction and the mean length predict a collapse within 200 updates with an AUROC of 0.90.",
		"no calibrated predictor on the four reaches it, or signals of the stack add more than 0.03.", nil,
		alarmsAnswer},
	{"The routing penalty", "At fixed token KL the bias of the gradient grows in proportion to length, experts and flip rate.",
		"the bias grows more slowly than experts × flip rate, or token chi² or KL predict it alone.", []string{"moe-tkd", "routing-penalty"}, nil},
	{"A budget of mismatch", "With a 95th percentile of the total variation below 1e-4, chi² of responses below 0.1 and flips below 1e-3, a correction brings less than 0.3 %.",
		"a correction brings 0.3 % or more inside the budget.", []string{"budget"}, nil},
	{"Tolerance of lag", "Objectives that are regularised toward the rollout policy stand lags up to 50 times a power near one of the effective share of responses.",
		"no power law parts what is stable from what is not, or its power differs by more than 0.5 between tasks.", []string{"lag-law"}, nil},
}

// Conjectures is the page of the survey's five conjectures: the sentence, what was
// measured, and what it came to.
func Conjectures(list []Result) string {
	var b strings.Builder
	b.WriteString("# Five conjectures of a survey, and what was measured\n")
	for i, c := range conjectures {
		fmt.Fprintf(&b, "\n## %d. %s\n\n%s It fails if %s\n", i+1, c.name, c.sentence, c.fails)
		if c.answer != nil {
			fmt.Fprintf(&b, "\nMeasured: %s\n", c.answer())
		}
		for _, id := range c.claims {
			at := slices.IndexFunc(list, func(r Result) bool { return r.Claim.ID == id })
			if at < 0 {
				fmt.Fprintf(&b, "\nNot measured yet: `simulate reproduce %s`.\n", id)
				continue
			}
			r := &list[at]
			fmt.Fprintf(&b, "\nMeasured: %s\n\n**Verdict: %s.** %s\n\n%s [The page of this claim](%s/README.md).\n\n![%s](%s/%s)\n",
				r.Claim.Statement, r.verdictText(), verdictSentences[r.Verdict], r.effect(), id, r.Claim.Title, id, pictureFile)
		}
	}
	return b.String()
}

// alarmsAnswer is the second conjecture's: what the runs of 100 updates have of the
// predictors, compared with the conjecture's figures by the rule of every claim, with the
// stressors as replications.
func alarmsAnswer() string {
	alarms, err := sources.PublishedAlarms()
	if err != nil || len(alarms.Predictors) < 2 {
		panic(fmt.Sprintf("reproduce: the published alarms have no predictors: %v", err))
	}
	four, logged := alarms.Predictors[0], alarms.Predictors[1]
	var auroc []float64
	for _, s := range four.AUROC {
		auroc = append(auroc, s.AUROC)
	}
	check := judge.Above(judge.Natural, "AUROC of the four on a stressor left out of the fit", auroc, 0.90)
	check.Primary = true
	return fmt.Sprintf("Of %d runs of 100 updates %d collapse; each stressor was left out of the fit in turn. **Verdict: %s.** %s: %s, n = %d stressors. Criterion: %s: %s. "+
		"With all metrics that every stack logs the AUROC is %.2f; metrics of the stack itself add %+.3f to the four. [How these runs were made](../table/README.md).",
		alarms.Runs, alarms.Collapses, judge.Decide([]judge.Check{check}), check.Label(), effectText(check.Value), len(auroc), check.Needs, check.Outcome.Term(), float64(logged.Mean), float64(alarms.Adds))
}
