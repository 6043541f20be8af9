package correction

import (
	"math"
	"strings"

	"driftlab/precision/elementary"
	"driftlab/trainer/method/masked"
	"driftlab/trainer/method/trace"
)

// The eleven rejection modes of verl (compute_rollout_rejection_mask) threshold
// an estimate of KL(mu || pi_old) from the sampled token, per token or
// aggregated over the response: its sum, mean or largest, 0 where no token counts.
//
// k1 cancels between tokens, k2 and k3 do not; k3 grows exponentially where the
// rollout engine was too sure of itself and linearly where it was not sure
// enough. There is no seq_max_k1.

// estimator is one of k1, k2 and k3.
type estimator string

// aggregate is how a mode turns tokens into a decision: token, seq_sum, seq_mean or seq_max.
type aggregate string

// K1Rejection keeps tokens or responses whose k1 lies between log low and log
// high.
//
// Sign: k1 is −e, so the bounds are bounds of roll/old, the inverse of ρ.
// Reciprocal bounds do not notice; asymmetric ones act the other way round from
// Geometric and TokenMask. That is verl's behaviour and kept under verl's names.
type K1Rejection struct {
	aggregate aggregate
	// Low is the lower bound of roll/old. 1/high in verl's presets.
	Low float64 `yaml:"low" range:"(0,high]"`
	// High is the upper bound of roll/old.
	High float64 `yaml:"high" range:"(0,inf]"`
}

// DivergenceRejection keeps tokens or responses whose k2 or k3 is at most high.
type DivergenceRejection struct {
	aggregate aggregate
	estimator estimator
	// High is the largest divergence kept, in nats.
	High float64 `yaml:"high" range:"(0,inf]"`
}

// measured is a rule that thresholds a statistic, for verl's metrics.
type measured interface {
	Masking
	// modeName is the name metrics carry.
	modeName() string
	// sequenceLevel says whether the statistic is one per response.
	sequenceLevel() bool
	// limits are the bounds of the statistic; low counts only if twoSided.
	limits() (low, high float64, twoSided bool)
	// measure fills stat for the tokens of in.Mask, a response's statistic on each of its tokens.
	measure(stat []float64, in *Input)
}

func (m *K1Rejection) modeName() string    { return string(m.aggregate) + "_k1" }
func (m *K1Rejection) sequenceLevel() bool { return m.aggregate != "token" }
func (m *K1Rejection) limits() (low, high float64, twoSided bool) {
	return elementary.Log(m.Low), elementary.Log(m.High), true
}
func (m *K1Rejection) measure(stat []float64, in *Input) { measure(stat, in, m.aggregate, "k1") }

// Reject clears what lies outside the bounds.
func (m *K1Rejection) Reject(keep []bool, in *Input) error { return rejectMeasured(keep, in, m) }

func (m *DivergenceRejection) modeName() string {
	return string(m.aggregate) + "_" + string(m.estimator)
}
func (m *DivergenceRejection) sequenceLevel() bool { return m.aggregate != "token" }
func (m *DivergenceRejection) limits() (low, high float64, twoSided bool) {
	return 0, m.High, false
}
func (m *DivergenceRejection) measure(stat []float64, in *Input) {
	measure(stat, in, m.aggregate, m.estimator)
}

// Reject clears what lies above the bound.
func (m *DivergenceRejection) Reject(keep []bool, in *Input) error {
	return rejectMeasured(keep, in, m)
}

// rejectMeasured applies a measured rule's bounds to its statistic.
func rejectMeasured(keep []bool, in *Input, m measured) error {
	stat := in.scratch()
	m.measure(stat, in)
	low, high, twoSided := m.limits()
	if !twoSided {
		low = math.Inf(-1)
	}
	for n, counts := range in.Mask {
		if counts && !within(stat[n], low, high) {
			keep[n] = false
		}
	}
	return nil
}

// estimate is k1, k2 or k3 of one log-ratio, clamped already.
func estimate(k estimator, e float64) float64 {
	switch k {
	case "k1":
		return -e
	case "k2":
		return 0.5 * e * e
	}
	return elementary.Exp(e) - 1 - e
}

// measure computes the statistic of a mode.
func measure(stat []float64, in *Input, how aggregate, k estimator) {
	for i := range in.Len() {
		sum, count, largest := 0.0, 0, math.Inf(-1)
		for n := range in.Where(i, in.Mask) {
			stat[n] = estimate(k, in.clamp(in.LogRatio[n]))
			sum, count, largest = sum+stat[n], count+1, max(largest, stat[n])
		}
		switch how {
		case "token":
			continue
		case "seq_mean":
			sum /= float64(count) + masked.Epsilon
		case "seq_max":
			sum = largest
		}
		for n := range in.Where(i, in.Mask) {
			stat[n] = sum
		}
	}
}

// newRejection builds a mode from its name, with the defaults that verl's
// presets use for it: 0.999 and 1.001 for means of k1, 0.5 and 2 for other k1
// modes, 0.01 for k2 and k3.
func newRejection(name string) Masking {
	cut := strings.LastIndexByte(name, '_')
	how, k := aggregate(name[:cut]), estimator(name[cut+1:])
	switch {
	case k != "k1":
		return &DivergenceRejection{aggregate: how, estimator: k, High: 0.01}
	case how == "seq_mean":
		return &K1Rejection{aggregate: how, Low: 0.999, High: 1.001}
	}
	return &K1Rejection{aggregate: how, Low: 0.5, High: 2}
}

func (m *K1Rejection) rule(in *Input) rule {
	low, high, _ := m.limits()
	bounds := []trace.Line{trace.Given("low", low), trace.Given("high", high)}
	return rule{lines: append(bounds, statistic(in, "k1", m.aggregate)...), keep: "inside(S, low, high)"}
}

func (m *DivergenceRejection) rule(in *Input) rule {
	return rule{lines: append([]trace.Line{trace.Given("high", m.High)}, statistic(in, m.estimator, m.aggregate)...), keep: "not(above(S, high))"}
}

// statistic is measure as formulas: that of a token, and S.
func statistic(in *Input, k estimator, how aggregate) []trace.Line {
	x := strings.TrimSuffix(strings.TrimPrefix(in.exp("e"), "exp("), ")") // e, clamped
	token := map[estimator]string{"k1": "-x", "k2": "x²/2", "k3": "exp(x) - 1 - x"}[k]
	over := map[aggregate]string{"token": "k", "seq_sum": "Σ(k)", "seq_mean": "Σ(k)/(count(1) + 0.00000001)", "seq_max": "most(k)"}[how]
	return []trace.Line{trace.Formula("x", x), trace.Formula("k", token), trace.Formula("S", over)}
}
