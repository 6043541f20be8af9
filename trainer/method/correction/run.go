package correction

import (
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/masked"
)

// run computes what the stage and mode call for, in b.LossMask, b.Weight and b.Gate.
func (p *Pipeline) run(b *batch.Batch, s Stage) error {
	p.stage = s
	if err := p.compare(b, s); err != nil {
		return err
	}
	all := s == AtBatch || p.Mode == Bypass // else only the masks of every step
	p.current = append(p.current[:0], b.Mask...)
	if p.Order == Sequential && !all {
		for n, keep := range b.BatchMask {
			p.current[n] = keep && (b.BatchGate == nil || b.BatchGate[n])
		}
	}
	p.buffer = refill(p.buffer, b.Tokens(), 0)
	for i, m := range p.Masks {
		if all && i == p.WeightsAfter {
			if err := p.weigh(b); err != nil {
				return err
			}
		}
		everyStep := AtEveryStep(m)
		if p.withheld || everyStep && s == AtBatch || !everyStep && !all {
			continue
		}
		if err := p.mask(b, m, everyStep); err != nil {
			return err
		}
	}
	if all && p.WeightsAfter == len(p.Masks) {
		if err := p.weigh(b); err != nil {
			return err
		}
	}
	if p.Names == "skyrl" {
		p.skyrlTotals(b)
	} else {
		p.verlTotals(b)
	}
	return nil
}

// compare fills the log-ratio of the stage.
func (p *Pipeline) compare(b *batch.Batch, s Stage) error {
	upper, column := b.Anchor, batch.Anchor
	if s == AtStep {
		upper, column = b.Now.Logp, batch.Logp
	}
	if err := b.Require(batch.Mask, batch.LogpRoll, column); err != nil {
		return err
	}
	p.logRatio = refill(p.logRatio, b.Tokens(), 0)
	for n := range masked.Kept(b.Mask) {
		p.logRatio[n] = upper[n] - b.LogpRoll[n]
	}
	return nil
}

// see is the input of the next method. It lives in the pipeline, because a pointer
// passed through an interface would be allocated every time.
func (p *Pipeline) see(b *batch.Batch) *Input {
	p.input = Input{Batch: b, LogRatio: p.logRatio, Mask: p.current, Clamp: p.Clamp, Seed: p.Seed, buffer: p.buffer}
	if p.accounts != nil {
		p.begin(&p.input)
	}
	return &p.input
}

// weigh computes the weights over the current mask.
func (p *Pipeline) weigh(b *batch.Batch) error {
	if p.Weights == nil {
		return nil
	}
	p.weights.Raw = refill(p.weights.Raw, b.Tokens(), 0)
	p.weights.Applied = refill(p.weights.Applied, b.Tokens(), 0)
	in := p.see(b)
	if err := p.Weights.Weigh(&p.weights, in); err != nil {
		return err
	}
	if p.accounts != nil {
		p.accountWeights(in)
	}
	if p.Names == "skyrl" {
		p.skyrlWeights(in)
	} else {
		p.verlWeights(in)
	}
	if p.BatchNormalize {
		p.normalise(in)
	}
	copy(b.Weight, p.weights.Applied)
	return nil
}

// normalise divides the weights by their mean, unless that is next to nothing.
func (p *Pipeline) normalise(in *Input) {
	w := p.weights.Applied
	mean := 0.0
	if p.Weights.Level() == method.Token {
		mean = masked.Mean(w, in.Mask)
	} else {
		rows := 0
		for i := range in.Len() {
			from, to := in.Span(i)
			if masked.Count(in.Mask[from:to]) > 0 {
				mean += masked.Mean(w[from:to], in.Mask[from:to])
				rows++
			}
		}
		mean /= max(float64(rows), masked.Epsilon)
	}
	factor := 1.0
	if mean > masked.Epsilon {
		factor = mean
		for n := range masked.Kept(in.Mask) {
			w[n] /= mean
		}
	}
	p.add("rollout_corr/rollout_is_batch_norm_factor", factor)
}

// mask applies one rule.
func (p *Pipeline) mask(b *batch.Batch, m Masking, everyStep bool) error {
	p.keep = refill(p.keep, b.Tokens(), true)
	in := p.see(b)
	if err := m.Reject(p.keep, in); err != nil {
		return err
	}
	if p.accounts != nil {
		p.accountMask(m, in)
	}
	if p.Names == "skyrl" {
		p.skyrlMask(m, in)
	} else {
		p.verlMask(m, in)
	}
	for n, keep := range p.keep {
		if keep {
			continue
		}
		if everyStep || p.Denominator == Pre {
			b.Gate[n] = false
		} else {
			b.LossMask[n] = false
		}
		if p.Order == Sequential {
			p.current[n] = false
		}
	}
	return nil
}
