package loss

import (
	"math"

	"driftlab/precision/elementary"
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
)

// STPPO is turn-level PPO with a correction that a high clip rate triggers.
//
//	u_k = exp(mean_{t∈k} lr_t)  (or the mean, or the product, of the turn's ratios)
//	u_t = sg[u_k]·exp(logp - sg[logp]);   L = c_k·max(-A·u_t, -A·clip(u_t, 1-ε_low, 1+ε_high))
//	f_k = fraction of the turn's tokens whose own ratio leaves the band on the harmful side
//
// Source: 2511.20718 (SORL, ST-PPO), whose formulas we have only at second hand
// and in contradictory forms; ROLL's segment ratio is turn_ratio geo with
// gradient live and ctn none. ctn selects the reading of clipping-triggered
// normalisation: downweight scales the turn by 1-f_k; bias_norm divides it by
// max(1, norm of the gradient the clip removed); survivors drops the clipped
// tokens and scales the rest by T/(T-n), at most 2; kl adds λ·f_k·lr²/2; none.
type STPPO struct {
	// EpsLow and EpsHigh are the distances of the bounds from 1.
	EpsLow  float64 `yaml:"eps_low" default:"0.2" range:"[0,inf]"`
	EpsHigh float64 `yaml:"eps_high" default:"0.2" range:"[0,inf]"`
	// DualClip is the constant that bounds the loss where A < 0.
	DualClip float64 `yaml:"dual_clip" range:"0=none|(1,inf]"`
	// TurnRatio is geo, mean or product.
	TurnRatio string `yaml:"turn_ratio" default:"geo" oneof:"geo mean product"`
	// Gradient is token (through the token's own log-prob) or live (through the turn's ratio).
	Gradient string `yaml:"gradient" default:"token" oneof:"token live"`
	// CTN is downweight, bias_norm, survivors, kl or none.
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

var stPPOSpec = method.Spec{
	Name: "st_ppo", Aliases: []string{"turn_ppo", "sorl"}, Group: "loss", Unit: method.Turn,
	Source:   "arXiv:2511.20718 (second-hand notes); ROLL segment ratio",
	Formula:  "L = (1-f_k)·max(-A·u_t, -A·clip(u_t, 1-ε_low, 1+ε_high)), u_t = sg[exp(mean_{turn} lr)]·exp(logp-sg[logp])",
	Gradient: "-(1-f_k)·A·u_k, or 0 where the turn is clipped",
	Needs:    batch.Columns{batch.Anchor, batch.Advantage, batch.Turn},
	Example: onTwoResponses + `A = +1: d loss/d logp = -0.083333 -0.083333 0.000000
A = -1: d loss/d logp = 0.166667 0.166667 0.274787; loss = 0.441454`,
	Reconstruction: "turn ratio: geometric mean (mean, product selectable); clipping-triggered normalisation: " +
		"downweight, the one reading both notes' effects share (bias_norm, survivors, kl, none selectable)",
}

// Validate checks the parameters that depend on each other.
func (p *STPPO) Validate() error {
	return check(p.Gradient == "token" || p.TurnRatio != "mean", "gradient live: needs turn_ratio geo or product")
}

// Eval computes the loss over the active tokens, turn by turn.
func (p *STPPO) Eval(out *Grad, in *batch.Batch) error {
	f, err := start(out, in, p.Aggregation, batch.Anchor, batch.Advantage, batch.Turn)
	if err != nil {
		return err
	}
	clips, lower := 0.0, 0.0
	for i := range in.Len() {
		from, to := in.Span(i)
		for from < to {
			end := f.turnEnd(from, to)
			c, d := p.turn(&f, i, from, end)
			clips, lower = clips+c, lower+d
			from = end
		}
	}
	f.addClipFractions(clips, lower, in.Anchor, 0)
	return nil
}

// turnEnd is the end of the turn that starts at from.
func (f *frame) turnEnd(from, to int) int {
	end := from + 1
	for end < to && f.in.Turn[end] == f.in.Turn[from] {
		end++
	}
	return end
}

// turn adds the tokens from..end of response i, and counts clips.
func (p *STPPO) turn(f *frame, i, from, end int) (clips, lower float64) {
	length, x := p.logRatio(f, from, end, f.sg)
	if length == 0 {
		return 0, 0
	}
	harmful, removed := p.harm(f, from, end)
	scale := p.scale(harmful, length, removed)
	share, slope := 1/(length+p.Epsilon), 0.0 // of live gradients: d x/d logp, and the sum of d loss/d x
	if p.TurnRatio == "product" {
		share = 1
	}
	_, live := p.logRatio(f, from, end, f.in.Now.Logp)
	for n := from; n < end; n++ {
		if !f.active[n] {
			continue
		}
		w := f.weight(i, n)
		lr := f.in.Now.Logp[n] - f.in.Anchor[n]
		if p.CTN == "kl" {
			f.out.Loss += float64(w * p.Lambda * harmful / length * lr * lr / 2)
			f.out.DLogp[n] += float64(w * p.Lambda * harmful / length * lr)
		}
		if p.CTN == "survivors" && p.harms(f, n) {
			f.drop(n)
			f.result(i, n, 0, 0)
			continue
		}
		y := x + f.in.Now.Logp[n] - f.sg[n]
		if p.Gradient == "live" {
			y = live
		}
		u, du := cappedExp(y, p.LogCap)
		f.note(n, "x", p.ratioFormula(), x)
		f.noteExp(n, "u", p.LogCap, u)
		c := f.clip(n, "u", f.in.Advantage[n], u, du, 1-p.EpsLow, 1+p.EpsHigh, p.DualClip, 0)
		clips += count(c.clipped)
		lower += count(c.dual)
		f.out.Loss += float64(w * scale * c.value)
		p.explain(f, i, n, scale, p.Lambda*harmful/length, c)
		if p.Gradient == "live" {
			slope += float64(w * scale * c.dlogp)
			continue
		}
		f.out.DLogp[n] += float64(w * scale * c.dlogp)
	}
	for n := from; n < end; n++ {
		if f.active[n] {
			f.out.DLogp[n] += float64(slope * share)
			if p.Gradient == "live" && f.trace != nil {
				f.share(n, "", 0, "", slope*share)
			}
		}
	}
	return clips, lower
}

// explain tells the trace what came of token n: c, scaled, and with ctn kl its penalty.
func (p *STPPO) explain(f *frame, i, n int, scale, penalty float64, c surrogate) {
	if f.trace == nil {
		return
	}
	f.note(n, "c_k", "", scale)
	f.scaled(n, "c_k")
	value, dlogp, w := scale*c.value, scale*c.dlogp, f.weight(i, n)
	if p.Gradient == "live" { // the gradient is the turn's
		f.spreadResult(i, n, value, dlogp)
	} else {
		f.result(i, n, value, dlogp)
	}
	if p.CTN == "kl" {
		lr := f.in.Now.Logp[n] - f.in.Anchor[n]
		f.share(n, "", w*penalty*lr*lr/2, "", w*penalty*lr)
	}
}

// ratioFormula is the turn's log-ratio as a formula, where that is short.
func (p *STPPO) ratioFormula() string {
	switch {
	case p.TurnRatio == "product":
		return "Σ_turn(logp - old)"
	case p.TurnRatio == "geo" && p.Epsilon == 0:
		return "mean_turn(logp - old)"
	}
	return ""
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
