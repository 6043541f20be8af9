package sources

import (
	"encoding/json"
	"sync"

	"driftlab/results/published"
	"driftlab/results/record"
)

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
