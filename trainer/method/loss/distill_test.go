package loss

import (
	"math"
	"math/rand/v2"
	"testing"

	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
)

// TestDistillK2Gradient compares the gradient with central differences, with and
// without a clip and a mask of guided tokens.
func TestDistillK2Gradient(t *testing.T) {
	for seed := range uint64(4) {
		for _, clip := range []float64{0, 1.5} {
			in := nastyBatch(seed, seed%2 == 1)
			if seed > 1 {
				in.Guided = nil
			}
			term := &DistillK2{Coef: 0.3, RatioClip: clip}
			checkGradient(t, "distill_k2", func(out *Grad, in *batch.Batch) error {
				out.Reset(in.Tokens())
				return term.AddLoss(out, in)
			}, in)
		}
	}
}

// TestGKDGradient compares the gradient with respect to the logits with central
// differences, both ways, over all tokens and over the top ones.
func TestGKDGradient(t *testing.T) {
	const step = 1e-2 // rows are float32: the differences are of a polynomial of degree four in the step
	rng := rand.New(rand.NewPCG(3, 2))
	row := func(z []float64) (logp []float32) {
		for _, x := range logSoftmax(z, len(z)) {
			logp = append(logp, float32(x))
		}
		return logp
	}
	for trial := range 24 {
		z, s := make([]float64, 7), make([]float64, 7)
		for i := range z {
			z[i], s[i] = rng.NormFloat64(), rng.NormFloat64()
		}
		var of divergence
		term := Term(&GKD{Coef: 1, TopK: []int{0, 1, 3}[trial%3], Direction: []string{"forward", "reverse"}[trial%2]})
		if of = term.(*GKD).row; trial%4 == 3 {
			j := &JSD{Coef: 1, TopK: []int{0, 1, 3}[trial%3], Beta: 0.1 + float64(trial)/40}
			term, of = j, j.row
		}
		at := func() float64 {
			value, _, _ := of(make([]float64, 7), row(z), row(s), 1)
			return value
		}
		grad := make([]float64, len(z))
		if _, mass, _ := of(grad, row(z), row(s), 0.3); mass <= 0 || mass > 1+1e-6 {
			t.Fatalf("a mass of %g", mass)
		}
		slope := func(i int, h float64) float64 {
			x := z[i]
			z[i] = x + h
			above := at()
			z[i] = x - h
			below := at()
			z[i] = x
			return (above - below) / (2 * h)
		}
		for i := range z {
			want := 0.3 * (4*slope(i, step) - slope(i, 2*step)) / 3 // Richardson
			if math.Abs(grad[i]-want) > 2e-5 {
				t.Errorf("%+v, logit %d: %g, difference %g", term, i, grad[i], want)
			}
		}
	}
}

// TestDistillationOfItself: where the teacher is the policy there is no gradient, and a
// token that is not guided has none whatever the teacher says.
func TestDistillationOfItself(t *testing.T) {
	for _, term := range []Term{method.New[DistillK2](), &GKD{Coef: 1, Direction: "forward"}, &GKD{Coef: 1, Direction: "reverse"}, &GKD{Coef: 1, TopK: 2, Direction: "forward"}, &JSD{Coef: 1, Beta: 0.3}} {
		b := nastyBatch(4, false)
		out := addedTo(t, term, b)
		moved := 0
		for n := range b.Tokens() {
			sum := math.Abs(out.DLogp[n])
			for a := range len(out.DLogits) / b.Tokens() {
				sum += math.Abs(out.DLogits[n*b.Vocab+a])
			}
			if sum > 0 {
				moved++
			}
			if sum > 0 && !b.Guided[n] {
				t.Fatalf("%T moves token %d, which is not guided", term, n)
			}
		}
		if moved == 0 || len(out.Metrics) < 3 {
			t.Fatalf("%T moves nothing, or says nothing: %v", term, out.Metrics)
		}
		if g, ok := term.(*GKD); ok && g.TopK > 0 {
			continue // what lies outside K pulls
		}
		b.Teacher.Dist, b.Teacher.Logp = b.Now.Dist, b.Now.Logp
		out = addedTo(t, term, b)
		for n, g := range append(out.DLogp, out.DLogits...) {
			if math.Abs(g) > 1e-7 {
				t.Fatalf("%T: entry %d of the gradient is %g", term, n, g)
			}
		}
	}
}

// TestK2IsRawK1: on-policy the derivative of k2 with coefficient 1 is what policy
// gradient makes of the raw k1 as an advantage, token by token.
func TestK2IsRawK1(t *testing.T) {
	b := nastyBatch(2, false)
	b.Guided, b.Weight = nil, nil
	b.Anchor = b.Now.Logp
	for n := range b.Advantage {
		b.Advantage[n] = b.Teacher.Logp[n] - b.Now.Logp[n]
	}
	same(t, "as a loss and as an advantage", addedTo(t, &DistillK2{Coef: 1}, b).DLogp, eval(t, method.New[PPOClip](), b).DLogp)
}
