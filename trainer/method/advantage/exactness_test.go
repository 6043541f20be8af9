package advantage

import (
	"math"
	"math/rand/v2"
	"testing"

	"driftlab/trainer/method/batch"
)

// The tests of this file enumerate every group of two responses of a tabular
// policy with vocabulary 2 and length 2, and compare the expectation of the
// policy gradient that an estimator gives with the true one.

const (
	actions = 2
	steps   = 2
	nodes   = 3 // prefixes: empty, 0, 1
)

// gradient is with respect to the logits of every node.
type gradient [nodes][actions]float64

// world is a policy and a reward for each of the four responses.
type world struct {
	pi     [nodes][actions]float64
	reward [actions * actions]float64
}

func newWorld(seed uint64) *world {
	r := rand.New(rand.NewPCG(seed, 3))
	var w world
	for s := range w.pi {
		p := .15 + .7*r.Float64()
		w.pi[s] = [actions]float64{p, 1 - p}
	}
	for i := range w.reward {
		w.reward[i] = r.NormFloat64()
	}
	return &w
}

// node is the state before token t of response y, and a its token.
func node(y, t int) (s, a int) {
	if t == 0 {
		return 0, y / 2
	}
	return 1 + y/2, y % 2
}

// probability is the probability of response y.
func (w *world) probability(y int) float64 {
	s, a := node(y, 1)
	return w.pi[0][y/2] * w.pi[s][a]
}

// add adds c·∇ log pi of token t of response y.
func (w *world) add(g *gradient, y, t int, c float64) {
	s, a := node(y, t)
	for k := range actions {
		g[s][k] -= c * w.pi[s][k]
	}
	g[s][a] += c
}

// truth is the gradient of the expected reward.
func (w *world) truth() (g gradient) {
	for y, r := range w.reward {
		for t := range steps {
			w.add(&g, y, t, w.probability(y)*r)
		}
	}
	return g
}

// group is the batch of the responses y, with all that an estimator may read.
func (w *world) group(y ...int) *batch.Batch {
	b := &batch.Batch{Sampled: batch.Sampled{Offsets: []int{0}}}
	for _, y := range y {
		norm := 0.0
		for t := range steps {
			s, a := node(y, t)
			q := w.pi[s]
			squares := q[0]*q[0] + q[1]*q[1]
			norm += 1 - 2*q[a] + squares
			b.Mask = append(b.Mask, true)
			b.Old.Logp, b.LogpRoll = append(b.Old.Logp, math.Log(q[a])), append(b.LogpRoll, math.Log(q[a]))
			b.Old.SumSquares = append(b.Old.SumSquares, squares)
			b.TokenReward = append(b.TokenReward, 0)
			b.Turn = append(b.Turn, 0)
		}
		b.TokenReward[len(b.TokenReward)-1] = w.reward[y]
		b.Reward, b.Group = append(b.Reward, w.reward[y]), append(b.Group, 0)
		b.ScoreNorm = append(b.ScoreNorm, math.Sqrt(norm)) // the score of tabular tokens in distinct states is orthogonal
		b.GreedyReward = append(b.GreedyReward, .3)
		b.Offsets = append(b.Offsets, len(b.Mask))
	}
	return b
}

// expectation is the expectation of the gradient over all groups of two: the mean over the
// group of Σ_t A_t·∇ log pi. want is the same with the given advantage.
func (w *world) expectation(t *testing.T, e Estimator, want func(y [2]int, i, t int) float64) (got, theory gradient) {
	for first := range w.reward {
		for second := range w.reward {
			y := [2]int{first, second}
			p := w.probability(first) * w.probability(second) / 2
			b := w.group(first, second)
			estimate(t, e, b)
			for i := range y {
				for k := range steps {
					w.add(&got, y[i], k, p*b.Advantage[i*steps+k])
					if want != nil {
						w.add(&theory, y[i], k, p*want(y, i, k))
					}
				}
			}
		}
	}
	return got, theory
}

// off is the largest difference of got from c times want.
func off(got, want gradient, c float64) (d float64) {
	for s := range got {
		for k := range got[s] {
			d = max(d, math.Abs(got[s][k]-c*want[s][k]))
		}
	}
	return d
}

// Estimators whose baseline leaves the response itself out are unbiased; a
// group mean that includes it shrinks the gradient by exactly (G−1)/G.
// Reference: arXiv 2402.14740, section 2; arXiv 2503.20783, appendix A.
func TestExactness(t *testing.T) {
	for seed := range uint64(5) {
		w := newWorld(seed)
		for _, c := range []struct {
			name   string
			e      Estimator
			factor float64
		}{
			{"rloo", &RLOO{Asymmetry: symmetric, Singleton: "zero"}, 1},
			{"normalize, leave one out", &Normalize{Asymmetry: symmetric, Mean: "group", Std: "none", LeaveOneOut: true}, 1},
			{"reinforce", &Reinforce{Asymmetry: symmetric, Gamma: 1, Holes: Carry}, 1},
			{"remax", &ReMax{Asymmetry: symmetric}, 1},
			{"gae of values of the state", &GAE{Asymmetry: symmetric, Gamma: 1, Lam: 1, Holes: Carry}, 1},
			{"grpo without std", &GRPO{Asymmetry: symmetric, Singleton: "raw"}, .5},
			{"opo at equal lengths", &OPO{Asymmetry: symmetric}, .5},
			{"turn level without std, one turn", &TurnLevel{Asymmetry: symmetric, Gamma: 1, Baseline: "group"}, .5},
		} {
			got, _ := w.expectation(t, withValues(w, c.e), nil)
			if d := off(got, w.truth(), c.factor); d > 1e-12 {
				t.Errorf("seed %d, %s: not %v times the gradient, off by %g", seed, c.name, c.factor, d)
			}
		}
	}
}

