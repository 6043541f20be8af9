package loss

import (
	"errors"
	"math"

	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/masked"
)

// BAPO is PPO's clip with bounds that are searched anew for every minibatch: the lower one rises first, then the
// upper one, until positive advantages have the target share of the objective, against negative ones.
//
// A higher lower bound leaves out more tokens whose probability has already fallen, a higher upper one keeps more whose
// probability has risen. Where the target is out of reach both bounds end at their greatest. The README of
// the source has other values, 0.5 of the total and bounds of 0.6 to 0.9 and 1.2 to 3.
type BAPO struct {
	// Target is the least ratio of positive to negative contributions.
	Target float64 `yaml:"target" default:"1" range:"[0,inf]"`
	// LowFrom and LowTo are the ends of the search for the lower bound, LowStep its step.
	LowFrom float64 `yaml:"low_from" default:"0.6" range:"[0,low_to]"`
	LowTo   float64 `yaml:"low_to" default:"0.8" range:"[0,1]"`
	LowStep float64 `yaml:"low_step" default:"0.05" range:"(0,1]"`
	// HighFrom and HighTo are the ends of the search for the upper bound, HighStep its step.
	HighFrom float64 `yaml:"high_from" default:"1.2" range:"[1,high_to]"`
	HighTo   float64 `yaml:"high_to" default:"2" range:"[1,inf)"`
	HighStep float64 `yaml:"high_step" default:"0.05" range:"(0,inf)"`
	// DualClip is the constant that bounds the loss where A < 0.
	DualClip float64 `yaml:"dual_clip" default:"3" range:"0=none|(1,inf]"`
	// LogClamp bounds the log-ratio; 0 is no bound.
	LogClamp float64 `yaml:"log_clamp" default:"20" range:"[0,inf]"`
	// Aggregation over tokens.
	Aggregation Aggregation `yaml:"aggregation"`
}

// Validate checks the parameters that depend on each other.
func (p *BAPO) Validate() error {
	return errors.Join(check(p.LowFrom <= p.LowTo, "low_from %v, low_to %v: need low_from ≤ low_to", p.LowFrom, p.LowTo),
		check(p.HighFrom <= p.HighTo, "high_from %v, high_to %v: need high_from ≤ high_to", p.HighFrom, p.HighTo))
}

// Eval computes the loss over the active tokens.
func (p *BAPO) Eval(out *Grad, in *batch.Batch) error {
	return withFrame(out, in, p.Aggregation, batch.Columns{batch.Anchor, batch.Advantage}, func(f *frame) {
		low, high, share := p.bounds(f)
		var clips clipCounts
		f.eachToken(func(n int) (value, dlogp float64) {
			r, dr := ratio(in.Now.Logp[n]-in.Anchor[n], p.LogClamp)
			return clips.add(f.clipped(in.Advantage[n], r, dr, low, high, p.DualClip, 0))
		})
		f.addClipFractions(clips, in.Anchor, p.LogClamp)
		out.Add("actor/bapo_clip_low", low)
		out.Add("actor/bapo_clip_high", high)
		if !math.IsInf(share, 1) {
			out.Add("actor/bapo_pos_neg_ratio", share)
		}
	})
}

// bounds are the bounds of the clip, and the ratio of positive to negative contributions under them, which is
// infinite without negative ones.
func (p *BAPO) bounds(f *frame) (low, high, share float64) {
	low, high = p.LowFrom, p.HighFrom
	for {
		share = p.share(f, low, high)
		switch {
		case share >= p.Target || low >= p.LowTo && high >= p.HighTo:
			return low, high, share
		case low < p.LowTo:
			low = min(low+p.LowStep, p.LowTo)
		default:
			high = min(high+p.HighStep, p.HighTo)
		}
	}
}

// share is the ratio of positive to negative contributions under the bounds.
func (p *BAPO) share(f *frame, low, high float64) float64 {
	positive, negative := 0.0, 0.0
	for n := range masked.Kept(f.active) {
		r, _ := ratio(f.sg[n]-f.in.Anchor[n], p.LogClamp)
		if a := f.in.Advantage[n]; a >= 0 {
			positive += float64(a * min(r, high))
		} else {
			negative -= float64(a * max(r, low))
		}
	}
	if negative == 0 {
		return math.Inf(1)
	}
	return positive / (negative + 1e-8)
}
