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

// banded are figures of values, and how many of them lie above and below a band.
type banded struct {
	masked.Running
	low, high    float64
	above, below int
}

// Add takes a value.
func (s *banded) Add(x float64) {
	s.Running.Add(x)
	if x > s.high {
		s.above++
	}
	if x < s.low {
		s.below++
	}
}

// shares are the shares of the values above and below, each over their number with verl's epsilon or, of responses, at least 1.
func (s *banded) shares(epsilon float64) (above, below float64) {
	n := float64(s.N) + epsilon
	if epsilon == 0 {
		n = max(n, 1)
	}
	return float64(s.above) / n, float64(s.below) / n
}

// verlTokenExtremes are the extremes of applied token weights, and the share of
// raw ones outside the bounds.
func (p *Pipeline) verlTokenExtremes(in *Input, low, high float64) {
	var applied masked.Running
	raw := banded{low: low, high: high}
	for k := range masked.Kept(in.Mask) {
		applied.Add(p.weights.Applied[k])
		raw.Add(p.weights.Raw[k])
	}
	above, below := raw.shares(masked.Epsilon)
	p.add("rollout_corr/rollout_is_ratio_fraction_high", above)
	p.add("rollout_corr/rollout_is_ratio_fraction_low", below)
	p.add("rollout_corr/rollout_is_max", applied.Largest)
	p.add("rollout_corr/rollout_is_min", applied.Smallest)
}

// verlSequenceExtremes are the extremes of the raw log-sums, over all responses: an
// empty one counts as ratio 1. The maximum is clamped, the minimum is not.
func (p *Pipeline) verlSequenceExtremes(in *Input, low, high float64) {
	s := banded{low: elementary.Log(low), high: elementary.Log(high)}
	for i := range in.Len() {
		sum, _ := in.spanSum(in.Span(i))
		s.Add(sum)
	}
	above, below := s.shares(0)
	p.add("rollout_corr/rollout_is_max", elementary.Exp(min(s.Largest, DefaultClamp)))
	p.add("rollout_corr/rollout_is_min", elementary.Exp(min(s.Smallest, 700))) // a record of the run cannot hold +Inf
	p.add("rollout_corr/rollout_is_ratio_fraction_high", above)
	p.add("rollout_corr/rollout_is_ratio_fraction_low", below)
}

// verlSequenceMeans are statistics of the mean weight per response, empty
// responses counting as 0; the fractions are of raw weights.
func (p *Pipeline) verlSequenceMeans(in *Input, low, high float64) {
	var s masked.Running
	raw, deviation := banded{low: low, high: high}, 0.0
	for i := range in.Len() {
		from, to := in.Span(i)
		mean := masked.Mean(p.weights.Applied[from:to], in.Mask[from:to])
		s.Add(mean)
		deviation = max(deviation, math.Abs(mean-1))
		raw.Add(masked.Mean(p.weights.Raw[from:to], in.Mask[from:to]))
	}
	above, below := raw.shares(0)
	p.add("rollout_corr/rollout_is_seq_mean", s.Mean)
	p.add("rollout_corr/rollout_is_seq_std", s.Deviation())
	p.add("rollout_corr/rollout_is_seq_max", s.Largest)
	p.add("rollout_corr/rollout_is_seq_min", s.Smallest)
	p.add("rollout_corr/rollout_is_seq_max_deviation", deviation)
	p.add("rollout_corr/rollout_is_seq_fraction_high", above)
	p.add("rollout_corr/rollout_is_seq_fraction_low", below)
}

// verlTotals reports what all masks together rejected, by taking tokens out of
// the loss mask or by closing their gate.
func (p *Pipeline) verlTotals(b *batch.Batch) {
	if len(p.Masks) == 0 {
		return
	}
	share, _, touched := rejected(b, b.Mask, func(n int) bool { return !b.LossMask[n] || b.Gate != nil && !b.Gate[n] })
	p.set("rollout_corr/rollout_rs_masked_fraction", share)
	p.set("rollout_corr/rollout_rs_seq_masked_fraction", float64(touched)/float64(max(b.Len(), 1)))
}

// rejected is the share of the tokens of a mask that are out, and the numbers of responses with any token and with any that is out.
func rejected(b *batch.Batch, mask []bool, out func(n int) bool) (share float64, rows, touched int) {
	tokens, gone := 0, 0
	for i := range b.Len() {
		before, kept := gone, tokens
		for n := range b.Where(i, mask) {
			tokens++
			if out(n) {
				gone++
			}
		}
		if tokens > kept {
			rows++
		}
		if gone > before {
			touched++
		}
	}
	return float64(gone) / (float64(tokens) + masked.Epsilon), rows, touched
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
	share, rows, touched := rejected(in.Batch, in.Mask, func(n int) bool { return !p.keep[n] })
	p.add(names[rejectedFigures], share)
	p.add(names[rejectedFigures+1], float64(touched)/float64(max(rows, 1)))
}