// valued gives gae a value per state, here an arbitrary one: any function of
// the state leaves the gradient unbiased at lambda 1.
type valued struct{ Estimator }

func withValues(_ *world, e Estimator) Estimator { return &valued{e} }

func (v *valued) Estimate(b *batch.Batch) error {
	b.Value = batch.Zeroed(b.Value, b.Tokens())
	for n := range b.Value {
		// The state of a first token is the empty prefix; the state of a second is
		// identified by the first token's probability.
		b.Value[n] = .4
		if n%steps == 1 {
			b.Value[n] = math.Sin(b.Old.Logp[n-1])
		}
	}
	return v.Estimator.Estimate(b)
}

// Baselines that include the response itself are biased by the expectation of
// the baseline times the score, and by nothing else: OPOB with the squared score
// norm, the token baseline with the energy gathered up to the position.
func TestBiasOfOwnBaselines(t *testing.T) {
	for seed := range uint64(5) {
		w := newWorld(seed)
		truth := w.truth()
		energy := func(y, upTo int) (sum float64) {
			for k := range upTo + 1 {
				s, a := node(y, k)
				q := w.pi[s]
				sum += 1 - 2*q[a] + q[0]*q[0] + q[1]*q[1]
			}
			return sum
		}
		for _, c := range []struct {
			name     string
			e        Estimator
			baseline func(y [2]int, k int) float64
		}{
			{"opob", &OPOB{Asymmetry: symmetric, Weighted: true, Cap: math.Inf(1), Aggregate: "mean"}, func(y [2]int, _ int) float64 {
				a, b := energy(y[0], 1), energy(y[1], 1)
				return (a*w.reward[y[0]] + b*w.reward[y[1]]) / (a + b)
			}},
			{"otb", &OTB{Asymmetry: symmetric, Scale: "increment"}, func(y [2]int, k int) float64 {
				a, b := energy(y[0], k), energy(y[1], k)
				return (a*w.reward[y[0]] + b*w.reward[y[1]]) / (a + b)
			}},
		} {
			got, bias := w.expectation(t, c.e, func(y [2]int, _, k int) float64 { return c.baseline(y, k) })
			for s := range got {
				for k := range got[s] {
					got[s][k] += bias[s][k]
				}
			}
			if d := off(got, truth, 1); d > 1e-12 {
				t.Errorf("seed %d, %s: estimate and bias do not add up to the gradient, off by %g", seed, c.name, d)
			}
			if d := off(bias, gradient{}, 0); d < 1e-3 {
				t.Errorf("seed %d, %s: the bias is %g, the example does not show it", seed, c.name, d)
			}
		}
	}
}

// The constant baseline that OPOB computes from all responses, instead of a
// group's, has no bias left and the least variance of all constants.
// Reference: arXiv 2602.17616, equation of the optimal off-policy baseline.
func TestOPOBHasLeastVariance(t *testing.T) {
	w := newWorld(1)
	numerator, denominator := 0.0, 0.0
	variance := func(b float64) (v float64) {
		for y, r := range w.reward {
			g := w.group(y)
			v += w.probability(y) * (r - b) * (r - b) * g.ScoreNorm[0] * g.ScoreNorm[0]
		}
		return v
	}
	for y, r := range w.reward {
		n := w.group(y).ScoreNorm[0]
		numerator += w.probability(y) * n * n * r
		denominator += w.probability(y) * n * n
	}
	best := numerator / denominator
	for _, step := range []float64{-.1, -1e-3, 1e-3, .1} {
		if variance(best+step) <= variance(best) {
			t.Errorf("a baseline %v away has less variance", step)
		}
	}
	// The estimator computes the same number when a group holds the responses in
	// proportion to their probability.
	exact := &world{pi: [nodes][actions]float64{{.5, .5}, {.75, .25}, {.5, .5}}, reward: w.reward}
	b := exact.group(0, 0, 0, 1, 2, 2, 3, 3) // probabilities 3/8, 1/8, 2/8, 2/8
	estimate(t, &OPOB{Asymmetry: symmetric, Weighted: true, Cap: math.Inf(1), Aggregate: "mean"}, b)
	numerator, denominator = 0, 0
	for y, r := range exact.reward {
		n := exact.group(y).ScoreNorm[0]
		numerator += exact.probability(y) * n * n * r
		denominator += exact.probability(y) * n * n
	}
	if got := exact.reward[0] - b.Advantage[0]; math.Abs(got-numerator/denominator) > 1e-12 {
		t.Errorf("baseline %v, want %v", got, numerator/denominator)
	}
}
