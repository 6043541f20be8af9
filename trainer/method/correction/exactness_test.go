package correction

import (
	"math"
	"math/rand/v2"
	"testing"

	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
)

// The tests of this file enumerate every response of a tabular policy with
// vocabulary 3 and horizon 3. States are prefixes; each policy has its own
// logits per state. A weighted policy gradient is then an exact sum, to be
// compared with the true gradient of E_pi[R] or with what theory says the
// estimator converges to.

const (
	vocab   = 3
	horizon = 3
	states  = 1 + 3 + 9 // prefixes of horizon 0, 1, 2
)

// tabular is a policy: probabilities per state.
type tabular [states][vocab]float64

// newTabular draws a policy.
func newTabular(r *rand.Rand) *tabular {
	var p tabular
	for s := range p {
		total := 0.0
		for a := range p[s] {
			p[s][a] = math.Exp(r.NormFloat64())
			total += p[s][a]
		}
		for a := range p[s] {
			p[s][a] /= total
		}
	}
	return &p
}

// state numbers the prefix y[:t].
func state(y [horizon]int, t int) int {
	switch t {
	case 0:
		return 0
	case 1:
		return 1 + y[0]
	}
	return 4 + 3*y[0] + y[1]
}

// responses lists all 27 responses.
func responses() (all [][horizon]int) {
	for i := range 27 {
		all = append(all, [horizon]int{i / 9, i / 3 % 3, i % 3})
	}
	return all
}

// setup draws pi, mu and a reward per response, and the batch of all responses.
func setup() (pi, mu *tabular, reward []float64, b *batch.Batch) {
	r := rand.New(rand.NewPCG(11, 7))
	pi, mu = newTabular(r), newTabular(r)
	b = &batch.Batch{Sampled: batch.Sampled{Offsets: []int{0}}}
	for _, y := range responses() {
		reward = append(reward, r.NormFloat64())
		for t := range horizon {
			b.Mask = append(b.Mask, true)
			b.Anchor = append(b.Anchor, math.Log(pi[state(y, t)][y[t]]))
			b.LogpRoll = append(b.LogpRoll, math.Log(mu[state(y, t)][y[t]]))
		}
		b.Offsets = append(b.Offsets, len(b.Mask))
	}
	return pi, mu, reward, b
}

// expectation is the exact expectation, under mu, of Σ_t w_t·R·∇ log pi(y_t).
func expectation(pi, mu *tabular, reward, weight []float64) (grad tabular) {
	for i, y := range responses() {
		p := 1.0
		for t := range horizon {
			p *= mu[state(y, t)][y[t]]
		}
		for t := range horizon {
			addScore(&grad, pi, state(y, t), y[t], p*weight[i*horizon+t]*reward[i])
		}
	}
	return grad
}

// addScore adds c·∇ log pi(a|s), with respect to the logits of state s.
func addScore(grad *tabular, pi *tabular, s, a int, c float64) {
	for k := range vocab {
		grad[s][k] -= c * pi[s][k]
	}
	grad[s][a] += c
}

// target is Σ_t E_{prefix ~ before}[Σ_a pi(a|s)·Q_after(s, a)·∇ log pi(a|s)]: the
// gradient when prefixes come from one policy and continuations from another.
func target(pi, before, after *tabular, reward []float64) (grad tabular) {
	for i, y := range responses() {
		for t := range horizon {
			p := pi[state(y, t)][y[t]]
			for s := range horizon {
				switch {
				case s < t:
					p *= before[state(y, s)][y[s]]
				case s > t:
					p *= after[state(y, s)][y[s]]
				}
			}
			addScore(&grad, pi, state(y, t), y[t], p*reward[i])
		}
	}
	return grad
}

// distance is the largest difference of two gradients.
func distance(a, b tabular) (d float64) {
	for s := range a {
		for k := range a[s] {
			d = max(d, math.Abs(a[s][k]-b[s][k]))
		}
	}
	return d
}

// prefixIS weights every token by the product of the ratios up to it. It stands
// here to show what a new method takes.
type prefixIS struct{}

func (prefixIS) Weigh(w *Weights, in *Input) error {
	for i := range in.Len() {
		sum := 0.0
		for n := range in.Where(i, in.Mask) {
			sum += in.LogRatio[n]
			w.Raw[n], w.Applied[n] = in.ratio(sum), in.ratio(sum)
		}
	}
	return nil
}
func (prefixIS) Level() method.Unit          { return method.Prefix }
func (prefixIS) Bounds() (low, high float64) { return 0, unbounded }

// Sequence importance sampling is exact; prefix importance sampling leaves
// continuations to mu; token importance sampling leaves prefixes and
// continuations to mu; no weight leaves everything.
func TestExactness(t *testing.T) {
	pi, mu, reward, b := setup()
	truth := target(pi, pi, pi, reward)
	for _, c := range []struct {
		name string
		w    Weighting
		want tabular
	}{
		{"sequence IS: exact", &SequenceTIS{Cap: math.Inf(1)}, truth},
		{"prefix IS: E over prefixes of pi of Q_mu", prefixIS{}, target(pi, pi, mu, reward)},
		{"token IS: E over prefixes of mu of Q_mu", &TokenTIS{Cap: math.Inf(1)}, target(pi, mu, mu, reward)},
	} {
		must(t, (&Pipeline{Weights: c.w}).Apply(b, AtBatch))
		got := expectation(pi, mu, reward, b.Weight)
		if d := distance(got, c.want); d > 1e-12 {
			t.Errorf("%s: off by %g", c.name, d)
		}
		bias := distance(got, truth)
		t.Logf("%-45s bias %.3g", c.name, bias)
		if exact := c.want == truth; !exact && bias < 1e-3 {
			t.Errorf("%s: the bias is %g, the example does not show it", c.name, bias)
		}
	}
}

// Truncation biases sequence importance sampling by exactly the mass it cuts,
// E_mu[(W − C)⁺·R·∇ log pi(y)], and masking by the mass it drops.
func TestTruncationBias(t *testing.T) {
	pi, mu, reward, b := setup()
	truth := target(pi, pi, pi, reward)
	for _, cap := range []float64{1, 1.5, 3, 20} {
		must(t, (&Pipeline{Weights: &SequenceTIS{Cap: cap}}).Apply(b, AtBatch))
		truncated := expectation(pi, mu, reward, b.Weight)
		must(t, (&Pipeline{Weights: &SequenceMIS{High: cap}}).Apply(b, AtBatch))
		masked := expectation(pi, mu, reward, b.Weight)
		cut, dropped := make([]float64, len(b.Mask)), make([]float64, len(b.Mask))
		for i, y := range responses() {
			w := 1.0
			for s := range horizon {
				w *= pi[state(y, s)][y[s]] / mu[state(y, s)][y[s]]
			}
			for s := range horizon {
				cut[i*horizon+s] = max(w-cap, 0)
				if w > cap {
					dropped[i*horizon+s] = w
				}
			}
		}
		for name, pair := range map[string][2]tabular{
			"truncated": {truncated, expectation(pi, mu, reward, cut)},
			"masked":    {masked, expectation(pi, mu, reward, dropped)},
		} {
			sum := pair[0]
			for s := range sum {
				for k := range sum[s] {
					sum[s][k] += pair[1][s][k]
				}
			}
			if d := distance(sum, truth); d > 1e-12 {
				t.Errorf("cap %v, %s: estimate and bias do not add up to the gradient, off by %g", cap, name, d)
			}
		}
	}
}
