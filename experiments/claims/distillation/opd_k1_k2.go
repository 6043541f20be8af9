package distillation

import (
	"context"
	"math"

	"driftlab/experiments/claims/claim"
	"driftlab/experiments/measure"
	"driftlab/results/stats"
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/loss"
	"driftlab/trainer/method/masked"
)

// gapBins are the tokens of opd-k1-k2 by |log p - log p_teacher|; the last but one is
// judged, the last is all of them.
var gapBins = []struct {
	name      string
	from, end float64
}{
	{"below 0.5", 0, 0.5}, {"0.5 to 1", 0.5, 1}, {"1 to 2", 1, 2}, {"2 to 3", 2, 3}, {"from 3", 3, math.Inf(1)},
	{"from 2", 2, math.Inf(1)}, {"all", 0, math.Inf(1)},
}

const (
	farBin, allBin = 5, 6
	publishedBeta  = 0.1
)

// The figures of opd-k1-k2, one value per bin, and of all tokens.
const (
	k2Norm, k1Norm, scaledNorm, pgNorm = "gradient of k2", "gradient of k1 apart", "gradient of k1 scaled", "gradient of the policy loss"
	k2Value, shareOfTokens             = "k2 per token", "share of tokens"
	alongExact                         = "cosine with the reverse KL"
	identity                           = "raw k1 against k2, relative"
	pgValue, flippedShare              = "policy loss", "share of signs turned"
)

// alongArms are those of alongExact, in order.
var alongArms = []string{"k2, and raw k1", "k1 apart", "k1 scaled", "forward KL, top 10"}

func opdK1K2() claim.Claim {
	return claim.Claim{
		ID:        "opd-k1-k2",
		Title:     "Where teacher and student differ by two nats, a k2 loss outweighs k1 as an advantage at least five times in the gradient",
		Statement: "On tokens with a gap of 2 nats or more, the gradient of coef·k2 is at least 5 times that of k1 as an advantage, normalised separately; at the natural level with the published coefficient 0.1, amplified with 1.",
		Source:    "A practitioner's account of on-policy distillation combined with reinforcement learning; KDRL, 2506.08946.",
		Figure:    "k2 is 2 to 4.5 at 2 to 3 nats, times 0.1 against a policy loss near 0.01",
		Threshold: "Norm of the gradient of coef·k2 over that of k1 as an advantage, both on the tokens with |gap| ≥ 2 and both over the same policy gradient: geometric mean over models, interval above 5. " +
			"Also checked: on tokens below 0.5 nats, with coefficient 1, inside a factor of 2; raw k1 and k2 the same gradient; the cosines with the gradient of the exact reverse KL; the loss values.",
		Setup: "A model of a warm start each, 256 of its own responses to chain prompts of 3 to 8 operations in groups of 8, fp32; a teacher of a warm start on cleaner demonstrations of 3 to 12 operations, a half wider. " +
			"The gradient of all parameters, token-mean over all tokens, of each term on the tokens of a bin alone; k1 is centred and scaled over all tokens before it is cut. Pilot runs: seed 9001, first with arms that were aggregated unlike; nothing else was changed.",
		LeftOut:  "Gaps made by hand: tokens are binned by the gap that they have. The reward of runs is opd-gate's.",
		Commands: []string{"simulate pretrain teacher-base --out teacher", "simulate train opd --set checkpoint=chain-base --set teacher=teacher --set distillation.advantage=none --set 'terms=[{name: distill_k2, coef: 0.1}]'"},
		Declared: claim.BeforeResults,
		Unit:     claim.Model,
		Version:  1,
		Measure:  measureK1K2,
		Judge:    judgeK1K2,
	}
}

// alone is a term without a policy loss.
type alone struct{ loss.Term }

func (a alone) Eval(out *loss.Grad, in *batch.Batch) error {
	out.Reset(in.Tokens())
	return a.AddLoss(out, in)
}

