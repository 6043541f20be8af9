package correction

import (
	"math"

	"driftlab/precision/elementary"
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/trace"
)

// Band is the general rule behind the named masks: a statistic of the
// log-ratios l, per token or aggregated, must lie in a band.
//
// AReaL's kl_k3 is k3_inverse: it inverts the ratio, unlike its documentation. Unlike
// verl's modes k1 is not negated, and nothing is clamped.
type Band struct {
	// Level is token, segment (a run of generated tokens) or sequence.
	Level string `yaml:"level" default:"token" oneof:"token segment sequence"`
	// Statistic is ratio, exp(l); k1, l; k2, l²/2; k3, exp(l) − 1 − l; k3_inverse,
	// exp(−l) − 1 + l; or difference, p_old − p_roll.
	Statistic string `yaml:"statistic" default:"ratio" oneof:"ratio k1 k2 k3 k3_inverse difference"`
	// Aggregate is mean, sum or max, for segments and sequences: of the log-ratios for
	// ratio, of the statistic itself otherwise.
	Aggregate string `yaml:"aggregate" default:"mean" oneof:"mean sum max"`
	// Eps is added to the number of tokens of a mean (ROLL: 1e-8).
	Eps float64 `yaml:"eps" range:"[0,inf]"`
	// Low is the lower bound, -.inf for none.
	Low float64 `yaml:"low" range:"[-inf,high]"`
	// High is the upper bound, .inf for none.
	High float64 `yaml:"high" default:"2"`
}

var bandSpec = method.Spec{
	Name: "band", Unit: method.Token,
	Does:    "Keeps tokens or responses for which a chosen statistic of the log-ratio lies inside a band.",
	When:    "Use it to write a rejection rule of AReaL or ROLL that has no name of its own.",
	Source:  "AReaL apply_rejection_sampling; ROLL compute_train_infer_correction filters",
	Formula: "keep = 1[low ≤ aggregate over level of statistic(old − roll) ≤ high]",
	Needs:   batch.Columns{batch.LogpRoll, batch.Anchor},
}

// Reject clears units whose statistic leaves the band.
func (m *Band) Reject(keep []bool, in *Input) error {
	for i := range in.Len() {
		from, to := in.Span(i)
		for from < to {
			end := m.next(in, from, to)
			if !within(m.unit(in, from, end), m.Low, m.High) {
				reject(keep, in, from, end)
			}
			from = end
		}
	}
	return nil
}

// next returns the end of the unit that starts at from, in a response that ends at to.
func (m *Band) next(in *Input, from, to int) int {
	switch m.Level {
	case "token":
		return from + 1
	case "segment":
		return ByRun.next(in, from, to)
	}
	return to
}

// unit returns the statistic of the entries from..to that count.
func (m *Band) unit(in *Input, from, to int) float64 {
	sum, count, largest := 0.0, 0, math.Inf(-1)
	for n := from; n < to; n++ {
		if !in.Mask[n] {
			continue
		}
		x := in.LogRatio[n]
		switch m.Statistic {
		case "k2":
			x = 0.5 * x * x
		case "k3":
			x = elementary.Exp(x) - 1 - x
		case "k3_inverse":
			x = elementary.Exp(-x) - 1 + x
		case "difference":
			x = elementary.Exp(in.LogpRoll[n]+x) - elementary.Exp(in.LogpRoll[n])
		}
		sum, count, largest = sum+x, count+1, max(largest, x)
	}
	switch {
	case count == 0:
		sum = 0
	case m.Aggregate == "max":
		sum = largest
	case m.Aggregate == "mean" && m.Level != "token":
		sum /= length(count, m.Eps)
	}
	if m.Statistic == "ratio" {
		return elementary.Exp(sum)
	}
	return sum
}

func (m *Band) rule(*Input) rule {
	token := map[string]string{"ratio": "e", "k1": "e", "k2": "e²/2", "k3": "exp(e) - 1 - e", "k3_inverse": "exp(-e) - 1 + e",
		"difference": "exp(roll + e) - exp(roll)"}[m.Statistic]
	r := rule{lines: []trace.Line{trace.Given("low", m.Low), trace.Given("high", m.High), trace.Given("eps", m.Eps), trace.Formula("k", token)}}
	over := map[string]string{"mean": "Σ(k)/(count(1) + eps)", "sum": "Σ(k)", "max": "most(k)"}[m.Aggregate]
	switch m.Level {
	case "segment": // a run is no column
		return r
	case "token":
		over = "k"
	}
	if m.Statistic == "ratio" {
		over = "exp(" + over + ")"
	}
	r.lines, r.keep = append(r.lines, trace.Formula("S", over)), "inside(S, low, high)"
	return r
}
