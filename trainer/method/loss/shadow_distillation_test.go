package loss

import (
	"math"
	"math/rand/v2"
	"testing"

	"driftlab/trainer/method"
)

// logSoftmax64 returns log-probs of logits.
func logSoftmax64(z []float64) []float64 {
	sum := 0.0
	for _, x := range z {
		sum += math.Exp(x)
	}
	logp := make([]float64, len(z))
	for i, x := range z {
		logp[i] = x - math.Log(sum)
	}
	return logp
}

// TestShadowGradientIsADifference compares the gradient with respect to the dense
// logits against central differences of the divergence.
func TestShadowGradientIsADifference(t *testing.T) {
	const step = 1e-5
	rng := rand.New(rand.NewPCG(3, 1))
	for range 20 {
		z, s := make([]float64, 7), make([]float64, 7)
		for i := range z {
			z[i], s[i] = rng.NormFloat64(), rng.NormFloat64()
		}
		shadow := logSoftmax64(s)
		grad := make([]float64, len(z))
		if kl := klRow(grad, logSoftmax64(z), shadow, 0.3); kl <= 0 {
			t.Fatalf("divergence %g", kl)
		}
		for i, x := range z {
			z[i] = x + step
			above := klRow(nil, logSoftmax64(z), shadow, 0)
			z[i] = x - step
			below := klRow(nil, logSoftmax64(z), shadow, 0)
			z[i] = x
			if want := 0.3 * (above - below) / (2 * step); math.Abs(grad[i]-want) > 1e-6*math.Abs(want)+1e-10 {
				t.Errorf("logit %d: %g, difference %g", i, grad[i], want)
			}
		}
	}
}

// TestShadowOfItself has no loss and no gradient, exactly; a masked token none
// either, whatever the shadow.
func TestShadowOfItself(t *testing.T) {
	b := nastyBatch(4, false)
	term := method.New[ShadowDistillation]()
	out := &Grad{}
	same := *b
	same.Shadow.Dist = b.Now.Dist
	if err := (Dense{term}).Eval(out, &same); err != nil {
		t.Fatal(err)
	}
	for i, g := range append(out.DLogits, out.Loss) {
		if g != 0 {
			t.Fatalf("entry %d of the gradient is %g", i, g)
		}
	}
	if err := (Dense{term}).Eval(out, b); err != nil {
		t.Fatal(err)
	}
	if kl, _ := out.Metric("actor/shadow_kl"); !(kl > 0) || math.Abs(out.Loss-0.1*kl) > 1e-15 {
		t.Errorf("loss %g, divergence %g", out.Loss, kl)
	}
	for n, active := range b.Mask {
		for _, g := range out.DLogits[n*b.Vocab : (n+1)*b.Vocab] {
			if !active && g != 0 || active && g == 0 {
				t.Fatalf("token %d, mask %t: gradient %g", n, active, g)
			}
		}
	}
}
