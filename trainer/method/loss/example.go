package loss

import (
	"driftlab/precision/elementary"
	"driftlab/trainer/method/batch"
)

// Worked is the batch of the worked examples of a loss: one sequence, once with A = +1
// and once with A = -1, as two responses of one group.
func Worked(l Loss) *batch.Batch {
	b := &batch.Batch{
		Sampled:        batch.Sampled{Offsets: []int{0, 3, 6}, Vocab: 3, Group: []int{0, 0}, PromptID: []int64{7, 7}},
		LearnerVersion: 8,
		Graded:         batch.Graded{Reward: []float64{1, 0}, Correct: []bool{true, false}},
	}
	for _, a := range []float64{1, -1} {
		b.Mask = append(b.Mask, true, true, true)
		b.Now.Logp = append(b.Now.Logp, -0.5, -1.2, -2.0)
		b.Anchor = append(b.Anchor, -0.7, -1.0, -2.5)
		b.Old.Logp = append(b.Old.Logp, -0.7, -1.0, -2.5)
		b.LogpRoll = append(b.LogpRoll, -0.6, -1.3, -2.2)
		b.Ref.Logp = append(b.Ref.Logp, -0.9, -0.8, -2.1)
		b.Teacher.Logp = append(b.Teacher.Logp, -0.4, -1.0, -1.0)
		b.Advantage = append(b.Advantage, a, a, a)
		b.Now.Entropy = append(b.Now.Entropy, 0.5, 1, 2)
		b.Version = append(b.Version, 4, 6, 7)
		b.Turn = append(b.Turn, 0, 0, 1)
		b.Token = append(b.Token, 0, 0, 0)
	}
	b.Now.Dist, b.Ref.Dist = threeTokens(b.Now.Logp, 2), threeTokens(b.Ref.Logp, 1)
	b.DistRoll, b.Old.Dist, b.Shadow.Dist = threeTokens(b.LogpRoll, 1), threeTokens(b.Anchor, 1), b.Ref.Dist
	b.Teacher.Dist = threeTokens(b.Teacher.Logp, 1)
	if _, ok := l.(*RefKL); ok {
		b.Teacher.Logp = nil // it would take the reference's place
	}
	return b
}

// threeTokens makes distributions over three tokens: the first has the given log-prob,
// the others share the rest in the proportion share to 1.
func threeTokens(logp []float64, share float64) []float32 {
	var dist []float32
	for _, lp := range logp {
		rest := -elementary.Expm1(lp)
		dist = append(dist, float32(lp), float32(elementary.Log(rest*share/(1+share))), float32(elementary.Log(rest/(1+share))))
	}
	return dist
}