func measureK1K2(ctx context.Context, e *claim.Env) (*claim.Observation, error) {
	dir, err := taught(ctx, e, 1)
	if err != nil {
		return nil, err
	}
	student, err := e.Base(ctx, 0)
	if err != nil {
		return nil, err
	}
	teacher, err := claim.Loaded(dir, 0)
	if err != nil {
		return nil, err
	}
	fp32 := claim.Numerics("fp32")
	b := e.Graded(student, fp32, fp32, e.Pick(32, 32, 8))
	read := *b
	read.Old = batch.Scored{}
	measure.Score(&read, teacher, measure.Scoring{Numerics: fp32, Distributions: true})
	b.Teacher = read.Old
	l := measure.NewLearner(student, fp32)
	defer l.Close()
	return gradientsByGap(l, b)
}

// gradientsByGap takes the gradients of every arm on the tokens of every bin.
func gradientsByGap(l *measure.Learner, b *batch.Batch) (*claim.Observation, error) {
	o := new(claim.Observation)
	of := func(objective loss.Loss) (g []float64, err error) {
		if err = l.Gradient(b, objective); err == nil {
			for _, x := range l.Grad() {
				g = append(g, float64(x))
			}
		}
		return g, err
	}
	own := b.Advantage
	b.Anchor = b.Old.Logp
	policy, err := of(method.New[loss.PPOClip]())
	if err != nil {
		return nil, err
	}
	value := 0.0
	for n, m := range b.Mask {
		if m {
			value -= own[n]
		}
	}
	o.Set(pgValue, math.Abs(value)/float64(b.Tokens()))
	o.Set(pgNorm, norm(policy))

	word := make([]float64, b.Tokens())
	for n := range word {
		word[n] = b.Teacher.Logp[n] - b.Old.Logp[n]
	}
	apart := append([]float64{}, word...)
	masked.Whiten(apart, b.Mask)
	scaled := append([]float64{}, word...)
	size := math.Sqrt(stats.Dot(word, word) / float64(len(word)))
	turned := 0.0
	for n := range scaled {
		scaled[n] /= size
		if float64(word[n]*apart[n]) < 0 {
			turned++
		}
	}
	o.Set(flippedShare, turned/float64(len(word)))

	var k2s, k1s, rms, values, shares, along, same []float64
	for k, bin := range gapBins {
		b.Guided = make([]bool, b.Tokens())
		count, sum := 0.0, 0.0
		for n, w := range word {
			if gap := math.Abs(w); b.Mask[n] && gap >= bin.from && gap < bin.end {
				b.Guided[n] = true
				count, sum = count+1, sum+float64(w*w/2)
			}
		}
		asLoss, err := of(alone{&loss.DistillK2{Coef: 1}})
		if err != nil {
			return nil, err
		}
		as := func(advantage []float64) ([]float64, error) {
			b.Advantage = make([]float64, b.Tokens())
			for n, guided := range b.Guided {
				if guided {
					b.Advantage[n] = advantage[n]
				}
			}
			return of(method.New[loss.PPOClip]())
		}
		var advantages [3][]float64
		for i, a := range [3][]float64{apart, scaled, word} {
			if advantages[i], err = as(a); err != nil {
				return nil, err
			}
		}
		k2s, k1s, rms = append(k2s, norm(asLoss)), append(k1s, norm(advantages[0])), append(rms, norm(advantages[1]))
		values, shares = append(values, sum/max(count, 1)), append(shares, count/float64(b.Tokens()))
		same = append(same, relative(advantages[2], asLoss))
		if k == allBin {
			exact, err := of(alone{&loss.GKD{Coef: 1, Direction: "reverse"}})
			if err != nil {
				return nil, err
			}
			forward, err := of(alone{&loss.GKD{Coef: 1, TopK: 10, Direction: "forward"}})
			if err != nil {
				return nil, err
			}
			for _, g := range [][]float64{asLoss, advantages[0], advantages[1], forward} {
				along = append(along, stats.Dot(g, exact)/(norm(g)*norm(exact)))
			}
		}
	}
	b.Guided, b.Advantage = nil, own
	o.Set(k2Norm, k2s...)
	o.Set(k1Norm, k1s...)
	o.Set(scaledNorm, rms...)
	o.Set(k2Value, values...)
	o.Set(shareOfTokens, shares...)
	o.Set(alongExact, along...)
	o.Set(identity, stats.Max(same))
	return o, nil
}

