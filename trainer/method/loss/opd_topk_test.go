package loss

import (
	"math"
	"slices"
	"testing"

	"driftlab/trainer/method/batch"
)

// TestOPDTopKExpectedGradient enumerates the tokens of one state, on-policy and without a
// clip: over the top k the expected gradient is 0, of the sampled token it is the gradient of
// the reverse KL divergence, p·(log p - log t - KL).
func TestOPDTopKExpectedGradient(t *testing.T) {
	p, q := []float64{0.5, 0.3, 0.2}, []float64{0.2, 0.2, 0.6}
	kl := 0.0
	for a := range p {
		kl += p[a] * math.Log(p[a]/q[a])
	}
	for _, k := range []int{0, 1, 2, 3} {
		expected := make([]float64, len(p))
		for token, probability := range p {
			b := &batch.Batch{Sampled: batch.Sampled{Offsets: []int{0, 1}, Mask: []bool{true}, Vocab: 3}}
			b.Now.Logp, b.Teacher.Logp = []float64{math.Log(p[token])}, []float64{math.Log(q[token])}
			b.Old.Logp, b.Anchor, b.LogpRoll, b.Advantage = b.Now.Logp, b.Now.Logp, b.Now.Logp, []float64{0}
			for a := range p {
				b.Old.Dist, b.Teacher.Dist = append(b.Old.Dist, float32(math.Log(p[a]))), append(b.Teacher.Dist, float32(math.Log(q[a])))
			}
			out, given := &Grad{}, slices.Clone(b.Advantage)
			must(t, Evaluate(out, b, &Reinforce{Anchor: Old}, &NoKL{}, &OPDTopK{Coef: 1, TopK: k, Strategy: "only-student", Weights: "student_p"}))
			if !slices.Equal(b.Advantage, given) {
				t.Errorf("the batch's advantages are %v afterwards, %v before", b.Advantage, given)
			}
			for a := range p {
				expected[a] += probability * out.DLogp[0] * (count(a == token) - p[a])
			}
		}
		for a := range p {
			want := 0.0
			if k == 0 {
				want = p[a] * (math.Log(p[a]/q[a]) - kl)
			}
			if math.Abs(expected[a]-want) > 1e-6 {
				t.Errorf("top_k %d: the expected gradient of logit %d is %v, want %v", k, a, expected[a], want)
			}
		}
	}
}
