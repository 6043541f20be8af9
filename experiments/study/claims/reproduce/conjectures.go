package reproduce

import (
	_ "embed" // of the conjectures
	"fmt"
	"slices"
	"strings"
	"sync"

	"driftlab/experiments/study/judge"
	"driftlab/results/stability"

	"go.yaml.in/yaml/v4"
)

//go:embed conjectures.yaml
var conjecturesText []byte

// conjectures are the five of the survey.
var conjectures = sync.OnceValue(func() (list []struct {
	Name, Sentence, Fails string
	Claims                []string
	Alarms                bool
}) {
	if err := yaml.Load(conjecturesText, &list, yaml.WithKnownFields()); err != nil {
		panic("conjectures.yaml: " + err.Error()) // a test reads it
	}
	return list
})

// Conjectures is the page of the survey's five conjectures: the sentence, what was
// measured, and what it came to.
func Conjectures(list []Result) string {
	var b strings.Builder
	b.WriteString("# Five conjectures of a survey, and what was measured\n")
	for i, c := range conjectures() {
		fmt.Fprintf(&b, "\n## %d. %s\n\n%s It fails if %s\n", i+1, c.Name, c.Sentence, c.Fails)
		if c.Alarms {
			fmt.Fprintf(&b, "\nMeasured: %s\n", alarmsAnswer())
		}
		for _, id := range c.Claims {
			at := slices.IndexFunc(list, func(r Result) bool { return r.Claim.ID == id })
			if at < 0 {
				fmt.Fprintf(&b, "\nNot measured yet: `simulate reproduce %s`.\n", id)
				continue
			}
			r := &list[at]
			fmt.Fprintf(&b, "\nMeasured: %s\n\n%s\n\n%s [The page of this claim](%s/README.md).\n\n![%s](%s/%s)\n",
				r.Claim.Statement, r.verdictLine(), r.effect(), id, r.Claim.Title, id, pictureFile)
		}
	}
	return b.String()
}

// alarmsAnswer is the second conjecture's: what the runs of 100 updates have of the
// predictors, compared with the conjecture's figures by the rule of every claim, with the
// stressors as replications.
func alarmsAnswer() string {
	alarms := stability.PublishedAlarms()
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
