package measurements

import (
	"fmt"
	"math"
	"slices"

	"driftlab/experiments/measure"
	"driftlab/experiments/study/claims/claim"
	"driftlab/results/stats"
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/loss"
	"driftlab/trainer/method/masked"
)

// alone is a term without a policy loss.
type alone struct{ loss.Term }

func (a alone) Eval(out *loss.Grad, in *batch.Batch) error {
	out.Reset(in.Tokens())
	return a.AddLoss(out, in)
}

// teacherGradients are the gradients of a teacher's terms on the tokens of bins by |log p - log p_teacher|.
type teacherGradients struct {
	// Bins are from and end in nats; the last is of all tokens.
	Bins [][2]float64
}

// Measure scores this replication's own responses by a teacher of its own.
func (t *teacherGradients) Measure(e *claim.Env, o *claim.Observation) {
	dir := e.Warm("teacher-base", fmt.Sprintf("pretrain.steps=%d", e.Pick(800, 200, 8)))
	student := e.Base(0)
	teacher := claim.Loaded(dir, 0)
	fp32 := numerics("fp32")
	b := graded(e, student, fp32, fp32, e.Pick(32, 32, 8))
	read := *b
	read.Old = batch.Scored{}
	measure.Score(&read, teacher, measure.Scoring{Numerics: fp32, Distributions: true})
	b.Teacher = read.Old
	l := measure.NewLearner(student, fp32)
	defer l.Close()
	t.record(o, l, b)
}

// record takes the gradients of every term on the tokens of every bin.
func (t *teacherGradients) record(o *claim.Observation, l *measure.Learner, b *batch.Batch) {
	of := func(objective loss.Loss) []float64 {
		claim.StopOn(l.Gradient(b, objective))
		return doubles(l.Grad())
	}
	own := b.Advantage
	b.Anchor = b.Old.Logp
	policy := of(method.New[loss.PPOClip]())
	value := 0.0
	for n := range masked.Kept(b.Mask) {
		value -= own[n]
	}
	o.Set("policy loss", math.Abs(value)/float64(b.Tokens()))
	o.Set("gradient of the policy loss", norm(policy))

	word := stats.Differences(b.Teacher.Logp, b.Old.Logp)
	apart := slices.Clone(word)
	masked.Whiten(apart, b.Mask)
	size := math.Sqrt(stats.Dot(word, word) / float64(len(word)))
	scaled := stats.Each(word, func(v float64) float64 { return v / size })
	turned := 0.0
	for n := range word {
		if float64(word[n]*apart[n]) < 0 {
			turned++
		}
	}
	o.Set("share of signs turned", turned/float64(len(word)))

	var k2s, k1s, rms, values, shares, along, same []float64
	for k, bin := range t.Bins {
		b.Guided = make([]bool, b.Tokens())
		count, sum := 0.0, 0.0
		for n, w := range word {
			if gap := math.Abs(w); b.Mask[n] && gap >= bin[0] && gap < bin[1] {
				b.Guided[n] = true
				count, sum = count+1, sum+float64(w*w/2)
			}
		}
		asLoss := of(alone{&loss.DistillK2{Coef: 1}})
		as := func(advantage []float64) []float64 {
			b.Advantage = make([]float64, b.Tokens())
			for n := range masked.Kept(b.Guided) {
				b.Advantage[n] = advantage[n]
			}
			return of(method.New[loss.PPOClip]())
		}
		var advantages [3][]float64
		for i, a := range [3][]float64{apart, scaled, word} {
			advantages[i] = as(a)
		}
		k2s, k1s, rms = append(k2s, norm(asLoss)), append(k1s, norm(advantages[0])), append(rms, norm(advantages[1]))
		values, shares = append(values, sum/max(count, 1)), append(shares, count/float64(b.Tokens()))
		off := distanceOf(advantages[2], asLoss)
		if off > 0 {
			off /= norm(asLoss)
		}
		same = append(same, off)
		if k == len(t.Bins)-1 {
			exact := of(alone{&loss.GKD{Coef: 1, Direction: "reverse"}})
			forward := of(alone{&loss.GKD{Coef: 1, TopK: 10, Direction: "forward"}})
			cosine := func(g []float64) float64 { return stats.Dot(g, exact) / (norm(g) * norm(exact)) }
			along = append(along, stats.Map([][]float64{asLoss, advantages[0], advantages[1], forward}, cosine)...)
		}
	}
	b.Guided, b.Advantage = nil, own
	o.Set("gradient of k2", k2s...)
	o.Set("gradient of k1 apart", k1s...)
	o.Set("gradient of k1 scaled", rms...)
	o.Set("k2 per token", values...)
	o.Set("share of tokens", shares...)
	o.Set("cosine with the reverse KL", along...)
	o.Set("raw k1 against k2, relative", stats.Max(same))
}

func norm(g []float64) float64 { return math.Sqrt(stats.Dot(g, g)) }
