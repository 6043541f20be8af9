package dynamic

import (
	"context"
	"fmt"
	"math"

	"driftlab/experiments/claims/claim"
	"driftlab/precision/elementary"
	"driftlab/results/figure"
	"driftlab/results/stats"
)

var lawRates = []string{"3e-4", "6e-4"}

// heldRates is where the arms run that decide nothing.
var heldRates = lawRates[1:]

const (
	lawPlain, lawCov, lawRandom = "GRPO", "kl_cov", "as many at random"
	lawChain                    = "GRPO, no idle tokens"
	lawReward, lawEntropy       = "critic/score/mean", "actor/entropy"
)

// lawBlock is how many batches one point of the curve averages.
const lawBlock = 10

// lawArms are the runs, with their learning rates.
func lawArms(filler string) []struct {
	claim.Arm
	rates []string
} {
	idle := []string{"checkpoint=" + filler, "task={name: filler, difficulty: [3, 6]}", "rollout.max_tokens=64"}
	return []struct {
		claim.Arm
		rates []string
	}{
		{claim.Arm{Name: lawPlain, Set: idle}, lawRates},
		{claim.Arm{Name: lawCov, Set: append([]string{"loss={name: kl_cov, share: 2e-3, beta: 1}"}, idle...)}, heldRates},
		{claim.Arm{Name: lawRandom, Set: append([]string{"loss={name: kl_cov, share: 2e-3, beta: 1, random: true}"}, idle...)}, heldRates},
		{claim.Arm{Name: lawChain, Set: nil}, heldRates},
	}
}

func entropyLaw() claim.Claim {
	return claim.Claim{
		ID:        "entropy-law",
		Title:     "On the filler task, where idle tokens keep the entropy high, reward is a falling straight line in exp(entropy) (learning rates 3e-4 and 6e-4)",
		Statement: "Along a GRPO run that starts at 1.8 nats a token, mean reward follows -a·exp(H) + b, H the mean entropy, with R² above 0.9.",
		Source:    "2505.22617; clip-cov and kl-cov in verl.",
		Figure:    "first 200 updates: 73 % of the entropy for 76 % of the gain; +2.0 % (7B) and +6.4 % (32B) with the few tokens of highest covariance held back; kl-cov keeps above ten times the entropy",
		Threshold: "R² of the fit over blocks of ten batches, 0 where reward rises with the entropy, mean over two learning rates: interval above 0.9. " +
			"Also checked: the R² of lines in H and in log H; b - a of the first third's fit within 15 % of the whole's; entropy in the second half, kl_cov over GRPO, above 2, and over as many tokens at random above 1; R² on a task without idle tokens, which starts at 0.25 nats.",
		Setup: "GRPO on filler-base (vocabulary 64, 32 of them idle tokens; some 21 tokens a response), equal engines, 120 batches of 8 prompts with 8 responses, four updates each, learning rates 3e-4 and 6e-4; what decides nothing at 6e-4 alone. " +
			"kl_cov holds back 0.2 % of the tokens of a minibatch, one of about 330, with the authors' coefficient of 1; the control holds back as many at random. The task without idle tokens is chain-base. Every replication has a warm start of its own for either task. " +
			"Pilot runs with the shipped weights on seed 9001: at 6e-4 reward rises from 0.64 to 0.95 while entropy falls from 1.8 to 1.4 nats, R² 0.49; with kl_cov R² 0.02; at 3e-4 0.41. After that the arms that decide nothing were left with one rate to save compute, the chain task was added, and the title names the idle tokens. ",
		LeftOut:  "clip_cov, whose published bounds on the covariance are never met here; an entropy bonus; coefficients across model sizes. Ten replications to save compute: five runs each, and a warm start.",
		Commands: []string{`simulate train headline --set steps=120 --set checkpoint=filler-base --set task=filler --set rollout.max_tokens=64 --set learner.minibatches=4 --set "loss={name: kl_cov, share: 2e-3}"`},
		Declared: claim.BeforeResults,
		Unit:     claim.Run, Replications: claim.LeastReplications,
		Version: 1,
		Measure: measureLaw,
		Judge:   judgeLaw,
	}
}

