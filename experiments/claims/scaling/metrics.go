package scaling

import (
	"math"

	"driftlab/experiments/claims/claim"
	"driftlab/precision/elementary"
	"driftlab/results/stats"
)

// gapMetric is a figure of a model that a law is fitted to.
type gapMetric struct {
	// Name says what it is.
	Name string
	// share is a metric that cannot exceed 1. Its law is of the hazard −ln(1−y),
	// in which shares of layers that flip independently add up.
	share bool
	// pooled is a share of rare tokens: a rung's figure is that of all its models.
	pooled bool
	// of names the observation and reads it; events are counted for a pooled one.
	of func(r rung, o *claim.Observation) (y float64, ok bool)
}

// listed reads entry k of a rung's list.
func listed(k int) func(rung, *claim.Observation) (float64, bool) {
	return func(r rung, o *claim.Observation) (float64, bool) {
		if !o.Has(r.Name()) || k >= len(o.List(r.Name())) {
			return 0, false
		}
		return o.List(r.Name())[k], true
	}
}

// shareOf reads entry k as a share of the tokens.
func shareOf(k int) func(rung, *claim.Observation) (float64, bool) {
	return func(r rung, o *claim.Observation) (float64, bool) {
		n, ok := listed(k)(r, o)
		if !ok {
			return 0, false
		}
		all, _ := listed(tokens)(r, o)
		return n / all, true
	}
}

// halved reads entry k of a dense rung's fp16 list.
func halved(k int) func(rung, *claim.Observation) (float64, bool) {
	return func(r rung, o *claim.Observation) (float64, bool) {
		if !o.Has(fp16Of(r)) {
			return 0, false
		}
		return o.List(fp16Of(r))[k], true
	}
}

// The metrics.
var (
	metricKL           = &gapMetric{Name: "exact KL", of: listed(exactKL)}
	metricK3           = &gapMetric{Name: "k3", of: listed(k3)}
	metricSequence     = &gapMetric{Name: "sequence KL", of: listed(sequenceKL)}
	metricTail         = &gapMetric{Name: "tokens beyond a factor 2", share: true, pooled: true, of: shareOf(beyondTwo)}
	metricFlips        = &gapMetric{Name: "flips per decision", share: true, of: listed(flips)}
	metricHit          = &gapMetric{Name: "tokens hit by a flip", share: true, of: listed(hit)}
	metricReplayed     = &gapMetric{Name: "exact KL, routes replayed", of: listed(replayedKL)}
	metricReplayedTail = &gapMetric{Name: "tokens beyond a factor 2, routes replayed", share: true, pooled: true, of: shareOf(replayedTwo)}
	metricFP16         = &gapMetric{Name: "exact KL, fp16", of: halved(fp16KL)}
	metricSequenceFP16 = &gapMetric{Name: "sequence KL, fp16", of: halved(fp16SequenceKL)}
)

// metrics of a family, in the order of the tables.
func (f modelFamily) metrics() []*gapMetric {
	if f == denseFamily {
		return []*gapMetric{metricKL, metricK3, metricSequence, metricTail, metricFP16, metricSequenceFP16}
	}
	return []*gapMetric{metricKL, metricK3, metricSequence, metricTail, metricFlips, metricHit, metricReplayed, metricReplayedTail}
}

// values of a rung, one per replication that has a model of it.
func (m *gapMetric) values(r rung, runs []*claim.Observation) []float64 {
	var out []float64
	for _, o := range runs {
		if y, ok := m.of(r, o); ok {
			out = append(out, y)
		}
	}
	return out
}

// leastEvents is how many rare tokens a rung needs for a figure.
const leastEvents = 50

// logs are the logarithms that a law is fitted to. Where a model has none of
// what is counted, or few enough that the metric is pooled, the rung has the
// logarithm of the mean for one; without any it has nothing.
func (m *gapMetric) logs(r rung, runs []*claim.Observation) []float64 {
	y := m.values(r, runs)
	if len(y) == 0 {
		return nil
	}
	mean, least := stats.Average(y), y[0]
	for _, v := range y {
		least = min(least, v)
	}
	if m.pooled && mean*stats.Average((&gapMetric{of: listed(tokens)}).values(r, runs))*float64(len(y)) < leastEvents || !(mean > 0) {
		return nil
	}
	if m.pooled || least <= 0 {
		y = []float64{mean}
	}
	return stats.Each(y, func(v float64) float64 { return elementary.Log(m.scale(v)) })
}

// scale is what the law is of, and figure its inverse.
func (m *gapMetric) scale(y float64) float64 {
	if m.share {
		return -elementary.Log(1 - y)
	}
	return y
}

// figure turns a logarithm back into the metric.
func (m *gapMetric) figure(log float64) float64 {
	if m.share {
		return -elementary.Expm1(-elementary.Exp(log))
	}
	return elementary.Exp(log)
}

// interval turns the ends of an interval of logarithms back.
func (m *gapMetric) interval(i stats.Interval) stats.Interval {
	i.Estimate, i.Low, i.High = m.figure(i.Estimate), m.figure(i.Low), m.figure(i.High)
	return i
}

// width is how many times the upper end is the lower, on the law's own scale.
func (m *gapMetric) width(i stats.Interval) float64 {
	if low := m.scale(i.Low); low > 0 {
		return m.scale(i.High) / low
	}
	return math.Inf(1)
}
