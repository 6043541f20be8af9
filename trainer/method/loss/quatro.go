package loss

import (
	"math"
	"slices"

	"driftlab/precision/elementary"
	"driftlab/trainer/method/batch"
)

// QUATRO follows the exact solution of a KL-constrained problem per prompt, so
// that responses outside any clip band still have a restoring gradient.
//
// Per group the maximum of E_π[R] with KL(π‖old) ≤ δ is π* ∝ old·exp(R/λ); near δ = 0, λ is
// std(R)/√(2δ). The expectation of the Σ lr term is -∇KL(π‖old). w corrects for samples that
// are not from old. A group without variance keeps the restoring term only.
type QUATRO struct {
	// Delta is the bound of the KL per prompt, in nats per response.
	Delta float64 `yaml:"delta" default:"0.02" range:"(0,inf]"`
	// Cap is C.
	Cap float64 `yaml:"cap" default:"2" range:"[1,inf]"`
	// OffPolicy weights by exp(Σ old - roll): the samples are from roll.
	OffPolicy bool `yaml:"off_policy"`
	// Aggregation over tokens; a mean over responses by default.
	Aggregation Aggregation `yaml:"aggregation" default:"seq-mean-token-sum"`
}

// Eval computes the loss over the responses.
func (p *QUATRO) Eval(out *Grad, in *batch.Batch) error {
	needs := batch.Columns{batch.Anchor, batch.Reward, batch.Group, either(p.OffPolicy, batch.LogpRoll, batch.Anchor)}
	return withFrame(out, in, p.Aggregation, needs, func(f *frame) {
		lambdas := 0.0
		groups := f.groups()
		for rows := range groups.All() {
			rewards := f.rewards(rows)
			mean, _ := meanStd(rewards)
			lambda := klDual(rewards, p.Delta)
			lambdas += lambda
			for _, i := range rows {
				push, pull, w := 0.0, f.sumLogRatio(i, f.sg, in.Anchor), 1.0
				if lambda > 0 {
					push = (in.Reward[i] - mean) / lambda
				}
				if p.OffPolicy {
					r, _ := ratio(f.sumLogRatio(i, in.Anchor, in.LogpRoll), 20)
					w = min(r, p.Cap)
				}
				coef := w * (push - pull)
				f.share(i, "λ", lambda)
				f.share(i, "coef", coef)
				f.rowTokens(i, func(n int) (value, dlogp float64) { return f.detached(1, coef, in.Now.Logp[n]) })
			}
		}
		out.Add("quatro/lambda", lambdas/float64(max(groups.Len(), 1)))
		f.addKL(in.Anchor, 20)
	})
}

// meanStd is the mean and the population standard deviation.
func meanStd(x []float64) (mean, std float64) {
	for _, v := range x {
		mean += v
	}
	mean /= max(float64(len(x)), 1)
	for _, v := range x {
		std += float64((v - mean) * (v - mean))
	}
	return mean, math.Sqrt(std / max(float64(len(x)), 1))
}

// klDual minimises λδ + λ·log mean exp(R/λ), which is convex, by golden section
// over log λ in [1e-4, 1e4]. Without variance the minimum is at 0, and so it is where the bound does not bind: there λ is that of
// small δ, std/√(2δ).
func klDual(rewards []float64, delta float64) float64 {
	_, std := meanStd(rewards)
	if std == 0 {
		return 0
	}
	best, top := slices.Max(rewards), 0.0
	for _, r := range rewards {
		top += count(r == best)
	}
	if delta >= elementary.Log(float64(len(rewards))/top) { // all mass on the best rewards is within the bound
		return std / math.Sqrt(2*delta)
	}
	dual := func(x float64) float64 {
		lambda := elementary.Exp(x)
		return float64(lambda*delta) + optimalValue(rewards, lambda)
	}
	const golden = 0.6180339887498949
	low, high := elementary.Log(1e-4), elementary.Log(1e4)
	a, b := high-float64(golden*(high-low)), low+float64(golden*(high-low))
	fa, fb := dual(a), dual(b)
	for range 100 {
		if fa < fb {
			high, b, fb = b, a, fa
			a = high - float64(golden*(high-low))
			fa = dual(a)
		} else {
			low, a, fa = a, b, fb
			b = low + float64(golden*(high-low))
			fb = dual(b)
		}
	}
	return elementary.Exp((low + high) / 2)
}
