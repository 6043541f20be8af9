package golden

import (
	"math"

	"driftlab/trainer/method/correction"
	"driftlab/trainer/method/loss"
)

// rhoPipeline is open-instruct's correction of old against the rollout policy. A bound of 0 is off.
func rhoPipeline(p Values) *correction.Pipeline {
	orInf := func(key string) float64 {
		if bound := p.Float(key); bound > 0 {
			return bound
		}
		return math.Inf(1)
	}
	low, high := p.Float("rho_mask_lower_bound"), orInf("rho_mask_upper_bound")
	floor, limit := p.Float("rho_clamp_lower_bound"), orInf("rho_clamp_upper_bound")
	c := &correction.Pipeline{Denominator: correction.Pre, Clamp: 10, Weights: &correction.TokenTIS{Floor: floor, Cap: limit}}
	var mask correction.Masking = &correction.TokenMask{Low: low, High: high}
	if p.Bool("rho_mask_sequence_level") {
		c.Weights, mask = &correction.GeometricTIS{Floor: floor, Cap: limit}, &correction.Geometric{Low: low, High: high}
	}
	if p.Bool("rho_mask_tv_divergence") {
		mask = &correction.TVDivergence{Low: low, High: high}
	}
	c.Masks = []correction.Masking{mask}
	return c
}

func matchRho(c *Case, k *Check) {
	p, b := c.Params, paperBatch(c)
	weights := make([]float64, b.Tokens())
	for n := range weights {
		weights[n] = 1
	}
	if p.Bool("use_rho_correction") {
		pipeline := rhoPipeline(p)
		apply(k, pipeline, b)
		dropped, sum, tokens := 0.0, 0.0, 0.0
		for n, m := range b.Mask {
			if weights[n] = 0; m {
				tokens++
				if b.Gate[n] {
					weights[n] = b.Weight[n]
				}
				dropped += count(!b.Gate[n])
				sum += weights[n]
			}
		}
		k.Scalar("val/rho_drop_frac", dropped/tokens)
		k.Scalar("val/rho_weight", sum/tokens)
	}
	k.Vector("weights", weights)
	agg := loss.Aggregation{Pre: true}
	var l loss.Loss = &loss.PPOClip{EpsLow: p.Float("clip_lower"), EpsHigh: p.Float("clip_higher"), Aggregation: agg}
	if p.String("loss_fn") == "cispo" {
		l = &loss.CISPO{Cap: 1 + p.Float("clip_higher"), Level: "token", Anchor: loss.Old, Aggregation: agg}
	}
	out := evaluate(k, l, b)
	if beta := p.Float("beta"); beta != 0 {
		kl := klTerm(loss.K3, beta, loss.KLBounds{Log: 40}, agg)
		k.OK(kl.AddLoss(out, b))
	}
	valueAndGradient(k, out)
	// The peer multiplies both branches by the weight before it compares them: dropped tokens are not counted.
	clips, counted := 0.0, 0.0
	ppo, _ := clipMasks(k, b, b.Active(), b.Anchor, p.Float("clip_lower"), p.Float("clip_higher"), 0)
	for n, m := range b.Mask {
		counted += count(m)
		above := p.String("loss_fn") == "cispo" && b.Now.Logp[n]-b.Anchor[n] > math.Log(1+p.Float("clip_higher"))
		clips += count(m && weights[n] > 0 && (above || ppo[n] && p.String("loss_fn") != "cispo"))
	}
	k.Scalar("clipfrac", clips/counted)
}
