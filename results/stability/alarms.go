package stability

import (
	"sync"

	"driftlab/results/published"
	"driftlab/results/record"
)

// Alarms are the early-warning signals of a collapse with their rates, as they were measured on runs of 100 updates at common
// learning rates.
type Alarms struct {
	// Runs is the number of runs, Collapses that of those that collapsed late enough for a warning.
	Runs      int    `json:"runs"`
	Collapses int    `json:"collapses"`
	Rules     []Rule `json:"rules"`
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

// Rule is an alarm: it fires where a metric lies above a limit or below, or, if it is relative, above or below Limit times the
// median so far. The limit of a fitted one was chosen on the runs.
type Rule struct {
	Name     string     `json:"name"`
	Source   string     `json:"source"`
	Metric   string     `json:"metric"`
	Limit    float64    `json:"limit"`
	Below    bool       `json:"below"`
	Relative bool       `json:"relative"`
	Fitted   bool       `json:"fitted"`
	Rates    AlarmRates `json:"rates"`
}

// AlarmRates is how a rule did on simulated runs, of which many collapsed.
type AlarmRates struct {
	// Detected are the collapses before which it exceeded its limit, of all Of; Low and High bound their share, at 95 %.
	Detected int     `json:"detected"`
	Of       int     `json:"of"`
	Low      float64 `json:"low"`
	High     float64 `json:"high"`
	// FalseAlarms is how often it began to fire per 1,000 steps of runs that did not collapse, FlaggedRuns the share of
	// such runs in which it ever did.
	FalseAlarms float64 `json:"false_alarms_per_1000_steps"`
	FlaggedRuns float64 `json:"flagged_runs"`
}

// PublishedAlarms returns the published ones, which are read once: callers share them.
var PublishedAlarms = sync.OnceValue(func() *Alarms { return embedded[*Alarms](published.Alarms) })