func norm(g []float64) float64 { return math.Sqrt(stats.Dot(g, g)) }

// relative is the distance of two gradients over the size of the second.
func relative(a, b []float64) float64 {
	sum := 0.0
	for i := range a {
		sum += float64((a[i] - b[i]) * (a[i] - b[i]))
	}
	if sum == 0 {
		return 0
	}
	return math.Sqrt(sum) / norm(b)
}

func judgeK1K2(j *claim.Judge) {
	times := func(coef float64, bin int) []float64 {
		return j.Each(func(o *claim.Observation) float64 { return coef * o.List(k2Norm)[bin] })
	}
	j.Primary(claim.Ratio(claim.Natural, "gradient of 0.1·k2 over k1 apart, tokens from 2 nats", times(publishedBeta, farBin), j.Entry(k1Norm, farBin), 5))
	j.Primary(claim.Ratio(claim.Amplified, "gradient of k2 with coefficient 1 over k1 apart, tokens from 2 nats", times(1, farBin), j.Entry(k1Norm, farBin), 5))
	j.Secondary(claim.Within(claim.Natural, "the same with coefficient 1, tokens below 0.5 nats", stats.Quotients(times(1, 0), j.Entry(k1Norm, 0)), 0.5, 2))
	j.Secondary(claim.AtMost(claim.Natural, "raw k1 as an advantage against k2 with coefficient 1, relative distance of the gradients", j.Column(identity), 1e-4))
	j.Secondary(claim.ReportRatio(claim.Natural, "gradient of 0.1·k2 over the policy gradient, all tokens", times(publishedBeta, allBin), j.Column(pgNorm)))
	j.Secondary(claim.ReportRatio(claim.Natural, "gradient of k1 apart over the policy gradient, all tokens", j.Entry(k1Norm, allBin), j.Column(pgNorm)))
	j.Secondary(claim.Report(claim.Natural, "value of 0.1·k2 per token from 2 nats", j.Each(func(o *claim.Observation) float64 { return publishedBeta * o.List(k2Value)[farBin] })))
	j.Secondary(claim.Report(claim.Natural, "value of the policy loss per token", j.Column(pgValue)))
	j.Secondary(claim.Report(claim.Natural, "share of tokens whose sign the centring turns", j.Column(flippedShare)))
	for k, name := range alongArms {
		j.Secondary(claim.Report(claim.Natural, "cosine with the gradient of the exact reverse KL, "+name, j.Entry(alongExact, k)))
	}
	names := make([]string, allBin)
	for k := range names {
		names[k] = gapBins[k].name
	}
	over := func(name, figure string, coef float64) claim.Group {
		return claim.Group{Name: name, Values: func(k int) []float64 {
			return j.Each(func(o *claim.Observation) float64 { return coef * o.List(figure)[k] / o.Number(pgNorm) })
		}}
	}
	j.Evidence.Picture = j.Bars("A teacher's gradient by the gap of the token", "gradient of the tokens at that gap (nats), over the policy gradient", false, names,
		over("0.1 · k2 as a loss", k2Norm, publishedBeta), over("k1 as an advantage, normalised separately", k1Norm, 1), over("1 · k2 as a loss", k2Norm, 1))
	var all []string
	for _, bin := range gapBins {
		all = append(all, bin.name)
	}
	j.Evidence.Table = j.NamedTable("By the gap of the token", "nats", all, shareOfTokens, k2Value, k2Norm, k1Norm, scaledNorm)
}
