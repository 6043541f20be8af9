package loss

import (
	"math"

	"driftlab/precision/elementary"
	"driftlab/trainer/method/batch"
)

// STPPO is turn-level PPO with a correction that a high clip rate triggers.
//
// The formulas are known only at second hand and in contradictory forms. f_k is the
// fraction of the turn's tokens whose own ratio leaves the band on the harmful side. ROLL's
// segment ratio is turn_ratio geo with gradient live and ctn none.
type STPPO struct {
	// EpsLow and EpsHigh are the distances of the bounds from 1.
	EpsLow  float64 `yaml:"eps_low" default:"0.2" range:"[0,inf]"`
	EpsHigh float64 `yaml:"eps_high" default:"0.2" range:"[0,inf]"`
	// DualClip is the constant that bounds the loss where A < 0.
	DualClip float64 `yaml:"dual_clip" range:"0=none|(1,inf]"`
	// TurnRatio is the geometric mean, the mean or the product of the turn's ratios.
	TurnRatio string `yaml:"turn_ratio" default:"geo" oneof:"geo mean product"`
	// Gradient is token (through the token's own log-prob) or live (through the turn's ratio).
	Gradient string `yaml:"gradient" default:"token" oneof:"token live"`
	// CTN is the reading of clipping-triggered normalisation: downweight scales the turn
	// by 1-f_k; bias_norm divides it by max(1, norm of the gradient the clip removed);
	// survivors drops the clipped tokens and scales the rest by T/(T-n), at most 2; kl adds
	// λ·f_k·lr²/2; none.
	CTN string `yaml:"ctn" default:"downweight" oneof:"downweight bias_norm survivors kl none"`
	// Lambda is the coefficient of ctn kl.
	Lambda float64 `yaml:"lambda" default:"0.01" range:"[0,inf]"`
	// LogCap bounds the turn's log-ratio from above before the exponential; 0 is
	// no bound (ROLL).
	LogCap float64 `yaml:"log_cap" default:"10"`
	// Epsilon is added to a turn's length before dividing by it (ROLL 1e-8).
	Epsilon float64 `yaml:"epsilon" range:"[0,inf]"`
	// Aggregation over tokens.
	Aggregation Aggregation `yaml:"aggregation"`
}

// Validate checks the parameters that depend on each other.
func (p *STPPO) Validate() error {
	return check(p.Gradient == "token" || p.TurnRatio != "mean", "gradient live: needs turn_ratio geo or product")
}

// Eval computes the loss over the active tokens, turn by turn.
func (p *STPPO) Eval(out *Grad, in *batch.Batch) error {
	return withFrame(out, in, p.Aggregation, batch.Columns{batch.Anchor, batch.Advantage, batch.Turn}, func(f *frame) {
		var clips clipCounts
		for i := range in.Len() {
			from, to := in.Span(i)
			for from < to {
				end := f.turnEnd(from, to)
				p.turn(f, i, from, end, &clips)
				from = end
			}
		}
		f.addClipFractions(clips, in.Anchor, 0)
	})
}

// turnEnd is the end of the turn that starts at from.
func (f *frame) turnEnd(from, to int) int {
	end := from + 1
	for end < to && f.in.Turn[end] == f.in.Turn[from] {
		end++
	}
	return end
}

// turnTerm is what the tokens of a turn share.
type turnTerm struct {
	length float64
	// x is the log of the turn's ratio, detached and live.
	x, live float64
	// harmful is the number of tokens that leave the band on the harmful side, scale c_k.
	harmful, scale float64
	// share is d live/d logp.
	share float64
}

// term computes the term of the turn from..end.
func (p *STPPO) term(f *frame, from, end int) (t turnTerm) {
	if t.length, t.x = p.logRatio(f, from, end, f.sg); t.length == 0 {
		return t
	}
	_, t.live = p.logRatio(f, from, end, f.in.Now.Logp)
	harmful, removed := p.harm(f, from, end)
	t.harmful, t.scale = harmful, p.scale(harmful, t.length, removed)
	if t.share = 1; p.TurnRatio != "product" {
		t.share = 1 / (t.length + p.Epsilon)
	}
	return t
}

// turn adds the tokens from..end of response i, and counts clips.
func (p *STPPO) turn(f *frame, i, from, end int, clips *clipCounts) {
	t := p.term(f, from, end)
	slope := 0.0 // of live gradients: the sum of d loss/d live
	for n := from; n < end; n++ {
		if !f.active[n] {
			continue
		}
		f.begin(n)
		w, lr := f.weight(i, n), f.in.Now.Logp[n]-f.in.Anchor[n]
		if p.CTN == "kl" {
			f.add(n, w, float64(w*p.Lambda*t.harmful/t.length*lr*lr/2))
			f.out.DLogp[n] += float64(w * p.Lambda * t.harmful / t.length * lr)
		}
		f.note("c_k", t.scale)
		if p.CTN == "survivors" && p.harms(f, n) {
			f.drop()
			continue
		}
		y := either(p.Gradient == "live", t.live, t.x+f.in.Now.Logp[n]-f.sg[n])
		u, du := cappedExp(y, p.LogCap)
		value, dlogp := clips.add(f.clipped(f.in.Advantage[n], u, du, 1-p.EpsLow, 1+p.EpsHigh, p.DualClip, 0))
		f.add(n, w, float64(w*t.scale*value))
		if p.Gradient == "live" {
			slope += float64(w * t.scale * dlogp)
			continue
		}
		f.out.DLogp[n] += float64(w * t.scale * dlogp)
	}
	for n := from; n < end; n++ {
		if f.active[n] {
			f.out.DLogp[n] += float64(slope * t.share)
		}
	}
}

// logRatio returns the number of active tokens of the turn and the log of its ratio.
func (p *STPPO) logRatio(f *frame, from, end int, logp []float64) (length, x float64) {
	sum, ratios := 0.0, 0.0
	for n := from; n < end; n++ {
		if f.active[n] {
			lr := logp[n] - f.in.Anchor[n]
			length++
			sum += lr
			r, _ := ratio(lr, 20)
			ratios += r
		}
	}
	switch {
	case length == 0:
		return 0, 0
	case p.TurnRatio == "product":
		return length, sum
	case p.TurnRatio == "mean":
		return length, elementary.Log(ratios / length)
	}
	return length, sum / (length + p.Epsilon)
}

// harms reports whether token n's own ratio leaves the band on the harmful side.
func (p *STPPO) harms(f *frame, n int) bool {
	r, _ := ratio(f.sg[n]-f.in.Anchor[n], 20)
	a := f.in.Advantage[n]
	return a > 0 && r > 1+p.EpsHigh || a < 0 && r < 1-p.EpsLow
}

// harm counts the tokens of the turn that a token clip would stop, and the norm
// of the gradient coefficients it would remove.
func (p *STPPO) harm(f *frame, from, end int) (tokens, norm float64) {
	for n := from; n < end; n++ {
		if f.active[n] && p.harms(f, n) {
			r, _ := ratio(f.sg[n]-f.in.Anchor[n], 20)
			tokens++
			norm += float64(f.in.Advantage[n] * r * f.in.Advantage[n] * r)
		}
	}
	return tokens, math.Sqrt(norm)
}

// scale is c_k.
func (p *STPPO) scale(harmful, length, removed float64) float64 {
	switch p.CTN {
	case "downweight":
		return 1 - harmful/length
	case "bias_norm":
		return 1 / max(1, removed)
	case "survivors":
		if harmful < length {
			return min(length/(length-harmful), 2)
		}
	}
	return 1
}