func measureLaw(ctx context.Context, e *claim.Env) (*claim.Observation, error) {
	o := new(claim.Observation)
	warm := "filler-base"
	if e.Size == claim.Full {
		var err error
		if warm, err = e.Warm(ctx, warm); err != nil {
			return nil, err
		}
	}
	for _, a := range lawArms(warm) {
		for _, rate := range a.rates {
			c, err := e.Train(ctx, []string{lawReward, lawEntropy}, e.Pick(120, 60, 10),
				append([]string{fmt.Sprintf("rollout.prompts=%d", e.Pick(8, 8, 4)), "learner.minibatches=4", claim.SetLR(rate)}, a.Set...)...)
			if err != nil {
				return nil, err
			}
			name := claim.AtLR(a.Name, rate)
			o.Set(claim.ArmColumn(name, lawReward), claim.Blocks(c[0], lawBlock)...)
			o.Set(claim.ArmColumn(name, lawEntropy), claim.Blocks(c[1], lawBlock)...)
		}
	}
	return o, nil
}

// curve is an arm's entropy and reward, block by block.
func curve(o *claim.Observation, name string) (entropy, reward []float64) {
	return o.List(claim.ArmColumn(name, lawEntropy)), o.List(claim.ArmColumn(name, lawReward))
}

// explained is the R² of a straight line of y over x, 0 where it rises.
func explained(x, y []float64) float64 {
	if len(x) < 3 || stats.Slope(x, y) >= 0 {
		return 0
	}
	return stats.RSquared(x, y)
}

// ceiling is b - a: what a fit of y over exp(x) says of a policy without entropy.
func ceiling(x, y []float64) float64 {
	if len(x) < 3 {
		return math.NaN()
	}
	b, slope := stats.Regress(y, stats.Each(x, elementary.Exp))
	return b + slope[0]
}

func judgeLaw(j *claim.Judge) {
	d := claim.Natural
	fit := func(rates []string, arm string, of func(float64) float64) []float64 {
		return j.OverRates(rates, arm, func(o *claim.Observation, name string) float64 {
			h, r := curve(o, name)
			return explained(stats.Each(h, of), r)
		})
	}
	j.PrimaryOver(lawRates, func(rates []string) claim.Check {
		return claim.Above(d, "R² of reward on exp(H)", fit(rates, lawPlain, elementary.Exp), 0.9)
	})
	for _, rate := range lawRates {
		j.Secondary(claim.Report(d, "R² of reward on exp(H), lr "+rate, fit([]string{rate}, lawPlain, elementary.Exp)))
	}
	j.Secondary(claim.Report(d, "R² of reward on H", fit(lawRates, lawPlain, func(h float64) float64 { return h })))
	j.Secondary(claim.Report(d, "R² of reward on log H", fit(lawRates, lawPlain, elementary.Log)))
	j.Secondary(claim.Within(d, "b - a of the first third's fit over the whole's", j.OverRates(lawRates, lawPlain, func(o *claim.Observation, name string) float64 {
		h, r := curve(o, name)
		third := len(h) / 3
		return ceiling(h[:third], r[:third]) / ceiling(h, r)
	}), 0.85, 1.15))
	half := func(arm string, of func(entropy, reward []float64) []float64) []float64 {
		return j.OverRates(heldRates, arm, func(o *claim.Observation, name string) float64 { return claim.Late(of(curve(o, name))) })
	}
	entropy := func(arm string) []float64 { return half(arm, func(h, _ []float64) []float64 { return h }) }
	reward := func(arm string) []float64 { return half(arm, func(_, r []float64) []float64 { return r }) }
	j.Secondary(claim.Report(d, "entropy of the first block, nats", j.OverRates(lawRates, lawPlain, func(o *claim.Observation, name string) float64 { h, _ := curve(o, name); return h[0] })))
	j.Secondary(claim.Report(d, "R² of reward on exp(H), no idle tokens", fit(heldRates, lawChain, elementary.Exp)))
	j.Secondary(claim.Ratio(d, "entropy in the second half, kl_cov over GRPO", entropy(lawCov), entropy(lawPlain), 2))
	j.Secondary(claim.Ratio(d, "entropy in the second half, kl_cov over as many at random", entropy(lawCov), entropy(lawRandom), 1))
	j.Secondary(claim.Better(d, "reward in the second half, kl_cov minus GRPO", stats.Differences(reward(lawCov), reward(lawPlain))))
	j.Secondary(claim.Better(d, "reward in the second half, kl_cov minus as many at random", stats.Differences(reward(lawCov), reward(lawRandom))))
	c := claim.Chart("Reward against exp(entropy), block by block", "exp(mean entropy)", "mean reward", "", false)
	for _, rate := range lawRates {
		a := figure.Series{Name: "GRPO, lr " + rate}
		for i, o := range j.Runs {
			h, r := curve(o, claim.AtLR(lawPlain, rate))
			a.Seeds = append(a.Seeds, figure.Series{Name: fmt.Sprintf("seed %d", j.Seeds[i]), X: stats.Each(h, elementary.Exp), Y: r})
		}
		c.Series = append(c.Series, a)
	}
	j.Evidence.Picture = c
}
