package correction

import (
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/masked"
)

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
