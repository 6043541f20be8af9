package sources

import (
	"cmp"
	"encoding/json"
	"strings"
	"sync"

	"driftlab/results/published"
	"driftlab/results/record"
	"driftlab/results/stats"
)

// alpha is the family-wise level of the test of all settings and stressors of a stage.
const alpha = 0.05

// testName names the test, with its level.
const testName = "paired sign-flip permutation test, family-wise 5 %, adjusted by Westfall and Young"

// Effects are the effects of the settings of a stage that is whole.
type Effects struct {
	Stage string `json:"stage"`
	// Seeds is the number of seeds of every run, Rates the learning rates that an effect is
	// the mean over.
	Seeds     int        `json:"seeds"`
	Rates     []string   `json:"rates"`
	Stressors []Stressor `json:"stressors"`
	// Settings are ranked by their mean regret.
	Settings []Setting `json:"settings"`
}

// Stressor is a problem that a run is given.
type Stressor struct {
	Name string `json:"name"`
	// Problem describes it in a phrase.
	Problem string `json:"problem"`
	// Healthy: it is none, only a harmless mismatch.
	Healthy bool `json:"healthy,omitempty"`
	// Recipe are its changes to a recipe, as --set takes them.
	Recipe []string `json:"recipe"`
	// Uncorrected is the mean pass rate of the whole run without a correction, minus that of
	// the matched control.
	Uncorrected float64 `json:"uncorrected"`
	// Recommended is the setting that the screening stage, which has other seeds, ranked first.
	Recommended string `json:"recommended"`
}

// Setting is a method with its parameters.
type Setting struct {
	Name  string `json:"name"`
	Group string `json:"group"`
	// Recipe are its changes to a recipe, as --set takes them; none of the control.
	Recipe []string `json:"recipe"`
	// SameAs is an earlier setting whose runs all have the same bits; empty if there is none.
	SameAs string `json:"same_as,omitempty"`
	// Regret is the mean distance to the best setting of each stressor.
	Regret stats.Interval `json:"regret"`
	// Effects are in the order of the stressors.
	Effects []Effect `json:"effects"`
}

// Effect is the mean pass rate of the whole run with a setting minus that without a
// correction, under a stressor, paired by seed.
type Effect struct {
	Estimate float64 `json:"estimate"`
	Low      float64 `json:"low"`
	High     float64 `json:"high"`
	// P is adjusted over all settings and stressors of the stage (stats.WestfallYoung); nan
	// where no bit differs.
	P record.Number `json:"p"`
	// Inactive: the setting changed no bit of any run under the stressor.
	Inactive bool `json:"inactive,omitempty"`
}

// Significant is 1 where the effect is significantly positive, -1 where significantly
// negative, and else 0.
func (e Effect) Significant() int {
	if e.P <= alpha {
		return cmp.Compare(e.Estimate, 0)
	}
	return 0
}

// PublishedEffects are the effects that the program itself has, for the README, the pages of methods
// and the page of corrections.
var PublishedEffects = sync.OnceValues(func() (*Effects, error) {
	e := new(Effects)
	return e, json.Unmarshal(published.Effects, e)
})

// RecipeLine writes changes as a recipe has them: "a.b=1" and "a.c=2" are "a: {b: 1, c: 2}".
func RecipeLine(changes []string) string {
	var root branch
	for _, c := range changes {
		path, value, _ := strings.Cut(c, "=")
		at := &root
		for name := range strings.SplitSeq(path, ".") {
			at = at.child(name)
		}
		at.value = value
	}
	var lines []string
	for _, section := range root.children {
		lines = append(lines, section.name+": "+section.text())
	}
	return strings.Join(lines, "\n")
}

// branch is a field of a recipe, or a mapping of fields.
type branch struct {
	name, value string
	children    []*branch
}

func (b *branch) child(name string) *branch {
	for _, c := range b.children {
		if c.name == name {
			return c
		}
	}
	b.children = append(b.children, &branch{name: name})
	return b.children[len(b.children)-1]
}

func (b *branch) text() string {
	if len(b.children) == 0 {
		return b.value
	}
	var fields []string
	for _, c := range b.children {
		fields = append(fields, c.name+": "+c.text())
	}
	return "{" + strings.Join(fields, ", ") + "}"
}

// Alarms are the early-warning signals of a collapse with their rates, as they were measured on the
// runs of the table's stages with common learning rates.
type Alarms struct {
	// Runs is the number of runs, Collapses that of those that collapsed late enough for a warning.
	Runs      int `json:"runs"`
	Collapses int `json:"collapses"`
	// Rules are thresholds on one metric.
	Rules []struct {
		Name  string `json:"name"`
		Rates struct {
			// Detected of Of collapses had a warning.
			Detected int `json:"detected"`
			Of       int `json:"of"`
			// FalseAlarms is the number per 1,000 steps of runs that did not collapse.
			FalseAlarms float64 `json:"false_alarms_per_1000_steps"`
		} `json:"rates"`
	} `json:"rules"`
	// Predictors are fitted on several metrics; AUROC is that on each stressor that was left out of the fit.
	Predictors []struct {
		Name  string `json:"name"`
		AUROC []struct {
			Stressor string  `json:"stressor"`
			AUROC    float64 `json:"auroc"`
		} `json:"auroc"`
		Mean record.Number `json:"auroc_mean"`
	} `json:"predictors"`
	// Adds is what the stack's own metrics add to the AUROC of the first predictor.
	Adds record.Number `json:"stack_adds"`
}

// PublishedAlarms reads the published ones.
var PublishedAlarms = sync.OnceValues(func() (a Alarms, err error) { return a, json.Unmarshal(published.Alarms, &a) })
