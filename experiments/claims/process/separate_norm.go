package process

import (
	"context"
	"fmt"
	"math"
	"slices"

	"driftlab/experiments/claims/claim"
	"driftlab/experiments/measure"
	"driftlab/precision/elementary"
	"driftlab/results/stats"
	"driftlab/trainer"
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/loss"
	"driftlab/trainer/recipe"
)

// normScales are the sizes of a step's score; normJudged is that of the source.
var normScales = []float64{1e-3, 1e-2, 0.03, 0.1, 0.3, 1}

const normJudged = 2

// normalisations are the two estimators.
var normalisations = []struct{ name, set string }{
	{"joint", "advantage={name: process, joint: true}"},
	{"separate", "advantage=process"},
}

// normRuns are the training arms: steps scored by validity, or by a coin.
var normRuns = []struct{ name, scores, set string }{
	{"joint", "none", normalisations[0].set},
	{"separate", "none", normalisations[1].set},
	{"steps alone", "none", "advantage={name: process, outcome_weight: 0}"},
	{"joint, random", "random", normalisations[0].set},
	{"separate, random", "random", normalisations[1].set},
}

func separateNorm() claim.Claim {
	return claim.Claim{
		ID:        "separate-norm",
		Title:     "Step scores of 0.03 next to an outcome of 0 or 1 keep their share of the gradient if they are normalised separately",
		Statement: "Normalised apart from the outcome, step scores of 0.03 have at least 2.5 times the share of the gradient that they have in one normalisation with it.",
		Source:    "A practitioner's account of process rewards in verl; 2601.05242.",
		Figure:    "outcome 0 or 1, process scores of about 0.03: normalised together, the latter are negligible",
		Threshold: "|g of the scores| / (|g of the scores| + |g of the outcome|), separate over joint at scores of 0.03: t-interval of the log-ratio above 2.5 (25 % over 10 %). " +
			"Reported: the share under joint below 0.1 and under separate above 0.25; the pass rate after training, separate minus joint, exact sign-flip test, and the same with scores by a coin.",
		Setup: "Frozen weights: 24 prompts of 3 to 8 operations, 8 responses each, every value scored by whether it follows from the one before. The gradient of the scores is that of the advantages minus those " +
			"with every score at its group's mean. Training: 60 steps on programs of 5 to 10 operations at learning rate 1e-3; mean pass rate of three evaluations on 128 held-out prompts.",
		Commands: []string{"simulate train headline --set 'reward=[exact, process]' --set 'advantage={name: process, joint: true}' --set task.difficulty=[5,10]"},
		Declared: claim.BeforeResults,
		Unit:     claim.Run, Replications: 10,
		Version: 1,
		Measure: measureNorm,
		Judge:   judgeNorm,
	}
}

func measureNorm(ctx context.Context, e *claim.Env) (*claim.Observation, error) {
	o := new(claim.Observation)
	m, err := enter(ctx, e, e.Pick(24, 8, 2))
	if err != nil {
		return nil, err
	}
	defer m.engine.Close()
	l := measure.NewLearner(m.params, m.recipe.Learner.Numerics)
	defer l.Close()
	for _, n := range normalisations {
		var shares, drifts []float64
		for _, scale := range normScales {
			share, drift, err := m.normShare(l, n.set, scale)
			if err != nil {
				return nil, err
			}
			shares, drifts = append(shares, share), append(drifts, drift)
		}
		o.Set("share, "+n.name, shares...)
		o.Set("drift, "+n.name, drifts...)
	}
	var rate []float64
	steps := e.Pick(60, 12, 3)
	for _, run := range normRuns {
		c, err := e.Train(ctx, []string{"val/learner/pass_rate"}, steps, "task.difficulty=[5, 10]", claim.SetLR("1e-3"), "eval={every: "+evaluated(steps)+", prompts: 128}",
			"reward=[exact, {name: process, placebo: "+run.scores+"}]", run.set)
		if err != nil {
			return nil, err
		}
		rate = append(rate, stats.Average(c[0][len(c[0])-3:]))
	}
	o.Set("pass rate", rate...)
	return o, nil
}

