package correction

import (
	"math"

	"driftlab/precision/elementary"
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/masked"
)

// add appends a metric.
func (p *Pipeline) add(name string, value float64) {
	p.metrics = append(p.metrics, batch.Metric{Name: name, Value: value})
}

// verlWeights reports verl's compute_is_metrics on the weights before batch
// normalisation. Where nothing is weighted at all, verl raises; the figures here
// are 0.
func (p *Pipeline) verlWeights(in *Input) {
	low, high := p.Weights.Bounds()
	oob := low > 0
	if !oob {
		low = 1 / high // verl's lower bound for a bare cap, for the metrics only
	}
	w, n := &p.weights, float64(masked.Count(in.Mask))
	p.add("rollout_corr/rollout_is_mean", masked.Mean(w.Applied, in.Mask))
	if p.Weights.Level() == method.Token {
		p.verlTokenExtremes(in, low, high)
	} else {
		p.verlSequenceExtremes(in, low, high)
	}

	truncated := p.buffer
	for k := range truncated {
		truncated[k] = truncate(w.Applied[k], 0, high)
	}
	mean := masked.Mean(truncated, in.Mask)
	for k := range truncated {
		truncated[k] *= truncated[k]
	}
	squares := masked.Mean(truncated, in.Mask)
	std := 0.0
	if n > 1 {
		std = math.Sqrt(max(squares-float64(mean*mean), 0))
	}
	p.add("rollout_corr/rollout_is_std", std)
	ess := 0.0
	if squares > 0 {
		ess = (mean + masked.Epsilon) * (mean + masked.Epsilon) / squares
	}
	p.add("rollout_corr/rollout_is_eff_sample_size", ess)
	p.verlSequenceMeans(in, low, high)
	if oob {
		out := 0
		for k, counts := range in.Mask {
			if counts && !within(w.Raw[k], low, high) {
				out++
			}
		}
		p.add("rollout_corr/rollout_is_oob_ratio", float64(out)/(n+masked.Epsilon))
	}
}

// verlTokenExtremes are the extremes of applied token weights, and the share of
// raw ones outside the bounds.
func (p *Pipeline) verlTokenExtremes(in *Input, low, high float64) {
	largest, smallest, above, below, n := math.Inf(-1), math.Inf(1), 0, 0, 0
	for k, counts := range in.Mask {
		if !counts {
			continue
		}
		n++
		largest, smallest = max(largest, p.weights.Applied[k]), min(smallest, p.weights.Applied[k])
		if p.weights.Raw[k] > high {
			above++
		} else if p.weights.Raw[k] < low {
			below++
		}
	}
	if n == 0 {
		largest, smallest = 0, 0
	}
	p.add("rollout_corr/rollout_is_ratio_fraction_high", float64(above)/(float64(n)+masked.Epsilon))
	p.add("rollout_corr/rollout_is_ratio_fraction_low", float64(below)/(float64(n)+masked.Epsilon))
	p.add("rollout_corr/rollout_is_max", largest)
	p.add("rollout_corr/rollout_is_min", smallest)
}

// verlSequenceExtremes are those of the raw log-sums, over all responses: an
// empty one counts as ratio 1. The maximum is clamped, the minimum is not.
func (p *Pipeline) verlSequenceExtremes(in *Input, low, high float64) {
	largest, smallest, above, below := math.Inf(-1), math.Inf(1), 0, 0
	for i := range in.Len() {
		sum, _ := in.rowSum(i)
		largest, smallest = max(largest, sum), min(smallest, sum)
		if sum > elementary.Log(high) {
			above++
		}
		if sum < elementary.Log(low) {
			below++
		}
	}
	if in.Len() == 0 {
		largest, smallest = 0, 0
	}
	rows := float64(max(in.Len(), 1))
	p.add("rollout_corr/rollout_is_max", elementary.Exp(min(largest, DefaultClamp)))
	p.add("rollout_corr/rollout_is_min", elementary.Exp(min(smallest, 700))) // a record of the run cannot hold +Inf
	p.add("rollout_corr/rollout_is_ratio_fraction_high", float64(above)/rows)
	p.add("rollout_corr/rollout_is_ratio_fraction_low", float64(below)/rows)
}

// verlSequenceMeans are statistics of the mean weight per response, empty
// responses counting as 0; the fractions are of raw weights.
func (p *Pipeline) verlSequenceMeans(in *Input, low, high float64) {
	var s masked.Running
	deviation, above, below := 0.0, 0, 0
	for i := range in.Len() {
		from, to := in.Span(i)
		mean := masked.Mean(p.weights.Applied[from:to], in.Mask[from:to])
		s.Add(mean)
		deviation = max(deviation, math.Abs(mean-1))
		raw := masked.Mean(p.weights.Raw[from:to], in.Mask[from:to])
		if raw > high {
			above++
		} else if raw < low {
			below++
		}
	}
	rows := float64(max(in.Len(), 1))
	p.add("rollout_corr/rollout_is_seq_mean", s.Mean)
	p.add("rollout_corr/rollout_is_seq_std", s.Deviation())
	p.add("rollout_corr/rollout_is_seq_max", s.Largest)
	p.add("rollout_corr/rollout_is_seq_min", s.Smallest)
	p.add("rollout_corr/rollout_is_seq_max_deviation", deviation)
	p.add("rollout_corr/rollout_is_seq_fraction_high", float64(above)/rows)
	p.add("rollout_corr/rollout_is_seq_fraction_low", float64(below)/rows)
}

// verlTotals reports what all masks together rejected, by taking tokens out of
// the loss mask or by closing their gate.
func (p *Pipeline) verlTotals(b *batch.Batch) {
	if len(p.Masks) == 0 {
		return
	}
	tokens, rejected, touched := 0, 0, 0
	for i := range b.Len() {
		out := 0
		for n := range b.Where(i, b.Mask) {
			tokens++
			if !b.LossMask[n] || b.Gate != nil && !b.Gate[n] {
				out++
			}
		}
		rejected += out
		if out > 0 {
			touched++
		}
	}
	p.set("rollout_corr/rollout_rs_masked_fraction", float64(rejected)/(float64(tokens)+masked.Epsilon))
	p.set("rollout_corr/rollout_rs_seq_masked_fraction", float64(touched)/float64(max(b.Len(), 1)))
}

// set replaces the figure of that name, or appends it.
func (p *Pipeline) set(name string, value float64) {
	for i := range p.metrics {
		if p.metrics[i].Name == name {
			p.metrics[i].Value = value
			return
		}
	}
	p.add(name, value)
}
