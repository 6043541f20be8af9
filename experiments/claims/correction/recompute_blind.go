package correction

import (
	"context"

	"driftlab/experiments/claim"
	"driftlab/experiments/stats"
	"driftlab/precision/elementary"
)

func recomputeBlind() claim.Claim {
	return claim.Claim{
		ID:        "recompute-blind",
		Title:     "Recomputed log-probs hide the engine gap",
		Statement: "Recomputing old logprobs in the trainer hides the engine gap: KL stays flat while reward falls; using rollout logprobs shows the gap but fails in its own way.",
		Source:    "VeXact, 2605.14220; verl issues 3996 and 6158.",
		Figure:    "reward 0.87 to 0.40 in 650 updates with the logged KL flat for 700",
		Threshold: "Recompute: the interval of the slope of the logged ppo_kl over updates covers 0, the slope of the true k3 between the engines is above 0 in every seed with the interval above 0. " +
			"Skew (r - 1)A of the engine ratio: opposite signs for A > 0 and A < 0 in every seed, both intervals away from 0.",
		Setup:    "GRPO on chain-base, four minibatches per rollout, learner in bf16. Natural: fp8 rollouts. Amplified: fp4-all rollouts. Skew: 1,024 responses at the first weights.",
		LeftOut:  "The fall of the reward: the headline and the collapse claims measure it.",
		Commands: []string{"simulate train headline --set rollout.numerics=fp8-w8a8 --set learner.numerics=bf16 --set learner.minibatches=4 --set steps=120"},
		Unit:     claim.Run,
		Version:  2,
		Measure:  measureBlind,
		Judge:    judgeBlind,
	}
}

func measureBlind(ctx context.Context, e *claim.Env) (*claim.Observation, error) {
	o := new(claim.Observation)
	first, err := e.Base(ctx, 0)
	if err != nil {
		return nil, err
	}
	steps := e.Pick(120, 30, 3)
	for _, d := range []struct {
		dose    claim.Dose
		rollout string
	}{{claim.Natural, "fp8-w8a8"}, {claim.Amplified, "fp4-all"}} {
		a := string(d.dose)
		for _, arm := range []struct{ name, mode, rollout string }{
			{"recompute", "decoupled", d.rollout}, {"bypass", "bypass", d.rollout}, {"equal", "decoupled", "bf16"},
		} {
			if arm.name == "equal" && d.dose == claim.Amplified {
				continue
			}
			c, err := e.Train(ctx, []string{"actor/ppo_kl", "gap/k3"}, steps, "learner.numerics=bf16", "learner.minibatches=4",
				"rollout.numerics="+arm.rollout, "correction.mode="+arm.mode)
			if err != nil {
				return nil, err
			}
			o.Set(a+" "+arm.name+" logged", c[0]...)
			o.Set(a+" "+arm.name+" true", c[1]...)
		}
		b := e.Graded(first, claim.Numerics(d.rollout), claim.Numerics("bf16"), e.Pick(128, 32, 2))
		up, down := skews(b.Advantage, claim.LogRatios(b))
		o.Set(a+" skew", up, down)
	}
	return o, nil
}

// skews are the means of (r - 1)·A over the tokens with positive and with
// negative advantage.
func skews(advantage, e []float64) (up, down float64) {
	var count [2]float64
	for n, a := range advantage {
		v := float64(elementary.Expm1(e[n]) * a)
		switch {
		case a > 0:
			up += v
			count[0]++
		case a < 0:
			down += v
			count[1]++
		}
	}
	return up / max(count[0], 1), down / max(count[1], 1)
}

func judgeBlind(j *claim.Judge) {
	for _, d := range []claim.Dose{claim.Natural, claim.Amplified} {
		a := string(d)
		j.Also(claim.Report(d, "slope of the logged ppo_kl, recompute", j.Slope(a+" recompute logged")))
		j.Primary(claim.Above(d, "slope of the true k3, recompute", j.Slope(a+" recompute true"), 0))
		j.Also(claim.Above(d, "the same, seed by seed", j.Slope(a+" recompute true"), 0))
		up, down := j.Entry(a+" skew", 0), j.Entry(a+" skew", 1)
		j.Also(claim.Above(d, "minus the product of the two skews", j.Each(func(o *claim.Observation) float64 { s := o.List(a + " skew"); return -s[0] * s[1] }), 0))
		j.Also(claim.Report(d, "skew, A > 0", up))
		j.Also(claim.Report(d, "skew, A < 0", down))
		j.Also(claim.Report(d, "logged ppo_kl over true k3, recompute", j.Each(func(o *claim.Observation) float64 {
			return stats.Average(o.List(a+" recompute logged")) / stats.Average(o.List(a+" recompute true"))
		})))
		j.Also(claim.Report(d, "logged ppo_kl over true k3, bypass", j.Each(func(o *claim.Observation) float64 {
			return stats.Average(o.List(a+" bypass logged")) / stats.Average(o.List(a+" bypass true"))
		})))
	}
	x := claim.Counting(len(j.Runs[0].List("natural recompute true")))
	j.Evidence.Picture = claim.Chart("What a log shows and what is there, fp8 rollouts", "rollout batch", "nats per token", "ppo_kl compares with the anchor of the loss: pi_old when it is recomputed, the rollout engine in bypass.", false,
		j.Arm("true k3", x, "natural recompute true"), j.Arm("logged, recompute", x, "natural recompute logged"), j.Arm("logged, bypass", x, "natural bypass logged"),
		j.Arm("logged, equal engines", x, "natural equal logged"))
}
