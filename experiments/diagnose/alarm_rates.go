package diagnose

import (
	"encoding/json"
	"fmt"
)

// Rates is how a rule did on simulated runs, of which many collapsed.
type Rates struct {
	// Detected are the collapses before which it rang, of so many; Low and High bound their share, at 95 %.
	Detected int     `json:"detected"`
	Of       int     `json:"of"`
	Low      float64 `json:"low"`
	High     float64 `json:"high"`
	// FalseAlarms is how often it began to ring per 1,000 steps of runs that did not collapse, FlaggedRuns the share of
	// such runs in which it ever did.
	FalseAlarms float64 `json:"false_alarms_per_1000_steps"`
	FlaggedRuns float64 `json:"flagged_runs"`
}

// AlarmRates are those of rules that were measured, in the form in which simulate table writes them.
type AlarmRates struct {
	Rules []struct {
		Metric   string  `json:"metric"`
		Limit    float64 `json:"limit"`
		Below    bool    `json:"below"`
		Relative bool    `json:"relative"`
		Fitted   bool    `json:"fitted"`
		Rates    Rates   `json:"rates"`
	} `json:"rules"`
}

// ParseAlarmRates reads them.
func ParseAlarmRates(text []byte) (*AlarmRates, error) {
	m := new(AlarmRates)
	if err := json.Unmarshal(text, m); err != nil {
		return nil, fmt.Errorf("advise: the rates of alarms: %w", err)
	}
	return m, nil
}

// rated is an alarm with the rates of the same rule, if they were measured.
func (a Alarm) rated(of alarm, m *AlarmRates) Alarm {
	if m == nil {
		return a
	}
	for _, r := range m.Rules {
		if of.metric != "" && r.Metric == of.metric && r.Limit == of.limit && r.Below == of.below && !r.Relative && !r.Fitted && r.Rates.Of > 0 {
			rates := r.Rates
			a.Rates = &rates
			a.Detection, a.FalseAlarm = new(share(rates.Detected, rates.Of)), new(rates.FlaggedRuns)
		}
	}
	return a
}
