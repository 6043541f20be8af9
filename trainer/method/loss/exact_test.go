package loss

import (
	"math"
	"math/rand/v2"
	"testing"

	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
)

// A tabular policy over V = 3 tokens and T = 3 steps: the state is the prefix,
// one row of logits each. Every expectation below is a sum over all 27
// sequences, so unbiased estimators must be unbiased to rounding.

const (
	vocab  = 3
	steps  = 3
	states = 1 + vocab + vocab*vocab
)

type tabular [states][vocab]float64

func randomTabular(seed uint64) *tabular {
	r := rand.New(rand.NewPCG(seed, 5))
	var p tabular
	for s := range p {
		sum := 0.0
		for a := range vocab {
			p[s][a] = r.NormFloat64()
			sum += math.Exp(p[s][a])
		}
		for a := range vocab {
			p[s][a] -= math.Log(sum)
		}
	}
	return &p
}

// eachSequence calls visit with every sequence, its states and its log-probs under p.
func eachSequence(visit func(tokens, at [steps]int)) {
	for y := range vocab * vocab * vocab {
		tokens := [steps]int{y / 9, y / 3 % 3, y % 3}
		visit(tokens, [steps]int{0, 1 + tokens[0], 1 + vocab + vocab*tokens[0] + tokens[1]})
	}
}

// score is an arbitrary reward of a sequence.
func score(tokens [steps]int) float64 {
	return math.Sin(float64(1 + tokens[0] + 3*tokens[1] + 7*tokens[2]))
}

// expectedGradient is Σ_y mu(y)·(d loss(y)/d logits) over all sequences, where
// loss is evaluated on the batch of that one sequence.
func expectedGradient(t *testing.T, pi, mu, ref *tabular, advantage func(tokens, at [steps]int) [steps]float64,
	eval func(out *Grad, in *batch.Batch) error) (gradient tabular) {
	t.Helper()
	out := &Grad{}
	eachSequence(func(tokens, at [steps]int) {
		b := &batch.Batch{Sampled: batch.Sampled{Offsets: []int{0, steps}, Mask: []bool{true, true, true}, Group: []int{0}}}
		probability := 1.0
		for s, a := range tokens {
			b.Now.Logp = append(b.Now.Logp, pi[at[s]][a])
			b.LogpRoll = append(b.LogpRoll, mu[at[s]][a])
			b.Ref.Logp = append(b.Ref.Logp, ref[at[s]][a])
			probability *= math.Exp(mu[at[s]][a])
		}
		b.Anchor = b.LogpRoll
		b.Advantage = make([]float64, steps)
		if advantage != nil {
			a := advantage(tokens, at)
			copy(b.Advantage, a[:])
		}
		must(t, eval(out, b))
		for s, token := range tokens {
			for a := range vocab {
				gradient[at[s]][a] += probability * out.DLogp[s] * (count(a == token) - math.Exp(pi[at[s]][a]))
			}
		}
	})
	return gradient
}

// policyGradient is -d E_pi[score]/d logits, by the score function under pi.
func policyGradient(pi *tabular) (gradient tabular) {
	eachSequence(func(tokens, at [steps]int) {
		probability := 1.0
		for s, a := range tokens {
			probability *= math.Exp(pi[at[s]][a])
		}
		for s, token := range tokens {
			for a := range vocab {
				gradient[at[s]][a] -= probability * score(tokens) * (count(a == token) - math.Exp(pi[at[s]][a]))
			}
		}
	})
	return gradient
}

// klGradient is d KL(pi‖ref)/d logits summed over states with weight reach.
func klGradient(pi, ref *tabular, reach [states]float64) (gradient tabular) {
	for s := range pi {
		row := make([]float64, vocab)
		klRow(row, pi[s][:], ref[s][:], reach[s])
		copy(gradient[s][:], row)
	}
	return gradient
}

// reach is the probability of visiting each state under p.
func (p *tabular) reach() (r [states]float64) {
	eachSequence(func(tokens, at [steps]int) {
		probability := 1.0
		for s, a := range tokens {
			probability *= math.Exp(p[at[s]][a])
		}
		for _, s := range at {
			r[s] += probability
		}
	})
	return r
}

// distance is the largest difference of two gradients.
func distance(a, b tabular) float64 {
	d := 0.0
	for s := range a {
		for i := range a[s] {
			d = max(d, math.Abs(a[s][i]-b[s][i]))
		}
	}
	return d
}

func terminal(tokens, _ [steps]int) [steps]float64 {
	s := score(tokens)
	return [steps]float64{s, s, s}
}

