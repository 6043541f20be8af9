package loss

import (
	"fmt"

	"driftlab/trainer/method/batch"
)

// PPOClip is the clipped surrogate of PPO with separate bounds, an optional
// dual clip and an optional cap on the unclipped ratio.
//
// The dual clip acts where r is large on a negative advantage. verl, slime and
// SkyRL agree on it; AReaL writes sign(A)·c·A, the same thing. verl clamps the
// log-ratio to ±20 inside the graph; TRL, slime and AReaL do not clamp: set
// log_clamp to 0 to do as they do.
type PPOClip struct {
	// EpsLow and EpsHigh are the distances of the bounds from 1; DAPO has 0.2 and 0.28.
	EpsLow  float64 `yaml:"eps_low" default:"0.2" range:"[0,inf]"`
	EpsHigh float64 `yaml:"eps_high" default:"0.2" range:"[0,inf]"`
	// DualClip is c.
	DualClip float64 `yaml:"dual_clip" default:"3" range:"0=none|(1,inf]"`
	// Delta caps the ratio of the unclipped branch, of use above 1+EpsHigh.
	Delta float64 `yaml:"delta" range:"0=none|[1,inf]"`
	// LogClamp bounds the log-ratio; 0 is no bound.
	LogClamp float64 `yaml:"log_clamp" default:"20" range:"[0,inf]"`
	// Aggregation over tokens.
	Aggregation Aggregation `yaml:"aggregation"`
}

// Eval computes the loss over the active tokens.
func (p *PPOClip) Eval(out *Grad, in *batch.Batch) error {
	f, err := start(out, in, p.Aggregation, batch.Anchor, batch.Advantage)
	if err != nil {
		return err
	}
	var clips clipCounts
	f.eachToken(func(n int) (value, dlogp float64) {
		r, dr := ratio(in.Now.Logp[n]-in.Anchor[n], p.LogClamp)
		return clips.add(f.clipped(in.Advantage[n], r, dr, 1-p.EpsLow, 1+p.EpsHigh, p.DualClip, p.Delta))
	})
	f.addClipFractions(clips, in.Anchor, p.LogClamp)
	return nil
}

// check returns an error with the message if the condition fails.
func check(ok bool, format string, args ...any) error {
	if ok {
		return nil
	}
	return fmt.Errorf(format, args...)
}
