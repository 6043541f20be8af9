package table

import (
	"math"

	"driftlab/experiments/sweep"
	"driftlab/results/record"
	"driftlab/results/stats"
)

// The metrics of windows that alarms read.
const (
	rewardMetric   = "critic/score/mean"
	gradMetric     = "actor/grad_norm"
	gradTopMetric  = "actor/grad_norm_max"
	k3Metric       = "gap/k3"
	chi2Metric     = "rollout_corr/chi2_token"
	chi2TailMetric = "gap/chi2_token_p95"
	k1Metric       = "gap/k1"
	pearsonMetric  = "training/rollout_actor_probs_pearson_corr"
	dpMetric       = "gap/dp_mean"
	meanMetric     = "gap/dlogp_mean"
	essTokenMetric = "gap/ess_token"
	essMetric      = "gap/ess_sequence"
	entropyMetric  = "actor/entropy"
	lengthMetric   = "response_length/mean"
	clipMetric     = "actor/pg_clipfrac"
	maskedMetric   = "correction/masked_fraction"
	ageMetric      = "staleness/tokens/mean"
	tvMetric       = "gap/exact_tv"
	tvTailMetric   = "gap/exact_tv_p95"
	flipMetric     = "routes/flip_token"
	dlogpMetric    = "gap/dlogp_max"
)

// recoverySteps is how long a fallen run may take to come back, and spike how far above
// the median so far a gradient norm is one (conjecture 2).
const (
	recoverySteps = 100
	spike         = 10
)

// series is a run as alarms see it: means over windows of steps.
type series struct {
	run   *sweep.Outcome
	every int
	n     int // windows
	onset int // the window in which it collapsed; -1 if it did not
}

// seriesOf reads the windows of a run.
func seriesOf(o *sweep.Outcome) series {
	s := series{run: o, every: o.Windows.Every, n: len(o.Windows.Values[rewardMetric]), onset: -1}
	s.onset = s.collapse()
	return s
}

// at is a metric in a window; NaN where it was not measured.
func (s *series) at(metric string, window int) float64 {
	if list := s.run.Windows.Values[metric]; window >= 0 && window < len(list) {
		return float64(list[window])
	}
	return math.NaN()
}

// collapse is the first window of a collapse: the reward 30 % or more below its peak
// before and not back for 100 updates or to the end, or a gradient norm above ten times
// the median of the windows before with a fall of 30 % within 100 updates after it. One
// window alone at the very end is no collapse, a stop is.
func (s *series) collapse() int {
	wait := recoverySteps / s.every
	peak := math.Inf(-1)
	var norms []float64
	for w := range s.n {
		switch {
		case s.staysDown(peak, w, wait):
			return w
		case len(norms) > 1 && s.at(gradTopMetric, w) > spike*stats.Median(norms) && s.collapsesWithin(peak, w, wait):
			return w
		}
		if r := s.at(rewardMetric, w); r > peak {
			peak = r
		}
		if g := s.at(gradMetric, w); !math.IsNaN(g) {
			norms = append(norms, g)
		}
	}
	if s.run.Status == record.StatusStopped && s.n > 0 {
		return s.n - 1
	}
	return -1
}

// staysDown reports whether the reward is down from a window on, for as long as a
// recovery may take or the run goes on.
func (s *series) staysDown(peak float64, from, wait int) bool {
	if from == s.n-1 {
		return false
	}
	for w := from; w < min(from+wait, s.n); w++ {
		if !record.HasCollapsed(peak, s.at(rewardMetric, w)) {
			return false
		}
	}
	return true
}

// collapsesWithin reports whether the reward meets the criterion of a collapse within a
// while after a window.
func (s *series) collapsesWithin(peak float64, after, wait int) bool {
	for w := after + 1; w <= min(after+wait, s.n-1); w++ {
		if record.HasCollapsed(peak, s.at(rewardMetric, w)) {
			return true
		}
	}
	return false
}
