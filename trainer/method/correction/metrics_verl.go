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

// ruleFigures are what is logged of a mask: verl's compute_rs_metrics of its statistic, then what it rejected.
var ruleFigures = [...]string{"mean", "max", "min", "fraction_high", "fraction_low", "std", "seq_mean", "seq_std", "seq_max", "seq_min",
	"seq_max_deviation", "seq_fraction_high", "seq_fraction_low", "masked_fraction", "seq_masked_fraction"}

// rejectedFigures is where in ruleFigures those of the rejection begin.
const rejectedFigures = len(ruleFigures) - 2

// ruleNames are the metric names of one mask, built once.
type ruleNames struct {
	mask  Masking
	names [len(ruleFigures)]string
}

// namesOf returns the metric names of a mask.
func (p *Pipeline) namesOf(m Masking) []string {
	for i := range p.ruleNames {
		if p.ruleNames[i].mask == m {
			return p.ruleNames[i].names[:]
		}
	}
	r := ruleNames{mask: m}
	for k, figure := range ruleFigures {
		r.names[k] = "rollout_corr/rollout_rs_" + maskName(m) + "_" + figure
	}
	p.ruleNames = append(p.ruleNames, r)
	return p.namesOf(m)
}

// verlMask reports verl's compute_rs_metrics for a mode that has a statistic,
// and the masked fractions for every mask.
func (p *Pipeline) verlMask(m Masking, in *Input) {
	names := p.namesOf(m)
	if d, ok := m.(measured); ok {
		p.verlStatistic(d, names, in)
	}
	tokens, rejected, rows, touched := 0, 0, 0, 0
	for i := range in.Len() {
		count, out := 0, 0
		for n := range in.Where(i, in.Mask) {
			count++
			if !p.keep[n] {
				out++
			}
		}
		tokens, rejected = tokens+count, rejected+out
		if count > 0 {
			rows++
		}
		if out > 0 {
			touched++
		}
	}
	p.add(names[rejectedFigures], float64(rejected)/(float64(tokens)+masked.Epsilon))
	p.add(names[rejectedFigures+1], float64(touched)/float64(max(rows, 1)))
}

// statisticSpread is a rule's statistic over tokens and over responses.
type statisticSpread struct {
	tokens, rows            masked.Running
	above, below            int // of tokens
	rowsAbove, rowsBelow    int
	clamped, clampedSquares float64
}

// verlStatistic reports the statistic that p.buffer still holds.
func (p *Pipeline) verlStatistic(d measured, names []string, in *Input) {
	_, _, twoSided := d.limits()
	s := p.spread(d, in)
	tokens, rows := float64(s.tokens.N)+masked.Epsilon, float64(max(s.rows.N, 1))
	above, below := float64(s.above)/tokens, float64(s.below)/tokens
	if d.sequenceLevel() {
		above, below = float64(s.rowsAbove)/rows, float64(s.rowsBelow)/rows
	}
	std := 0.0
	if s.tokens.N > 1 {
		mean := s.clamped / tokens
		std = math.Sqrt(max(s.clampedSquares/tokens-float64(mean*mean), 0))
	}
	for k, x := range [rejectedFigures]float64{masked.Mean(p.buffer, in.Mask), s.tokens.Largest, s.tokens.Smallest, above, below, std,
		s.rows.Mean, s.rows.Deviation(), s.rows.Largest, s.rows.Smallest, max(math.Abs(s.rows.Largest), math.Abs(s.rows.Smallest)),
		float64(s.rowsAbove) / rows, float64(s.rowsBelow) / rows} {
		if k < rejectedFigures-1 || twoSided { // the last is of a lower bound
			p.add(names[k], x)
		}
	}
}

// spread accumulates the statistic: a response's is its own, or the mean of its
// tokens' for token modes.
func (p *Pipeline) spread(d measured, in *Input) (s statisticSpread) {
	low, high, twoSided := d.limits()
	for i := range in.Len() {
		from, to := in.Span(i)
		count, value := 0, 0.0
		for n := range in.Where(i, in.Mask) {
			x := p.buffer[n]
			count, value = count+1, x
			s.tokens.Add(x)
			if x > high {
				s.above++
			}
			if twoSided && x < low {
				s.below++
			}
			c := truncate(x, low, high)
			s.clamped, s.clampedSquares = s.clamped+c, s.clampedSquares+float64(c*c)
		}
		if count == 0 {
			continue
		}
		if !d.sequenceLevel() {
			value = masked.Mean(p.buffer[from:to], in.Mask[from:to])
		}
		s.rows.Add(value)
		if value > high {
			s.rowsAbove++
		}
		if twoSided && value < low {
			s.rowsBelow++
		}
	}
	return s
}

