package dynamic

import (
	"context"
	"fmt"
	"math"

	"driftlab/experiments/claims/claim"
	"driftlab/experiments/measure"
	"driftlab/results/figure"
	"driftlab/results/stats"
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/correction"
	"driftlab/trainer/method/loss"
	"driftlab/trainer/method/masked"
)

var sideRates = []string{"5e-4", "7e-4"}

const (
	sideLag   = 16
	sideShare = 0.005
)

const (
	sideNone, sideNegative, sidePositive = "no mask", "negative tail", "positive tail"
	sideRandom, sideRatio                = "as many at random", "negative tail, by log-ratio"
)

// sideMasks are the masks but for none, in the order of the arms.
var sideMasks = []struct {
	name string
	mask correction.Masking
}{
	{sideNegative, &correction.TailMask{Share: sideShare, Signs: correction.Negative, By: "tv"}},
	{sidePositive, &correction.TailMask{Share: sideShare, Signs: correction.Positive, By: "tv"}},
	{sideRandom, &correction.RandomMask{Rate: sideShare}},
	{sideRatio, &correction.TailMask{Share: sideShare, Signs: correction.Negative, By: "log_ratio"}},
}

// sideArms are the runs.
func sideArms() []claim.Arm {
	lag := fmt.Sprintf("schedule={name: lag, k: %d}", sideLag)
	mask := func(m string) string { return "correction={masks: [{" + m + "}], denominator: pre}" }
	return []claim.Arm{
		{Name: sideNone, Set: []string{lag}},
		{Name: sideNegative, Set: []string{lag, mask("name: tail_mask, share: 0.005, signs: negative")}},
		{Name: sidePositive, Set: []string{lag, mask("name: tail_mask, share: 0.005, signs: positive")}},
		{Name: sideRandom, Set: []string{lag, mask("name: random_mask, rate: 0.005")}},
		{Name: sideRatio, Set: []string{lag, mask("name: tail_mask, share: 0.005, signs: negative, by: log_ratio")}},
	}
}

func negativeSide() claim.Claim {
	return claim.Claim{
		ID:        "negative-side",
		Title:     "On the chain task, at a lag of 16 updates, masking the farthest 0.5 % of tokens helps on the negative side alone (learning rates 5e-4 and 7e-4)",
		Statement: "Runs on rollouts with a staleness of 16 updates that mask the 0.5 % of tokens whose probability has moved farthest end higher where these are tokens of a negative advantage than where they are of a positive one or drawn at random.",
		Source:    "DPPO, 2602.04879; DeepSeek-V3.2, 2512.02556; mu-GRPO, 2605.17570; INTELLECT-3, 2512.16144.",
		Figure:    "DPPO: a tiny share of negative updates explains most failures (0.5 % is quoted, unverified). INTELLECT-3 drops a response with a token ratio below 1e-5",
		Threshold: "Pass rate, negative tail masked minus the better of positive tail and random tokens, run by run, mean over two learning rates: above 0, sign-flip p < 0.05. " +
			"Also checked: at frozen weights, the norm of the gradient of the negative tail at least 5 % of that of all tokens.",
		Setup: "GRPO on chain-base, equal engines, rollouts by the weights of 16 updates ago, 138 updates of 8 prompts with 8 responses, learning rates 5e-4 and 7e-4. Of every batch a mask drops the 0.5 % of its tokens (three of about 900) whose probability differs most between the rollout weights and the current ones, " +
			"among those of one sign of the advantage; one arm ranks by the log-ratio instead. Masked tokens stay in the denominators. The better of two controls is taken in every run, which favours them. " + claim.PassRateNote +
			"The gradients are taken 16 updates on from the rollouts, at lr 7e-4, over 16 prompts with 8 responses. " +
			"Pilot runs with the shipped weights on seed 9001 at 7e-4, 150 updates: at the end no mask passes 0.23, the negative tail masked 0.90, random tokens 0.06; and one replication of seed 9001. The runs were cut from 150 updates to save compute, nothing else was changed.",
		LeftOut:  "Vetoes of whole responses by a token ratio; a lag of 8; tails of other sizes. Ten replications to save compute: ten runs each.",
		Commands: []string{`simulate train headline --set steps=138 --set "schedule={name: lag, k: 16}" --set learner.optimizer.lr=7e-4 --set "correction={masks: [{name: tail_mask, share: 0.005, signs: negative}], denominator: pre}"`},
		Declared: claim.BeforeResults,
		Unit:     claim.Run, Replications: claim.LeastReplications,
		Version: 1,
		Measure: measureSide,
		Judge:   judgeSide,
	}
}

