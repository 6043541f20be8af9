package ratio

import (
	"context"
	"math"

	"driftlab/experiments/claims/claim"
	"driftlab/experiments/measure"
	"driftlab/model"
	"driftlab/precision/elementary"
	"driftlab/results/stats"
	"driftlab/trainer/method"
	"driftlab/trainer/method/loss"
)

// factorFormats are the rollout formats of ratio-factorisation, finest first.
var factorFormats = []string{"fp32", "fp16", "bf16", "fp8-w8a8"}

func ratioFactorisation() claim.Claim {
	return claim.Claim{
		ID:    "ratio-factorisation",
		Title: "The merged ratio makes the PPO clip fire before any update",
		Statement: "log(pi/mu) splits into an engine term, fixed per rollout, and a staleness term. The undivided ratio of bf16 rollouts lies outside the clip range [0.8, 1.2] " +
			"on some of the tokens before any update has happened.",
		Source:    "Flash-RL notes; slime PR 179; RLinf PR 1534.",
		Figure:    "at lr = 0: clip fraction 0.046, mean |dlogp| 0.064; Fireworks: KL 0.013 clips about 45 % of the tokens",
		Threshold: "Tokens that the merged ratio clips at the first gradient, bf16 rollouts, clip 0.2: at least 50 among those of all models, which puts the exact interval of their share above 0.",
		Setup: "A fp32 learner; the share of tokens outside [0.8, 1.2] at the first gradient of a rollout, before any update. " +
			"Natural: chain-base on the task's prompts. Amplified: chain-base past the stop token. The fp32 rollout engine cuts its sums in four. " +
			"In bf16 8,192 responses, since previews of two models clipped 12 tokens in 8,192. Also examined: the identity engine + staleness = total to 1e-6 after three updates; the decoupled ratio and equal engines, which clip exactly nothing; " +
			"and the rank correlation of the share with the mantissa bits lost over fp32, fp16, bf16, fp8.",
		Commands: []string{"simulate train default --set rollout.numerics=bf16 --set learner.optimizer.lr=1e-12 --set correction.mode=bypass --set steps=1"},
		Declared: claim.Declaration{When: claim.Revised, Date: "2026-11-21", Verdict: claim.OnlyAmplified,
			Check: "all 7 checks in five seeds; decisive: natural, 1 - rank correlation with mantissa loss: ≤ 1e-09 in every seed, not met"},
		Unit:    claim.Model,
		Version: 3,
		Measure: measureFactor,
		Judge:   judgeFactor,
	}
}

func measureFactor(ctx context.Context, e *claim.Env) (*claim.Observation, error) {
	o := new(claim.Observation)
	shipped, err := e.Base(ctx, 192)
	if err != nil {
		return nil, err
	}
	fp32 := claim.Numerics("fp32")
	for _, d := range []claim.Level{claim.Natural, claim.Amplified} {
		var merged, clipped, tokens []float64
		for _, name := range factorFormats {
			q := claim.Probe{Params: shipped, Rollout: claim.Numerics(name), Sequences: e.Pick(1024, 192, 8), Tokens: 32, Stops: true}
			if name == "bf16" {
				q.Sequences *= 8
			}
			if name == "fp32" {
				q.Rollout = claim.SplitK(q.Rollout)
			}
			if d == claim.Amplified {
				q.Sequences, q.Tokens, q.Stops = e.Pick(256, 48, 4), 96, false
			}
			b, _ := e.Measure(q, fp32)
			share := outsideClip(claim.LogRatios(b))
			n := float64(b.Tokens())
			merged, clipped, tokens = append(merged, share), append(clipped, math.Round(float64(share*n))), append(tokens, n)
		}
		o.Set(string(d)+" merged", merged...)
		o.Set(string(d)+" clipped", clipped...)
		o.Set(string(d)+" tokens", tokens...)
	}
	identity, first, equal, err := factorUpdate(e, shipped)
	o.Set("identity", identity)
	o.Set("decoupled at the first gradient", first)
	o.Set("merged, equal engines", equal)
	return o, err
}

// outsideClip is the share of tokens whose ratio lies outside [0.8, 1.2].
func outsideClip(e []float64) float64 {
	n := 0
	for _, v := range e {
		if r := elementary.Exp(v); r < 0.8 || r > 1.2 {
			n++
		}
	}
	return float64(n) / float64(len(e))
}

// factorUpdate makes real updates on a bf16 rollout and returns the largest
// error of the factorisation after them, the clip fraction of pi/pi_old at the
// first gradient, and that of pi/mu there with equal engines.
func factorUpdate(e *claim.Env, p *model.Params) (identity, first, equal float64, err error) {
	fp32 := claim.Numerics("fp32")
	l := measure.NewLearner(p, fp32)
	defer l.Close()
	parts := claim.Minibatches(e.Graded(p, claim.Numerics("bf16"), fp32, e.Pick(8, 4, 2)), 1)
	b := parts[0]
	for round := range 3 {
		if err := l.Update(parts, method.New[loss.PPOClip](), 1e-3, 1); err != nil {
			return 0, 0, 0, err
		}
		staleness := stats.Differences(b.Now.Logp, b.Old.Logp)
		if round == 0 {
			first = outsideClip(staleness)
		}
		for n, engine := range claim.LogRatios(b) {
			identity = max(identity, math.Abs(engine+staleness[n]-(b.Now.Logp[n]-b.LogpRoll[n])))
		}
	}
	twin, fresh := e.Graded(p, fp32, fp32, 2), measure.NewLearner(p, fp32)
	defer fresh.Close()
	if err := fresh.Gradient(twin, method.New[loss.PPOClip]()); err != nil {
		return 0, 0, 0, err
	}
	return identity, first, outsideClip(stats.Differences(twin.Now.Logp, twin.LogpRoll)), nil
}

func judgeFactor(j *claim.Judge) {
	x := claim.Counting(len(factorFormats))
	for _, d := range []claim.Level{claim.Natural, claim.Amplified} {
		figure := string(d) + " merged"
		j.Primary(claim.Occurs(d, "clip fraction before any update, merged ratio, bf16", j.Entry(string(d)+" clipped", 2), j.Entry(string(d)+" tokens", 2)))
		j.Secondary(claim.AtMost(d, "1 - rank correlation with mantissa loss", j.Each(func(o *claim.Observation) float64 {
			return 1 - stats.Spearman(x, o.List(figure))
		}), 1e-9))
	}
	j.Secondary(claim.AtMost(claim.Exact, "error of engine + staleness = total", j.Column("identity"), 1e-6))
	j.Secondary(claim.Zero(claim.Exact, "clip fraction before any update, decoupled", j.Column("decoupled at the first gradient")))
	j.Secondary(claim.Zero(claim.Exact, "clip fraction before any update, merged, equal engines", j.Column("merged, equal engines")))
	j.Evidence.Picture = j.Bars("Tokens that the merged ratio clips before any update", "share of tokens outside [0.8, 1.2]", true, factorFormats,
		j.Listed("task's prompts", "natural merged"), j.Listed("past the stop token", "amplified merged"))
	j.Evidence.Table = j.NamedTable("Clip fraction before any update, merged ratio", "rollout", factorFormats, "natural merged", "amplified merged")
}