// skyrlWeights reports the share of truncated weights, over the tokens still
// valid or over all responses.
func (p *Pipeline) skyrlWeights(in *Input) {
	_, high := p.Weights.Bounds()
	if p.Weights.Level() == method.Token {
		above, n := 0, 0
		for k, counts := range in.Mask {
			if counts {
				n++
				if p.weights.Raw[k] > high {
					above++
				}
			}
		}
		p.add("tis_token_clip_high_ratio", float64(above)/float64(max(n, 1)))
		return
	}
	above := 0
	for i := range in.Len() {
		if sum, _ := in.rowSum(i); in.ratio(sum) > high {
			above++
		}
	}
	p.add("tis_seq_clip_high_ratio", float64(above)/float64(max(in.Len(), 1)))
}

// skyrlMask reports the shares a mask rejected on either side of its band, for
// the masks SkyRL has.
func (p *Pipeline) skyrlMask(m Masking, in *Input) {
	switch m := m.(type) {
	case *Outlier:
		p.skyrlOutlier(m, in)
	case *TokenMask:
		out, n := 0, 0
		for k, counts := range in.Mask {
			if counts {
				n++
				if !within(in.ratio(in.LogRatio[k]), m.Low, m.High) {
					out++
				}
			}
		}
		p.add("token_mask_ratio", float64(out)/float64(max(n, 1)))
	case *SequenceMask:
		p.skyrlSequence(&skyrlProduct, m.Low, m.High, in, false)
	case *Geometric:
		p.skyrlSequence(&skyrlGeometric, m.Low, m.High, in, true)
	}
}

// skyrlOutlier counts responses with a token above, or below, the bounds.
func (p *Pipeline) skyrlOutlier(m *Outlier, in *Input) {
	above, below, either := 0, 0, 0
	for i := range in.Len() {
		high, low := false, false
		for n := range in.Where(i, in.Mask) {
			r := in.ratio(in.LogRatio[n])
			high, low = high || r > m.High, low || r < m.Low
		}
		if high {
			above++
		}
		if low {
			below++
		}
		if high || low {
			either++
		}
	}
	rows := float64(max(in.Len(), 1))
	p.add("outlier_seq_masked_ratio", float64(either)/rows)
	p.add("outlier_seq_over_high_ratio", float64(above)/rows)
	p.add("outlier_seq_under_low_ratio", float64(below)/rows)
}

// skyrlProduct and skyrlGeometric are the metric names of SkyRL's two sequence masks.
var (
	skyrlProduct = [3]string{"product_sequence_mask_masked_ratio", "product_sequence_mask_over_high_ratio",
		"product_sequence_mask_under_low_ratio"}
	skyrlGeometric = [3]string{"geo_sequence_mask_masked_ratio", "geo_sequence_mask_over_high_ratio",
		"geo_sequence_mask_under_low_ratio"}
)

// skyrlSequence counts responses outside the band of a product or geometric mean.
func (p *Pipeline) skyrlSequence(names *[3]string, low, high float64, in *Input, geometric bool) {
	above, below := 0, 0
	for i := range in.Len() {
		sum, _ := in.rowSum(i)
		r := in.ratio(sum)
		if geometric {
			r = in.geometricMean(i)
		}
		if r > high {
			above++
		} else if r < low {
			below++
		}
	}
	rows := float64(max(in.Len(), 1))
	p.add(names[0], float64(above+below)/rows)
	p.add(names[1], float64(above)/rows)
	p.add(names[2], float64(below)/rows)
}

// skyrlTotals reports the ratios over the initial mask. Standard deviation and
// extremes run over all tokens, a masked one counting as 0, as SkyRL has it; on
// its padded rows the padding counts too.
func (p *Pipeline) skyrlTotals(b *batch.Batch) {
	r, in := p.buffer, p.see(b)
	var s masked.Running
	for n, counts := range b.Mask {
		r[n] = 0
		if counts {
			r[n] = in.ratio(p.logRatio[n])
		}
		s.Add(r[n])
	}
	p.set("is_ratio_mean", masked.Sum(r, b.Mask)/float64(max(masked.Count(b.Mask), 1)))
	p.set("is_ratio_std", s.Deviation())
	p.set("is_ratio_max", s.Largest)
	p.set("is_ratio_min", s.Smallest)
}
