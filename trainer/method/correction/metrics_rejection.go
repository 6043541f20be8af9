package correction

import (
	"math"

	"driftlab/trainer/method/masked"
)

// ruleNames are the metric names of one mask, built once.
type ruleNames struct {
	mask                                          Masking
	mean, largest, smallest, above, below, std    string
	seqMean, seqStd, seqMax, seqMin, seqDeviation string
	seqAbove, seqBelow, fraction, seqFraction     string
}

// namesOf returns the metric names of a mask.
func (p *Pipeline) namesOf(m Masking) *ruleNames {
	for i := range p.ruleNames {
		if p.ruleNames[i].mask == m {
			return &p.ruleNames[i]
		}
	}
	at := "rollout_corr/rollout_rs_" + maskName(m)
	p.ruleNames = append(p.ruleNames, ruleNames{mask: m,
		mean: at + "_mean", largest: at + "_max", smallest: at + "_min", above: at + "_fraction_high",
		below: at + "_fraction_low", std: at + "_std", seqMean: at + "_seq_mean", seqStd: at + "_seq_std",
		seqMax: at + "_seq_max", seqMin: at + "_seq_min", seqDeviation: at + "_seq_max_deviation",
		seqAbove: at + "_seq_fraction_high", seqBelow: at + "_seq_fraction_low",
		fraction: at + "_masked_fraction", seqFraction: at + "_seq_masked_fraction"})
	return &p.ruleNames[len(p.ruleNames)-1]
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
	p.add(names.fraction, float64(rejected)/(float64(tokens)+masked.Epsilon))
	p.add(names.seqFraction, float64(touched)/float64(max(rows, 1)))
}

// statisticSpread is a rule's statistic over tokens and over responses.
type statisticSpread struct {
	tokens, rows            masked.Running
	above, below            int // of tokens
	rowsAbove, rowsBelow    int
	clamped, clampedSquares float64
}

// verlStatistic reports the statistic that p.buffer still holds.
func (p *Pipeline) verlStatistic(d measured, names *ruleNames, in *Input) {
	_, _, twoSided := d.limits()
	s := p.spread(d, in)
	tokens, rows := float64(s.tokens.N)+masked.Epsilon, float64(max(s.rows.N, 1))
	p.add(names.mean, masked.Mean(p.buffer, in.Mask))
	p.add(names.largest, s.tokens.Largest)
	p.add(names.smallest, s.tokens.Smallest)
	if d.sequenceLevel() {
		p.add(names.above, float64(s.rowsAbove)/rows)
		p.add(names.below, float64(s.rowsBelow)/rows)
	} else {
		p.add(names.above, float64(s.above)/tokens)
		p.add(names.below, float64(s.below)/tokens)
	}
	std := 0.0
	if s.tokens.N > 1 {
		mean := s.clamped / tokens
		std = math.Sqrt(max(s.clampedSquares/tokens-float64(mean*mean), 0))
	}
	p.add(names.std, std)
	p.add(names.seqMean, s.rows.Mean)
	p.add(names.seqStd, s.rows.Deviation())
	p.add(names.seqMax, s.rows.Largest)
	p.add(names.seqMin, s.rows.Smallest)
	p.add(names.seqDeviation, max(math.Abs(s.rows.Largest), math.Abs(s.rows.Smallest)))
	p.add(names.seqAbove, float64(s.rowsAbove)/rows)
	if twoSided {
		p.add(names.seqBelow, float64(s.rowsBelow)/rows)
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