func measureSide(ctx context.Context, e *claim.Env) (*claim.Observation, error) {
	o := new(claim.Observation)
	if err := e.TrainArms(ctx, o, claim.Training{Steps: []int{138, 60, 6}, Rates: sideRates, Columns: []string{"correction/masked_fraction"}, Arms: sideArms()}); err != nil {
		return nil, err
	}
	first, err := e.Base(ctx, 0)
	if err != nil {
		return nil, err
	}
	fp32 := claim.Numerics("fp32")
	b := e.Graded(first, fp32, fp32, e.Pick(16, 8, 2))
	_, later, err := e.Trained(ctx, nil, e.Pick(sideLag, sideLag, 2), claim.SetLR(sideRates[len(sideRates)-1]))
	if err != nil {
		return nil, err
	}
	measure.Score(b, later, measure.Scoring{Numerics: fp32})
	b.Now.Logp, b.Anchor = b.Old.Logp, b.Old.Logp
	l := measure.NewLearner(later, fp32)
	defer l.Close()
	whole, err := gradientNorm(l, b, b.Mask)
	if err != nil {
		return nil, err
	}
	for _, m := range sideMasks {
		p := correction.Pipeline{Masks: []correction.Masking{m.mask}, Seed: e.Seed}
		for _, stage := range []correction.Stage{correction.AtBatch, correction.AtStep} {
			if err := p.Apply(b, stage); err != nil {
				return nil, err
			}
		}
		tail := make([]bool, b.Tokens())
		for n := range tail {
			gated := len(b.Gate) > 0 && !b.Gate[n] // by a mask of every gradient step
			tail[n] = b.Mask[n] && (gated || !b.LossMask[n])
		}
		norm, err := gradientNorm(l, b, tail)
		if err != nil {
			return nil, err
		}
		o.Set(sideFigure(m.name), norm/whole, float64(masked.Count(tail))/float64(masked.Count(b.Mask)))
	}
	return o, nil
}

func sideFigure(mask string) string {
	return "gradient of the " + mask + " and its share of the tokens"
}

// gradientNorm is the norm of the summed policy gradient of the tokens of a mask.
func gradientNorm(l *measure.Learner, b *batch.Batch, tokens []bool) (float64, error) {
	b.LossMask, b.Gate = tokens, nil
	objective := method.New[loss.ImportanceSampling]()
	objective.Aggregation.Mode = "token-sum"
	if err := l.Gradient(b, objective); err != nil {
		return 0, err
	}
	return norm(l.Grad()), nil
}

// norm is that of a vector.
func norm(x []float32) float64 {
	sum := 0.0
	for _, v := range x {
		sum += float64(float64(v) * float64(v))
	}
	return math.Sqrt(sum)
}

func judgeSide(j *claim.Judge) {
	d := claim.Natural
	gain := func(rates []string) []float64 {
		negative, positive, random := j.Late(rates, sideNegative), j.Late(rates, sidePositive), j.Late(rates, sideRandom)
		out := make([]float64, len(negative))
		for i := range out {
			out[i] = negative[i] - max(positive[i], random[i])
		}
		return out
	}
	j.PrimaryOver(sideRates, func(rates []string) claim.Check {
		return claim.Better(d, "pass rate, negative tail masked minus the better of positive tail and random tokens", gain(rates))
	})
	j.Secondary(claim.Above(d, "norm of the gradient of the negative tail over that of all tokens", j.Entry(sideFigure(sideNegative), 0), 0.05))
	j.Secondary(claim.Above(d, "norm of the gradient of the negative tail by log-ratio over that of all tokens", j.Entry(sideFigure(sideRatio), 0), 0.05))
	for _, m := range []string{sidePositive, sideRandom} {
		j.Secondary(claim.Report(d, "norm of the gradient, "+m+" over all tokens", j.Entry(sideFigure(m), 0)))
	}
	for _, m := range sideMasks {
		j.Secondary(claim.Report(d, "pass rate, "+m.name+" masked minus no mask", stats.Differences(j.Late(sideRates, m.name), j.Late(sideRates, sideNone))))
		j.Secondary(claim.FewerCollapses(d, "runs that collapse, "+m.name+" masked against no mask", j.Collapses(sideRates, m.name), j.Collapses(sideRates, sideNone)))
	}
	for _, rate := range sideRates {
		j.Secondary(claim.Report(d, "pass rate, negative tail masked minus the better control, lr "+rate, gain([]string{rate})))
	}
	j.PassRateBars("Pass rate at a lag of 16 updates, by what is masked", sideRates, names(sideArms()))
	j.Evidence.Table = sideTable(j)
}

// sideTable lists what each mask dropped, in the runs and at frozen weights.
func sideTable(j *claim.Judge) *figure.Figure {
	t := &figure.Figure{Kind: figure.Table, Title: "What a mask drops", Columns: []figure.Column{{Name: "mask"}}, Note: "Means over runs. The first column is of the runs, the others of one batch at frozen weights."}
	for _, c := range []string{"share of tokens, runs", "share of tokens", "share of the gradient's norm"} {
		t.Columns = append(t.Columns, figure.Column{Name: c, Align: figure.Right})
	}
	for _, m := range sideMasks {
		t.Add(figure.Word(m.name), figure.Number(stats.Average(j.Average(sideRates, m.name, "correction/masked_fraction")), 3),
			figure.Number(stats.Average(j.Entry(sideFigure(m.name), 1)), 3), figure.Number(stats.Average(j.Entry(sideFigure(m.name), 0)), 3))
	}
	return t
}

// names are those of arms.
func names(arms []claim.Arm) []string {
	var out []string
	for _, a := range arms {
		out = append(out, a.Name)
	}
	return out
}