func TestImportanceSamplingIsExact(t *testing.T) {
	pi, mu := randomTabular(1), randomTabular(2)
	want, sum := policyGradient(pi), Aggregation{Mode: "token-sum"}
	perRow := Aggregation{Mode: "seq-mean-token-mean"}
	sequence := &ImportanceSampling{Level: "sequence", Anchor: Roll, Aggregation: perRow}
	// seq-mean-token-mean has 1e-8 in its denominator.
	if d := distance(expectedGradient(t, pi, mu, mu, terminal, sequence.Eval), want); d > 1e-8 {
		t.Errorf("sequence importance sampling misses the on-policy gradient by %g", d)
	}
	exact := &ImportanceSampling{Level: "sequence", Anchor: Roll, Aggregation: Aggregation{Mode: "grpo"}}
	if d := distance(expectedGradient(t, pi, mu, mu, terminal, exact.Eval), want); d > 1e-12 {
		t.Errorf("sequence importance sampling misses the on-policy gradient by %g", d)
	}
	onPolicy := &Reinforce{Anchor: Roll, Aggregation: sum}
	if d := distance(expectedGradient(t, pi, pi, mu, terminal, onPolicy.Eval), want); d > 1e-12 {
		t.Errorf("REINFORCE on-policy misses its own gradient by %g", d)
	}
	for name, l := range map[string]Loss{
		"token importance sampling": &ImportanceSampling{Level: "token", Anchor: Roll, Aggregation: sum},
		"REINFORCE off-policy":      onPolicy,
		"VESPO":                     &VESPO{KPos: 2, LambdaPos: 3, KNeg: 3, LambdaNeg: 2, Aggregation: sum},
	} {
		if d := distance(expectedGradient(t, pi, mu, mu, terminal, l.Eval), want); d < 1e-3 {
			t.Errorf("%s should be biased, and misses by %g only", name, d)
		}
	}
}

// TestPrefixRatioIsExactOnlyForPrefixAdvantages: unclipped CTPO with the exact
// Q of pi gives the on-policy gradient; with a sampled terminal reward it gives
// the gradient of E[Q_mu] instead.
func TestPrefixRatioIsExactOnlyForPrefixAdvantages(t *testing.T) {
	pi, mu := randomTabular(3), randomTabular(4)
	open := &CTPO{Low: 100, High: 100, Dual: 100, Form: "product", Aggregation: Aggregation{Mode: "token-sum"}}
	want := policyGradient(pi)
	if d := distance(expectedGradient(t, pi, mu, mu, valuesOf(pi), open.Eval), want); d > 1e-12 {
		t.Errorf("with Q of pi the prefix ratio misses by %g", d)
	}
	got := expectedGradient(t, pi, mu, mu, terminal, open.Eval)
	if d := distance(got, want); d < 1e-3 {
		t.Errorf("with a terminal reward the prefix ratio should be biased, and misses by %g only", d)
	}
	if d := distance(got, expectedGradient(t, pi, mu, mu, valuesOf(mu), open.Eval)); d > 1e-12 {
		t.Errorf("with a terminal reward the prefix ratio is not the gradient with Q of mu: off by %g", d)
	}
}

// valuesOf returns Q(state, token) of the policy that completes a sequence.
func valuesOf(p *tabular) func(tokens, at [steps]int) [steps]float64 {
	return func(tokens, _ [steps]int) (q [steps]float64) {
		for s := range steps {
			eachSequence(func(y, at [steps]int) {
				weight := 1.0
				for k := range steps {
					if k <= s && y[k] != tokens[k] {
						return
					}
					if k > s {
						weight *= math.Exp(p[at[k]][y[k]])
					}
				}
				q[s] += weight * score(y)
			})
		}
		return q
	}
}

// TestKLEstimatorsByEnumeration: values of k1 and k3 are unbiased, that of k2
// is not; gradients of k2, k1+ and k3+ are exact on-policy, that of k1 vanishes,
// that of k3 is biased; DeepSeek-V3.2's is exact off-policy, and only with the
// ratio in the graph.
func TestKLEstimatorsByEnumeration(t *testing.T) {
	pi, ref := randomTabular(5), randomTabular(6)
	reach := pi.reach()
	exact := 0.0
	for s := range pi {
		exact += reach[s] * klRow(nil, pi[s][:], ref[s][:], 0)
	}
	want := klGradient(pi, ref, reach)
	for _, c := range []struct {
		e                        Estimator
		valueExact, gradientZero bool
		gradientExact            bool
	}{
		{K1, true, true, false}, {K2, false, false, true}, {K3, true, false, false},
		{K1Plus, true, false, true}, {K3Plus, true, false, true}, {Abs, false, false, false},
	} {
		value := 0.0
		for s := range pi {
			for a := range vocab {
				k, _ := c.e.At(pi[s][a]-ref[s][a], KLBounds{})
				value += reach[s] * math.Exp(pi[s][a]) * k
			}
		}
		if (math.Abs(value-exact) < 1e-12) != c.valueExact {
			t.Errorf("%s: mean value %.12f, the KL is %.12f", c.e, value, exact)
		}
		term := NewKLTerm(c.e)
		term.Coef, term.Bounds, term.Aggregation.Mode = 1, KLBounds{}, "token-sum"
		got := expectedGradient(t, pi, pi, ref, nil, added(term))
		if (distance(got, tabular{}) < 1e-12) != c.gradientZero {
			t.Errorf("%s: gradient is %v", c.e, got)
		}
		if (distance(got, want) < 1e-12) != c.gradientExact {
			t.Errorf("%s: gradient misses that of the KL by %g", c.e, distance(got, want))
		}
	}
	mu := randomTabular(7)
	offPolicy := klGradient(pi, ref, mu.reach()) // the states are mu's
	unbiased := &UnbiasedKL{Coef: 1, In: InLoss, Anchor: Roll, Level: "token", Aggregation: Aggregation{Mode: "token-sum"}}
	if d := distance(expectedGradient(t, pi, mu, ref, nil, added(unbiased)), offPolicy); d > 1e-12 {
		t.Errorf("V3.2's KL misses by %g off-policy", d)
	}
	k3 := NewKLTerm(K3)
	k3.Coef, k3.Bounds, k3.Aggregation.Mode = 1, KLBounds{}, "token-sum"
	detached := func(out *Grad, in *batch.Batch) error { // x·(1 - exp(u)) with x detached
		if err := added(k3)(out, in); err != nil {
			return err
		}
		for n := range out.DLogp {
			out.DLogp[n] *= math.Exp(in.Now.Logp[n] - in.LogpRoll[n])
		}
		return nil
	}
	if d := distance(expectedGradient(t, pi, mu, ref, nil, detached), offPolicy); d < 1e-2 {
		t.Errorf("with the ratio detached the gradient should be biased, and misses by %g only", d)
	}
}