// verlStatistic reports the statistic that p.buffer still holds: a response's is its own, or the mean of its tokens' for token modes.
func (p *Pipeline) verlStatistic(d measured, names []string, in *Input) {
	low, high, twoSided := d.limits()
	tokens, rows := banded{low: low, high: high}, banded{low: low, high: high}
	if !twoSided {
		tokens.low, rows.low = math.Inf(-1), math.Inf(-1)
	}
	clamped, squares := 0.0, 0.0
	for i := range in.Len() {
		from, to := in.Span(i)
		before, value := tokens.N, 0.0
		for n := range in.Where(i, in.Mask) {
			value = p.buffer[n]
			tokens.Add(value)
			c := truncate(value, low, high)
			clamped, squares = clamped+c, squares+float64(c*c)
		}
		if tokens.N == before {
			continue
		}
		if !d.measures().perResponse() {
			value = masked.Mean(p.buffer[from:to], in.Mask[from:to])
		}
		rows.Add(value)
	}
	rowsAbove, rowsBelow := rows.shares(0)
	above, below := rowsAbove, rowsBelow
	if !d.measures().perResponse() {
		above, below = tokens.shares(masked.Epsilon)
	}
	std := 0.0
	if tokens.N > 1 {
		n := float64(tokens.N) + masked.Epsilon
		mean := clamped / n
		std = math.Sqrt(max(squares/n-float64(mean*mean), 0))
	}
	for k, x := range [rejectedFigures]float64{masked.Mean(p.buffer, in.Mask), tokens.Largest, tokens.Smallest, above, below, std,
		rows.Mean, rows.Deviation(), rows.Largest, rows.Smallest, max(math.Abs(rows.Largest), math.Abs(rows.Smallest)), rowsAbove, rowsBelow} {
		if k < rejectedFigures-1 || twoSided { // the last is of a lower bound
			p.add(names[k], x)
		}
	}
}

// skyrlWeights reports the share of truncated weights, over the tokens still
// valid or over all responses.
func (p *Pipeline) skyrlWeights(in *Input) {
	_, high := p.Weights.Bounds()
	name, s := "tis_seq_clip_high_ratio", banded{high: high}
	if p.Weights.Level() == method.Token {
		name = "tis_token_clip_high_ratio"
		s.addTokens(in, 0, in.Tokens())
	} else {
		for i := range in.Len() {
			sum, _ := in.spanSum(in.Span(i))
			s.Add(in.ratio(sum))
		}
	}
	above, _ := s.shares(0)
	p.add(name, above)
}

// addTokens takes the ratios of the tokens from..to that count.
func (s *banded) addTokens(in *Input, from, to int) {
	for k := range masked.Kept(in.Mask[from:to]) {
		s.Add(in.ratio(in.LogRatio[from+k]))
	}
}

// skyrlMask reports the shares a mask rejected on either side of its band, for
// the masks SkyRL has.
func (p *Pipeline) skyrlMask(m Masking, in *Input) {
	switch m := m.(type) {
	case *Outlier:
		p.skyrlSequence(&skyrlOutlier, in, func(i int) (above, below bool) {
			s := banded{low: m.Low, high: m.High}
			from, to := in.Span(i)
			s.addTokens(in, from, to)
			return s.above > 0, s.below > 0
		})
	case *TokenMask:
		s := banded{low: m.Low, high: m.High}
		s.addTokens(in, 0, in.Tokens())
		p.add("token_mask_ratio", float64(s.above+s.below)/float64(max(s.N, 1)))
	case *SequenceMask:
		p.skyrlSequence(&skyrlProduct, in, func(i int) (above, below bool) {
			sum, _ := in.spanSum(in.Span(i))
			return in.ratio(sum) > m.High, in.ratio(sum) < m.Low
		})
	case *Geometric:
		p.skyrlSequence(&skyrlGeometric, in, func(i int) (above, below bool) {
			r := in.geometricMean(in.Span(i))
			return r > m.High, r < m.Low
		})
	}
}

// skyrlOutlier, skyrlProduct and skyrlGeometric are the metric names of SkyRL's masks of whole responses.
var (
	skyrlOutlier = [3]string{"outlier_seq_masked_ratio", "outlier_seq_over_high_ratio", "outlier_seq_under_low_ratio"}
	skyrlProduct = [3]string{"product_sequence_mask_masked_ratio", "product_sequence_mask_over_high_ratio",
		"product_sequence_mask_under_low_ratio"}
	skyrlGeometric = [3]string{"geo_sequence_mask_masked_ratio", "geo_sequence_mask_over_high_ratio",
		"geo_sequence_mask_under_low_ratio"}
)

// skyrlSequence reports the shares of the responses that lie outside a band, above it and below it; one with tokens on both sides counts in both.
func (p *Pipeline) skyrlSequence(names *[3]string, in *Input, sides func(i int) (above, below bool)) {
	var count [3]float64
	for i := range in.Len() {
		above, below := sides(i)
		for k, out := range [3]bool{above || below, above, below} {
			if out {
				count[k]++
			}
		}
	}
	for k, n := range count {
		p.add(names[k], n/float64(max(in.Len(), 1)))
	}
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
