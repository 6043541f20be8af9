package diagnose

import (
	"encoding/json"
	"fmt"
	"math"
)

// Alarm is a published rule of thumb, or one of ours, on these tokens.
type Alarm struct {
	// Rule names the figure and the side that is bad, Source who has it.
	Rule   string  `json:"rule"`
	Source string  `json:"source"`
	Value  float64 `json:"value"`
	Limit  float64 `json:"limit"`
	Fired  bool    `json:"fired"`
	// Detection is the share of simulated collapses before which the signal exceeded its limit, FalseAlarm that of the runs without
	// a collapse in which it ever did; null where that has not been measured.
	Detection  *float64 `json:"detection"`
	FalseAlarm *float64 `json:"false_alarm"`
	// Rates are what they come from.
	Rates *Rates `json:"rates,omitempty"`
}

// alarm is a rule: it fires above its limit, or below.
type alarm struct {
	rule, source string
	metric       string // under which its rates were measured, empty if they never are
	limit        float64
	below        bool
	value        func(g *Gap, z float64) float64
}

// alarms are in the order of their figures.
var alarms = []alarm{
	{"|k1| > 0.1", "verl", "gap/k1", 0.1, false, func(g *Gap, _ float64) float64 { return math.Abs(g.K1) }},
	{"chi2_token > 1", "verl", "rollout_corr/chi2_token", 1, false, func(g *Gap, _ float64) float64 { return max(g.Chi2Token, 0) }},
	{"chi2_token > 0.3", "survey", "rollout_corr/chi2_token", 0.3, false, func(g *Gap, _ float64) float64 { return max(g.Chi2Token, 0) }},
	{"ess_token < 0.5", "survey", "gap/ess_token", 0.5, true, func(g *Gap, _ float64) float64 { return g.ESSToken }},
	{"ess_token < 0.3", "verl", "gap/ess_token", 0.3, true, func(g *Gap, _ float64) float64 { return g.ESSToken }},
	{"pearson < 0.95", "survey", "training/rollout_actor_probs_pearson_corr", 0.95, true, func(g *Gap, _ float64) float64 { return g.Pearson }},
	{"pearson < 0.99", "survey", "training/rollout_actor_probs_pearson_corr", 0.99, true, func(g *Gap, _ float64) float64 { return g.Pearson }},
	{"mean |dp| > 0.01", "verl FAQ", "gap/dp_mean", 0.01, false, func(g *Gap, _ float64) float64 { return g.MeanAbsDp }},
	{"mean |d| > 0.1", "slime CI", "gap/dlogp_mean", 0.1, false, func(g *Gap, _ float64) float64 { return g.MeanAbsDlogp }},
	{"mean exp|d| > 1.05", "NeMo-RL token_mult_prob_error", "", 1.05, false, func(g *Gap, _ float64) float64 { return g.MeanExpAbs }},
	{"k3 > 0.001", "NeMo-RL guide", "gap/k3", 1e-3, false, func(g *Gap, _ float64) float64 { return g.K3 }},
	{"|z| of the mean ratio > 4", "law-identity", "", 4, false, func(_ *Gap, z float64) float64 { return math.Abs(z) }},
}

// alarmsOf are all rules on a gap whose mean ratio is z standard errors off.
func alarmsOf(g *Gap, z float64, rates *AlarmRates) []Alarm {
	list := make([]Alarm, 0, len(alarms))
	for _, a := range alarms {
		v := a.value(g, z)
		list = append(list, Alarm{Rule: a.rule, Source: a.source, Value: v, Limit: a.limit, Fired: v > a.limit && !a.below || v < a.limit && a.below}.rated(a, rates))
	}
	return list
}

// alarms are the rules of training that the dump has the columns for. Their rows of the table come
// last: as alarms they fire whichever row decides.
func (k *known) alarms(rates *AlarmRates) (list []Alarm) {
	if k.clipped != nil {
		a := Alarm{Rule: "clip fraction > 0.2", Source: "survey", Value: *k.clipped, Limit: mostClipped, Fired: k.saturated()}
		list = append(list, a.rated(alarm{metric: "actor/pg_clipfrac", limit: mostClipped}, rates))
	}
	if g := k.growth; g != nil {
		list = append(list, Alarm{Rule: "growth of the length within 100 steps > 1.2", Source: "survey", Value: g.After / g.Before, Limit: surge, Fired: k.longer()})
	}
	return list
}

// Rates is how a rule did on simulated runs, of which many collapsed.
type Rates struct {
	// Detected are the collapses before which it exceeded its limit, of so many; Low and High bound their share, at 95 %.
	Detected int     `json:"detected"`
	Of       int     `json:"of"`
	Low      float64 `json:"low"`
	High     float64 `json:"high"`
	// FalseAlarms is how often it began to ring per 1,000 steps of runs that did not collapse, FlaggedRuns the share of
	// such runs in which it ever did.
	FalseAlarms float64 `json:"false_alarms_per_1000_steps"`
	FlaggedRuns float64 `json:"flagged_runs"`
}

// AlarmRates are those of rules that were measured, in the form of the published ones.
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
