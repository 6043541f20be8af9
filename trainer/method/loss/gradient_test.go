package loss

import (
	"math"
	"math/rand/v2"
	"testing"

	"driftlab/trainer/method/batch"
)

// nastyBatch draws a ragged batch with every column filled: groups of four
// responses, some of one token, one wholly masked, one with holes; a group of
// zero variance; tokens with A = 0; log-ratios beyond every clamp when wild.
func nastyBatch(seed uint64, wild bool) *batch.Batch {
	r := rand.New(rand.NewPCG(seed, 77))
	lengths := []int{1, 5, 7, 3, 4, 1, 6, 2, 8, 3, 3, 5}
	b := &batch.Batch{
		Sampled:        batch.Sampled{Offsets: []int{0}, Vocab: 5},
		LearnerVersion: 9,
	}
	for i, length := range lengths {
		b.Offsets = append(b.Offsets, b.Offsets[i]+length)
		b.Group = append(b.Group, i/4)
		b.PromptID = append(b.PromptID, int64(30-i/4))
		reward := float64(r.IntN(2))
		if i/4 == 1 {
			reward = 1 // a group without variance
		}
		b.Reward = append(b.Reward, reward)
		b.Correct = append(b.Correct, reward > 0)
		for t := range length {
			b.Mask = append(b.Mask, i != 3 && !(i == 6 && t%3 == 1))
			b.Turn = append(b.Turn, int32(t/3))
			b.Version = append(b.Version, int32(r.IntN(9)))
			b.Now.Entropy = append(b.Now.Entropy, 2*r.Float64())
			a := r.NormFloat64()
			if r.IntN(8) == 0 {
				a = 0
			}
			b.Advantage = append(b.Advantage, a)
			b.Weight = append(b.Weight, 2*r.Float64())
		}
	}
	n := b.Tokens()
	b.DistRoll, b.Old.Dist = randomRows(r, n, b.Vocab, 1), randomRows(r, n, b.Vocab, 1)
	b.Now.Dist, b.Ref.Dist = randomRows(r, n, b.Vocab, 1), randomRows(r, n, b.Vocab, 1)
	b.Shadow.Dist = randomRows(rand.New(rand.NewPCG(seed, 78)), n, b.Vocab, 1)
	b.Teacher.Dist = randomRows(rand.New(rand.NewPCG(seed, 79)), n, b.Vocab, 1)
	for t := range n {
		b.Guided = append(b.Guided, b.Mask[t] && t%3 != 0)
	}
	b.Token = make([]int32, n)
	for t := range n {
		b.Token[t] = int32(r.IntN(b.Vocab))
	}
	drift := 0.3
	for t := range n {
		old := -3 * r.Float64()
		far := 0.0
		if wild && r.IntN(6) == 0 {
			far = []float64{-30, -8, 1.2, 9, 25}[r.IntN(5)]
		}
		b.Anchor = append(b.Anchor, old)
		b.LogpRoll = append(b.LogpRoll, old+0.2*r.NormFloat64())
		b.Ref.Logp = append(b.Ref.Logp, old+0.5*r.NormFloat64())
		b.Teacher.Logp = append(b.Teacher.Logp, old+0.5*r.NormFloat64())
		b.Now.Logp = append(b.Now.Logp, min(old+drift*r.NormFloat64()+far, -1e-3))
		if wild && far > 0 {
			b.Now.Logp[t] = old + far - 31 // keep log-probs negative: move old down
			b.Anchor[t], b.LogpRoll[t] = b.Now.Logp[t]-far, b.Now.Logp[t]-far+0.1
		}
	}
	b.Old.Logp = append(b.Old.Logp, b.Anchor...)
	return b
}

// randomRows draws rows of log-probs.
func randomRows(r *rand.Rand, n, vocab int, scale float64) []float32 {
	rows := make([]float32, n*vocab)
	for i := 0; i < len(rows); i += vocab {
		sum := 0.0
		for a := range vocab {
			z := scale * r.NormFloat64()
			rows[i+a] = float32(z)
			sum += math.Exp(float64(rows[i+a]))
		}
		for a := range vocab {
			rows[i+a] = float32(float64(rows[i+a]) - math.Log(sum))
		}
	}
	return rows
}

// differences returns the central differences of the loss with respect to
// every log-prob, the detached parts held at their present values. kinks marks
// the tokens at which the two one-sided slopes differ: there is no derivative.
func differences(t *testing.T, eval func(*Grad, *batch.Batch) error, in *batch.Batch) (slopes []float64, kinks []bool) {
	t.Helper()
	const h = 1e-6
	out := &Grad{frozen: append([]float64{}, in.Now.Logp...)}
	at := func() float64 {
		must(t, eval(out, in))
		return out.Loss
	}
	here := at()
	slopes, kinks = make([]float64, len(in.Now.Logp)), make([]bool, len(in.Now.Logp))
	for n, x := range in.Now.Logp {
		in.Now.Logp[n] = x + h
		up := at()
		in.Now.Logp[n] = x - h
		down := at()
		in.Now.Logp[n] = x
		slopes[n] = (up - down) / (2 * h)
		left, right := (here-down)/h, (up-here)/h
		kinks[n] = math.Abs(left-right) > 1e-3*(math.Abs(left)+math.Abs(right))+1e-5*(1+math.Abs(here))
	}
	return slopes, kinks
}

// checkGradient compares DLogp with central differences.
func checkGradient(t *testing.T, name string, eval func(*Grad, *batch.Batch) error, in *batch.Batch) (excluded int) {
	t.Helper()
	out := &Grad{}
	if err := eval(out, in); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if math.IsNaN(out.Loss) || math.IsInf(out.Loss, 0) {
		t.Errorf("%s: loss %v", name, out.Loss)
	}
	analytic := append([]float64{}, out.DLogp...)
	slopes, kinks := differences(t, eval, in)
	for n, want := range slopes {
		if !in.Active()[n] && analytic[n] != 0 {
			t.Errorf("%s: token %d is masked and has gradient %g", name, n, analytic[n])
		}
		if kinks[n] {
			excluded++
			continue
		}
		// 1e-6 of the slope, and the rounding of a difference of losses over 2h.
		tolerance := 1e-6*max(math.Abs(want), 1e-2) + 1e-9*math.Abs(out.Loss)
		if math.Abs(analytic[n]-want) > tolerance {
			t.Errorf("%s: token %d: d loss/d logp is %.9g, differences give %.9g", name, n, analytic[n], want)
		}
	}
	return excluded
}

// TestGradientOfEveryKL checks the KL terms in the loss, on top of nothing.
func TestGradientOfEveryKL(t *testing.T) {
	for _, e := range KLRegistry {
		if e.Name == "exact" || e.Name == "none" || e.Name == "k1+" || e.Name == "k3+" {
			continue // no derivative through logp, or a straight-through one: tested below
		}
		for seed := range uint64(4) {
			in := nastyBatch(seed, seed%2 == 1)
			term := e.New()
			checkGradient(t, e.Name, func(out *Grad, in *batch.Batch) error {
				out.Reset(in.Tokens())
				return term.AddLoss(out, in)
			}, in)
		}
	}
}
