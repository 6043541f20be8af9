package trainer

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"driftlab/trainer/method/batch"
)

// Where one version sampled the batch the mixture is that version, bit for bit; on a clock
// several versions are in it, and its weight of a response that a version sampled whole
// is below n/n_v by enumeration of the batch's own versions.
func TestMixtureAnchor(t *testing.T) {
	s := sessionOf(t, Options{}, "schedule={name: lag, k: 2}", "learner.optimizer.lr=1e-2", "anchor=mixture")
	steps(t, s, 4, func(step int) {
		for n, counts := range s.batch.Mask {
			if counts && s.batch.Anchor[n] != s.batch.Behaviour.Logp[n] {
				t.Errorf("step %d, token %d: the mixture of one version is another policy", step, n)
			}
		}
	})

	s = sessionOf(t, Options{}, "schedule={name: areal, eta: 3}", "learner.optimizer.lr=1e-2", "anchor=mixture", "rollout.max_tokens=24")
	mixed := false
	steps(t, s, 6, func(step int) {
		b := &s.batch
		counts := map[int32]float64{}
		whole := func(i int) bool {
			from, to := b.Span(i)
			return from < to && !slices.ContainsFunc(b.Version[from:to], func(v int32) bool { return v != b.Version[from] })
		}
		for i := range b.Len() {
			if whole(i) {
				from, _ := b.Span(i)
				counts[b.Version[from]]++
			}
		}
		for i := range b.Len() {
			if !whole(i) {
				continue
			}
			from, to := b.Span(i)
			own, mixture := 0.0, 0.0
			for n := from; n < to; n++ {
				own, mixture = own+b.Behaviour.Logp[n], mixture+b.Anchor[n]
			}
			mixed = mixed || mixture != own
			if bound := math.Log(float64(b.Len()) / counts[b.Version[from]]); own-mixture > bound+1e-9 {
				t.Errorf("step %d: the weight of response %d is exp(%g), above exp(%g)", step, i, own-mixture, bound)
			}
		}
	})
	if !mixed {
		t.Error("no batch of several versions")
	}
}

// Three responses of two tokens: one of each version and one of both. The anchor sums to
// the log of their mean distribution, over all pairs of tokens it is a distribution, and what the policy
// of one version weighs is at most 3.
func TestMixtureIsTheMeanLaw(t *testing.T) {
	const vocab = 3
	rng := rand.New(rand.NewPCG(1, 2))
	law := func() []float64 {
		p, sum := make([]float64, vocab), 0.0
		for a := range p {
			p[a] = math.Exp(2 * rng.NormFloat64())
			sum += p[a]
		}
		for a := range p {
			p[a] /= sum
		}
		return p
	}
	first := [2][]float64{law(), law()}
	var second [2][vocab][]float64
	for v := range second {
		for a := range second[v] {
			second[v][a] = law()
		}
	}
	ways := [][2]int{{0, 0}, {1, 1}, {0, 1}}
	total := 0.0
	for a := range vocab {
		for c := range vocab {
			m := &mixture{of: &behaviour{versions: []int{4, 7}}, logps: make([][]float64, 2)}
			b := &batch.Batch{Sampled: batch.Sampled{Offsets: []int{0}}}
			mean := 0.0
			for _, way := range ways {
				mean += first[way[0]][a] * second[way[1]][a][c] / float64(len(ways))
				b.Offsets, b.Mask = append(b.Offsets, len(b.Version)+2), append(b.Mask, true, true)
				b.Version = append(b.Version, int32(m.of.versions[way[0]]), int32(m.of.versions[way[1]]))
				for v := range m.logps {
					m.logps[v] = append(m.logps[v], math.Log(first[v][a]), math.Log(second[v][a][c]))
				}
			}
			m.fill(b)
			for i := range ways {
				q := math.Exp(m.anchor[2*i] + m.anchor[2*i+1])
				if math.Abs(q-mean) > 1e-12 {
					t.Errorf("tokens %d and %d, response %d: the law is %v, want %v", a, c, i, q, mean)
				}
			}
			total += math.Exp(m.anchor[0] + m.anchor[1])
			if w := first[0][a] * second[0][a][c] / mean; w > 3 {
				t.Errorf("a weight of %v", w)
			}
		}
	}
	if math.Abs(total-1) > 1e-12 {
		t.Errorf("the law sums to %v", total)
	}
}
