package advise

import "math"

// Alarm is a published rule of thumb, or one of ours, on these tokens. How often such a rule
// cries wolf and how often it sees a fault is not measured yet, and not said.
type Alarm struct {
	// Rule names the figure and the side that is bad, Source who has it.
	Rule   string  `json:"rule"`
	Source string  `json:"source"`
	Value  float64 `json:"value"`
	Limit  float64 `json:"limit"`
	Fired  bool    `json:"fired"`
}

// alarm is a rule: it fires above its limit, or below.
type alarm struct {
	rule, source string
	limit        float64
	below        bool
	value        func(g *Gap, z float64) float64
}

// alarms are in the order of their figures.
var alarms = []alarm{
	{"|k1| > 0.1", "verl", 0.1, false, func(g *Gap, _ float64) float64 { return math.Abs(g.K1) }},
	{"chi2_token > 1", "verl", 1, false, func(g *Gap, _ float64) float64 { return g.Chi2Token }},
	{"chi2_token > 0.3", "survey", 0.3, false, func(g *Gap, _ float64) float64 { return g.Chi2Token }},
	{"ess_token < 0.5", "survey", 0.5, true, func(g *Gap, _ float64) float64 { return g.ESSToken }},
	{"ess_token < 0.3", "verl", 0.3, true, func(g *Gap, _ float64) float64 { return g.ESSToken }},
	{"pearson < 0.95", "survey", 0.95, true, func(g *Gap, _ float64) float64 { return g.Pearson }},
	{"pearson < 0.99", "survey", 0.99, true, func(g *Gap, _ float64) float64 { return g.Pearson }},
	{"mean |dp| > 0.01", "verl FAQ", 0.01, false, func(g *Gap, _ float64) float64 { return g.MeanAbsDp }},
	{"mean |d| > 0.1", "slime CI", 0.1, false, func(g *Gap, _ float64) float64 { return g.MeanAbsDlogp }},
	{"mean exp|d| > 1.05", "NeMo-RL token_mult_prob_error", 1.05, false, func(g *Gap, _ float64) float64 { return g.MeanExpAbs }},
	{"k3 > 0.001", "NeMo-RL guide", 1e-3, false, func(g *Gap, _ float64) float64 { return g.K3 }},
	{"|z| of the mean ratio > 4", "law-identity", lawFault, false, func(_ *Gap, z float64) float64 { return math.Abs(z) }},
}

// alarmsOf are all rules on a gap whose mean ratio is z standard errors off.
func alarmsOf(g *Gap, z float64) []Alarm {
	list := make([]Alarm, 0, len(alarms))
	for _, a := range alarms {
		v := a.value(g, z)
		list = append(list, Alarm{a.rule, a.source, v, a.limit, v > a.limit && !a.below || v < a.limit && a.below})
	}
	return list
}
