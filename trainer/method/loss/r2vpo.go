package loss

import (
	"math"

	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
)

// R2VPO replaces the clip by a constraint on the variance of the ratio, with a dual variable.
//
// The constraint is a local one; far from ratio 1 a square would let a single token decide
// the batch (a ratio of e¹⁰ alone has a V of 10⁷ in it), and its excess would drive λ to
// λ_max in one step. Hence the straight continuation of the penalty, of the order of the
// objective -A·r, and the bound on the dual step. A group of one token has r̄ = 1. λ is
// state, and moves after each evaluation by V = Σ agg·(r - r̄)².
//
// Variant adaptive_clip is a survey's reading: a clip tighter than ε where the
// variance is above δ and looser where it is below.
type R2VPO struct {
	// Delta is the bound of the variance, DualRate is η, the largest rise of λ in an
	// evaluation, Lambda is λ at the start.
	Delta    float64 `yaml:"delta" default:"0.01" range:"(0,inf]"`
	DualRate float64 `yaml:"dual_rate" default:"0.1" range:"[0,inf]"`
	Lambda   float64 `yaml:"lambda" default:"1" range:"[0,inf]"`
	// LambdaMax bounds λ, so that one batch of extreme ratios does not end all learning.
	LambdaMax float64 `yaml:"lambda_max" default:"100"`
	// Variant is primal_dual or adaptive_clip, Eps the clip of the latter.
	Variant string  `yaml:"variant" default:"primal_dual" oneof:"primal_dual adaptive_clip"`
	Eps     float64 `yaml:"eps" default:"0.2" range:"[0,inf]"`
	// Anchor is the denominator: roll for replayed data.
	Anchor Anchor `yaml:"anchor" default:"old" oneof:"old roll"`
	// Aggregation over tokens.
	Aggregation Aggregation `yaml:"aggregation"`
}

// Validate checks the parameters that depend on each other.
func (p *R2VPO) Validate() error {
	return check(p.LambdaMax >= p.Lambda, "lambda_max %v: must be at least lambda %v", p.LambdaMax, p.Lambda)
}

// AppendState appends λ.
func (p *R2VPO) AppendState(dst []byte) []byte { return method.AppendState(dst, p.Lambda) }

// SetState takes what AppendState appended.
func (p *R2VPO) SetState(state []byte) error { return method.ReadState(state, &p.Lambda) }

// Eval computes the loss over the active tokens and takes the dual step.
func (p *R2VPO) Eval(out *Grad, in *batch.Batch) error {
	return withFrame(out, in, p.Aggregation, batch.Columns{p.Anchor.Column(), batch.Advantage, batch.Group}, func(f *frame) {
		anchor, variance := p.Anchor.Of(in), 0.0
		upper, lower, bounds := 0.0, 0.0, newSpread()
		for rows := range f.groups().All() {
			mean, spread := p.moments(f, anchor, rows)
			eps := float64(p.Eps * min(4, math.Sqrt(p.Delta/(spread+1e-12))))
			bounds.add(eps)
			for _, i := range rows {
				f.rowTokens(i, func(n int) (value, dlogp float64) {
					a := in.Advantage[n]
					r, dr := ratio(in.Now.Logp[n]-anchor[n], 20)
					variance += float64(f.rowWeight[i] * (r - mean) * (r - mean))
					if p.Variant == "adaptive_clip" {
						c := f.clipped(a, r, dr, 1-eps, 1+eps, 0, 0)
						upper += count(c.clipped && r > 1)
						lower += count(c.clipped && r < 1)
						return c.value, c.dlogp
					}
					f.note("r", r)
					f.note("mean_r", mean)
					return p.penalised(a, r, dr, mean)
				})
			}
		}
		if p.Variant == "adaptive_clip" {
			out.Add("r2vpo/variance", variance)
			bounds.log(out, "r2vpo/eps", "r2vpo/eps_min", "r2vpo/eps_max")
			out.Add("actor/pg_clipfrac", f.mean(upper+lower))
			out.Add("r2vpo/clipped_high", f.mean(upper))
			out.Add("r2vpo/clipped_low", f.mean(lower))
			f.addKL(anchor, 20)
			return
		}
		out.Add("r2vpo/lambda", p.Lambda)
		out.Add("r2vpo/variance", variance)
		f.addKL(anchor, 20)
		if f.tokens > 0 {
			f.addResponse(in.Len(), -float64(p.Lambda*p.Delta))
		}
		if out.frozen == nil { // a finite difference is not a step
			p.Lambda = clamp(p.Lambda+float64(p.DualRate*min(variance-p.Delta, 1)), 0, p.LambdaMax)
		}
	})
}

// penalised is -A·r + λ·h(r - mean), differentiated.
func (p *R2VPO) penalised(a, r, dr, mean float64) (value, dlogp float64) {
	d := r - mean
	if math.Abs(d) > 1 {
		return float64(-a*r) + float64(p.Lambda*(2*math.Abs(d)-1)), (-a + math.Copysign(2*p.Lambda, d)) * dr
	}
	return float64(-a*r) + float64(p.Lambda*(r-mean)*(r-mean)), (-a + float64(2*p.Lambda*(r-mean))) * dr
}

// moments are the mean ratio of these responses and its variance, detached.
func (p *R2VPO) moments(f *frame, anchor []float64, rows []int) (mean, variance float64) {
	tokens, sum, squares := 0.0, 0.0, 0.0
	for _, i := range rows {
		for n := range f.in.Where(i, f.active) {
			r, _ := ratio(f.sg[n]-anchor[n], 20)
			tokens++
			sum += r
			squares += float64(r * r)
		}
	}
	if tokens < 2 {
		return 1, 0
	}
	mean = sum / tokens
	return mean, max(squares/tokens-float64(mean*mean), 0)
}
