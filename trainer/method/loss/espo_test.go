package loss

import (
	"math"
	"testing"

	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
)

// ESPO logs its buckets: two of two tokens each, with entropies 0.1, 0.3 and 0.6, 1, the mean
// of all is 0.5. The clips are 0.2·max(0.2/0.5, 1/2) and 0.2·0.8/0.5.
func TestESPOLogsItsBuckets(t *testing.T) {
	p, out := method.New[ESPO](), &Grad{}
	p.Buckets = 2
	b := &batch.Batch{Sampled: batch.Sampled{Offsets: []int{0, 4, 5}, Mask: []bool{true, true, true, true, true}}}
	b.Now.Entropy = []float64{1, 0.1, 0.6, 0.3, 0.4}
	// The confident bucket has the ratio √(1.3·1.1), the other √(1.2·1.4): within 1.32 and without.
	b.Now.Logp = []float64{math.Log(1.4), math.Log(1.3), math.Log(1.2), math.Log(1.1), math.Log(1.1)}
	b.Anchor, b.Advantage = make([]float64, 5), []float64{1, 1, 1, 1, 1}
	must(t, p.Eval(out, b))
	// The response of one token is a bucket of its own: entropy 0.4, clip ε. A mean divides by
	// the count plus 1e-8.
	for name, want := range map[string]float64{
		"espo/entropy": (0.2 + 0.8 + 0.4) / 3, "espo/entropy_min": 0.2, "espo/entropy_max": 0.8,
		"espo/eps": (0.1 + 0.32 + 0.2) / 3, "espo/eps_min": 0.1, "espo/eps_max": 0.32,
		"espo/clipped_confident": 2. / 5, "espo/clipped_uncertain": 0, "actor/pg_clipfrac": 2. / 5,
	} {
		if got, ok := out.Metric(name); !ok || math.Abs(got-want) > 1e-8 {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	// With ε of 0.18 the uncertain bucket is clipped at 1.288 too, the single token within 1.18 is not.
	p.Eps = 0.18
	must(t, p.Eval(out, b))
	if got, _ := out.Metric("espo/clipped_uncertain"); math.Abs(got-2./5) > 1e-8 {
		t.Errorf("the uncertain bucket adds %v, want 2 of 5 tokens", got)
	}
}
