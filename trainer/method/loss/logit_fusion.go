package loss

import (
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/trace"
)

// LogitFusion is the student's side of sampling from a mixture of teacher and
// student logits: an importance ratio to the mixture, capped from above.
//
// There is no lower clip: at the first step the ratio is not centred on 1. The floor is the
// control that has one.
type LogitFusion struct {
	// Ratio is mixed, x to the mixture; student, exp(logp - old); shaped, x/(x+γ) of
	// mixed; or decoupled: PPO's clip at 1±eps, weighted by sg[min(exp(old - roll), c)].
	Ratio string `yaml:"ratio" default:"mixed" oneof:"mixed student shaped decoupled"`
	// Cap is c.
	Cap float64 `yaml:"cap" default:"3" range:"[1,inf]"`
	// SoftCap keeps a gradient above the cap: -A·c·logp in place of -A·c.
	SoftCap bool `yaml:"soft_cap"`
	// Floor is the smallest x with a gradient, of every ratio but decoupled; 0 is none. With cap 3
	// and floor 1/3 the clip is symmetric in the logarithm.
	Floor float64 `yaml:"floor" range:"[0,1]"`
	// Gamma shapes the ratio, Eps is the clip of ratio decoupled.
	Gamma float64 `yaml:"gamma" default:"0.1" range:"[0,inf]"`
	Eps   float64 `yaml:"eps" default:"0.2" range:"[0,inf]"`
	// Aggregation over tokens.
	Aggregation Aggregation `yaml:"aggregation"`
}

// Eval computes the loss over the active tokens.
func (p *LogitFusion) Eval(out *Grad, in *batch.Batch) error {
	old := p.Ratio == "student" || p.Ratio == "decoupled"
	needs := batch.Columns{batch.LogpRoll, batch.Advantage, either(old, batch.Anchor, batch.LogpRoll)}
	return withFrame(out, in, p.Aggregation, needs, func(f *frame) {
		high, low, anchor := 0.0, 0.0, either(p.Ratio == "student", in.Anchor, in.LogpRoll)
		f.eachToken(func(n int) (value, dlogp float64) {
			a := in.Advantage[n]
			if p.Ratio == "decoupled" {
				x, _ := ratio(in.Anchor[n]-in.LogpRoll[n], 20)
				r, dr := ratio(in.Now.Logp[n]-in.Anchor[n], 20)
				c, w := f.clipped(a, r, dr, 1-p.Eps, 1+p.Eps, 0, 0), min(x, p.Cap)
				f.note("w", w)
				return w * c.value, w * c.dlogp
			}
			x, dx := p.shape(ratio(in.Now.Logp[n]-anchor[n], 20))
			held, _ := p.shape(ratio(f.sg[n]-anchor[n], 20))
			f.note("x", x)
			switch {
			case held < p.Floor:
				low++
				f.took(trace.Bounded)
				return -a * p.Floor, 0
			case held < p.Cap:
				return f.live(a, x, dx)
			}
			high++
			if p.SoftCap {
				f.took(trace.Capped)
				return f.detached(p.Cap, a, in.Now.Logp[n])
			}
			f.took(trace.Bounded)
			return -a * p.Cap, 0
		})
		out.Add("actor/pg_clipfrac", f.mean(high+low))
		if p.Floor > 0 {
			out.Add("actor/pg_clipfrac_floor", f.mean(low))
		}
		f.addKL(in.LogpRoll, 20)
	})
}

// shape is x of a ratio, and its derivative.
func (p *LogitFusion) shape(r, dr float64) (x, dx float64) {
	if p.Ratio != "shaped" {
		return r, dr
	}
	return r / (r + p.Gamma), dr * p.Gamma / ((r + p.Gamma) * (r + p.Gamma))
}
