package loss

import (
	"math"
	"testing"

	"driftlab/trainer/method"
)

// TestShadowOfItself has no loss and no gradient, exactly; a masked token none
// either, whatever the shadow.
func TestShadowOfItself(t *testing.T) {
	b := nastyBatch(4, false)
	term := method.New[ShadowDistillation]()
	same := *b
	same.Shadow.Dist = b.Now.Dist
	out := eval(t, Dense{term}, &same)
	for i, g := range append(out.DLogits, out.Loss) {
		if g != 0 {
			t.Fatalf("entry %d of the gradient is %g", i, g)
		}
	}
	out = eval(t, Dense{term}, b)
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