// normShare is the part of the gradient that scores of a size have under an estimator,
// and what a step that is as good as all others still adds to an advantage.
func (m *room) normShare(l *measure.Learner, estimator string, scale float64) (share, drift float64, err error) {
	r, err := recipe.Load("default", programs, fmt.Sprintf("reward=[exact, {name: process, coef: %v}]", scale), estimator)
	if err != nil {
		return 0, 0, err
	}
	b := m.batch
	if _, err := trainer.Grader(r)(b, m.prompts); err != nil {
		return 0, 0, err
	}
	advantages := func(set string) ([]float64, error) {
		r, err := recipe.Load("default", programs, "reward=[exact, process]", estimator, set)
		if err != nil {
			return nil, err
		}
		err = r.Advantage.New().Estimate(b)
		return slices.Clone(b.Advantage), err
	}
	all, err := advantages("advantage.process_weight=1")
	if err != nil {
		return 0, 0, err
	}
	outcome, err := advantages("advantage.process_weight=0")
	if err != nil {
		return 0, 0, err
	}
	scores := slices.Clone(b.StepReward)
	flatten(b)
	flat, err := advantages("advantage.process_weight=1")
	if err != nil {
		return 0, 0, err
	}
	b.StepReward = scores
	norm := func(a []float64) float64 {
		b.Advantage = a
		if err == nil {
			err = l.Gradient(b, method.New[loss.PPOClip]())
		}
		return math.Sqrt(dot32(l.Grad()))
	}
	own, others := norm(stats.Differences(all, flat)), norm(outcome)
	from, _ := b.Span(0)
	return own / (own + others), flat[from] - outcome[from], err
}

// flatten puts every score at the mean of its group.
func flatten(b *batch.Batch) {
	var groups batch.Groups
	groups.Find(b.Group)
	for k := range groups.Len() {
		var scored []int
		sum := 0.0
		for _, i := range groups.Rows(k) {
			from, to := b.Span(i)
			for n := from; n < to; n++ {
				if b.StepReward[n] != 0 {
					scored, sum = append(scored, n), sum+b.StepReward[n]
				}
			}
		}
		for _, n := range scored {
			b.StepReward[n] = sum / float64(len(scored))
		}
	}
}

// dot32 is the square of the norm.
func dot32(x []float32) (sum float64) {
	for _, v := range x {
		sum += float64(float64(v) * float64(v))
	}
	return sum
}

func judgeNorm(j *claim.Judge) {
	joint, separate := j.Entry("share, joint", normJudged), j.Entry("share, separate", normJudged)
	j.Primary(claim.Ratio(claim.Natural, "share of the gradient at 0.03, separate over joint", separate, joint, 2.5))
	j.Secondary(claim.Below(claim.Natural, "share of the gradient at 0.03, joint", joint, 0.1))
	j.Secondary(claim.Above(claim.Natural, "share of the gradient at 0.03, separate", separate, 0.25))
	j.Secondary(claim.Better(claim.Natural, "pass rate, separate minus joint", stats.Differences(j.Entry("pass rate", 1), j.Entry("pass rate", 0))))
	j.Secondary(claim.Better(claim.Natural, "pass rate, separate minus joint, scores by a coin", stats.Differences(j.Entry("pass rate", 4), j.Entry("pass rate", 3))))
	j.Note("One normalisation also moves the scores' mean: at 0.03 a first token of a response whose steps are all as good as the others' has an advantage of %.2f for having them still to come, and of %.2f if they are normalised separately.",
		stats.Average(j.Entry("drift, joint", normJudged)), stats.Average(j.Entry("drift, separate", normJudged)))
	var x []float64
	for _, s := range normScales {
		x = append(x, elementary.Log(s)/math.Ln10)
	}
	j.Evidence.Picture = claim.Chart("Share of the gradient that step scores have", "size of a score, as a power of ten", "share", "", false,
		j.Arm("normalised together", x, "share, joint"), j.Arm("normalised separately", x, "share, separate"))
	var names []string
	for _, run := range normRuns {
		names = append(names, run.name)
	}
	j.Evidence.Table = j.NamedTable("After training", "normalisation", names, "pass rate")
}
