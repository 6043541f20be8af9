package measurements

import (
	"slices"

	"driftlab/experiments/measure"
	"driftlab/experiments/study/claims/claim"
	"driftlab/precision/elementary"
	"driftlab/results/stats"
	"driftlab/trainer/method"
	"driftlab/trainer/method/advantage"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/correction"
	"driftlab/trainer/method/loss"
	"driftlab/trainer/method/masked"
	"driftlab/trainer/recipe"
)

// tailGradients is the norm of the policy gradient of the tokens that masks drop over that of all
// tokens, on a batch of chain-base some updates later.
type tailGradients struct {
	Groups, Updates sizes
	Rate            string
	// Masks are the masks of a recipe's correction, by name.
	Masks ordered
}

// Measure records the norm's share, and that of the tokens, of each mask.
func (m *tailGradients) Measure(e *claim.Env, o *claim.Observation) {
	first := e.Base(0)
	fp32 := numerics("fp32")
	b := graded(e, first, fp32, fp32, m.Groups.of(e))
	_, later := e.Trained(nil, m.Updates.of(e), claim.SetLR(m.Rate))
	measure.Score(b, later, measure.Scoring{Numerics: fp32})
	b.Now.Logp, b.Anchor = b.Old.Logp, b.Old.Logp
	l := measure.NewLearner(later, fp32)
	defer l.Close()
	whole := gradientNorm(l, b, b.Mask)
	for _, mask := range m.Masks {
		r := claim.Must(recipe.Load("headline", "correction.masks=["+mask.value+"]"))
		correct(b, &correction.Pipeline{Masks: r.Correction.Pipeline().Masks, Seed: e.Seed})
		tail := make([]bool, b.Tokens())
		for n := range tail {
			gated := len(b.Gate) > 0 && !b.Gate[n] // by a mask of every gradient step
			tail[n] = b.Mask[n] && (gated || !b.LossMask[n])
		}
		norm := gradientNorm(l, b, tail)
		o.Set("gradient of the "+mask.name+" and its share of the tokens", norm/whole, float64(masked.Count(tail))/float64(masked.Count(b.Mask)))
	}
}

// gradientNorm is the norm of the summed policy gradient of the tokens of a mask.
func gradientNorm(l *measure.Learner, b *batch.Batch, tokens []bool) float64 {
	b.LossMask, b.Gate = tokens, nil
	objective := method.New[loss.ImportanceSampling]()
	objective.Aggregation.Mode = "token-sum"
	claim.StopOn(l.Gradient(b, objective))
	return norm(doubles(l.Grad()))
}

// baselineVariances is the trace of the variance of the gradient of one group of responses given
// its prompt, by advantage estimator (OTB, 2602.07078), on chain-base's graded groups of eight,
// halved: each prompt has two groups.
type baselineVariances struct {
	Groups sizes
	// Estimators are names of advantages; Unbiased is that to whose scale they are compared.
	Estimators []string
	Unbiased   string
}

// baselineGroup is the size of the small groups.
const baselineGroup = 4

// Measure records the variance of each estimator, as it is and at equal scale.
func (m *baselineVariances) Measure(e *claim.Env, o *claim.Observation) {
	p := e.Base(0)
	fp32 := numerics("fp32")
	b := graded(e, p, fp32, fp32, m.Groups.of(e))
	halve(b)
	l := measure.NewLearner(p, fp32)
	defer l.Close()
	plain := groupGradients(l, b, m.Unbiased)
	unbiased := meanVector(plain)
	for _, name := range m.Estimators {
		g := groupGradients(l, b, name)
		scale := stats.Dot(meanVector(g), unbiased) / stats.Dot(unbiased, unbiased)
		o.Set("variance of the gradient, "+name, pairVariance(g), pairVariance(g)/float64(scale*scale))
	}
}

// halve makes two groups of each of a batch's groups of eight, and completes what
// the optimal baseline reads.
func halve(b *batch.Batch) {
	b.TokenReward = make([]float64, b.Tokens())
	b.Old.SumSquares = make([]float64, b.Tokens())
	for i := range b.Len() {
		b.Group[i] = i / baselineGroup
		from, to := b.Span(i)
		b.TokenReward[to-1] = b.Reward[i]
		for n := from; n < to; n++ {
			for _, logp := range b.Old.Dist[n*b.Vocab : (n+1)*b.Vocab] {
				b.Old.SumSquares[n] += elementary.Exp(2 * float64(logp))
			}
		}
	}
}

// groupGradients are the summed policy gradients of the groups, one after another,
// with the advantages of an estimator.
func groupGradients(l *measure.Learner, b *batch.Batch, estimator string) [][]float64 {
	found := claim.Must(advantage.Registry.Lookup(estimator))
	method := found.New()
	if g, ok := method.(*advantage.GRPO); ok {
		g.Std = false
	}
	claim.StopOn(method.Estimate(b))
	var list [][]float64
	for from := 0; from < b.Len(); from += baselineGroup {
		var rows []int
		for i := range baselineGroup {
			rows = append(rows, from+i)
		}
		part := new(batch.Batch)
		b.Select(part, rows)
		part.Anchor = part.Old.Logp
		gradientNorm(l, part, part.Mask)
		list = append(list, doubles(l.Grad()))
	}
	return list
}

// pairVariance is the trace of the variance given the prompt: half of the squared
// distance between the two groups of each, averaged.
func pairVariance(g [][]float64) float64 {
	sum := 0.0
	for pair := range slices.Chunk(g, 2) {
		d := stats.Differences(pair[0], pair[1])
		sum += float64(stats.Dot(d, d) / 2)
	}
	return sum / float64(len(g)/2)
}

func meanVector(list [][]float64) []float64 {
	out := make([]float64, len(list[0]))
	for _, g := range list {
		for i, v := range g {
			out[i] += float64(v / float64(len(list)))
		}
	}
	return out
}