// TestDecoupledGradientNeedsNoSampler: around a proximal policy of its own, PPO's expected gradient does not depend on the policy that
// sampled the tokens, where it visits the same states: how old a batch is, and so how many responses an update takes, can change without it
// (batch-size invariance, arXiv 2110.00641). Around the sampler it depends on it.
func TestDecoupledGradientNeedsNoSampler(t *testing.T) {
	pi, prox, one := randomTabular(11), randomTabular(12), randomTabular(13)
	other := *one
	copy(other[1+vocab:], randomTabular(14)[1+vocab:]) // the last token alone is drawn otherwise
	decoupled := method.New[DecoupledPPO]()
	decoupled.Cap = 0
	for _, c := range []struct {
		loss      Loss
		proximal  bool
		invariant bool
	}{{decoupled, true, true}, {method.New[PPOClip](), false, false}} {
		var gradient [2]tabular
		for k, mu := range []*tabular{one, &other} {
			gradient[k] = expectedGradient(t, pi, mu, prox, func(tokens, at [steps]int) (a [steps]float64) {
				for s := range a {
					a[s] = math.Sin(float64(at[s] + 5*tokens[s]))
				}
				return a
			}, func(out *Grad, in *batch.Batch) error {
				if c.proximal {
					in.Anchor = in.Ref.Logp
				}
				return c.loss.Eval(out, in)
			})
		}
		if d := distance(gradient[0], gradient[1]); (d < 1e-12) != c.invariant {
			t.Errorf("%T: the gradients of two samplers are %g apart", c.loss, d)
		}
	}
}

// added evaluates a KL term alone.
func added(k KL) func(*Grad, *batch.Batch) error {
	return func(out *Grad, in *batch.Batch) error {
		out.Reset(in.Tokens())
		return k.AddLoss(out, in)
	}
}

// TestMaxRLIsTheGradientOfLogSuccess: with no baseline, the expected gradient
// over groups is the gradient of log P(success), for a group that is the population.
func TestMaxRLIsTheGradientOfLogSuccess(t *testing.T) {
	pi := randomTabular(8)
	success := func(tokens [steps]int) float64 { return count(score(tokens) > 0) }
	// One response per sequence, weighted by its probability: the group mean is then P(success).
	p := 0.0
	var want tabular
	eachSequence(func(tokens, at [steps]int) {
		probability := 1.0
		for s, a := range tokens {
			probability *= math.Exp(pi[at[s]][a])
		}
		p += probability * success(tokens)
		for s, token := range tokens {
			for a := range vocab {
				want[at[s]][a] -= probability * success(tokens) * (count(a == token) - math.Exp(pi[at[s]][a]))
			}
		}
	})
	var got tabular
	eachSequence(func(tokens, at [steps]int) {
		b := &batch.Batch{
			Sampled: batch.Sampled{Offsets: []int{0, 1, 1 + steps}, Mask: []bool{true, true, true, true}, Group: []int{0, 0}},
			Now:     batch.Scored{Logp: []float64{-1}},
		}
		probability := 1.0
		for s, a := range tokens {
			b.Now.Logp = append(b.Now.Logp, pi[at[s]][a])
			probability *= math.Exp(pi[at[s]][a])
		}
		// The first response carries what makes the mean P(success).
		b.Reward = []float64{2*p - success(tokens), success(tokens)}
		l := &MaxRL{Epsilon: 1e-300, Aggregation: Aggregation{Mode: "token-sum"}}
		out := eval(t, l, b)
		for s, token := range tokens {
			for a := range vocab {
				got[at[s]][a] += probability * out.DLogp[1+s] * (count(a == token) - math.Exp(pi[at[s]][a]))
			}
		}
	})
	for s := range want {
		for a := range want[s] {
			want[s][a] /= p
		}
	}
	if d := distance(got, want); d > 1e-12 {
		t.Errorf("MaxRL misses the gradient of log P(success) by %g", d)
	}
}
