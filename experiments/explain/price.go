package explain

import (
	"driftlab/precision/elementary"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/correction"
	"driftlab/trainer/method/loss"
	"driftlab/trainer/method/trace"
)

// outside is the share of tokens whose ratio to an anchor lies outside the band, after
// so many updates.
func (f *follower) outside(update int, anchor []float64) float64 {
	outside := 0.0
	for n, m := range f.batch.Mask {
		if r := elementary.Exp(f.after[update][n] - anchor[n]); m && (r < f.Low || r > f.High) {
			outside++
		}
	}
	return outside / float64(f.Count)
}

// price is what the clipped loss makes of every token after so many updates, with a
// policy in the place of the old one and, in decoupled mode, the correction between that
// and the sampler.
func (f *follower) price(update int, anchor []float64, corrected bool) (*trace.Trace, *trace.Trace, error) {
	view := *f.batch
	view.Now.Logp, view.Anchor = f.after[update], anchor
	view.LossMask, view.Weight, view.Gate = nil, nil, nil
	var weights *trace.Trace
	if corrected {
		view.Corrected = batch.Corrected{Anchor: anchor}
		p := correction.Pipeline{Weights: &correction.TokenTIS{Cap: tisCap}}
		accounts, err := p.Explain(&view, correction.AtBatch)
		if err != nil {
			return nil, nil, err
		}
		weights = accounts[0].Trace
	}
	priced, _, err := loss.Explain(&f.clip, &view)
	return priced, weights, err
}
