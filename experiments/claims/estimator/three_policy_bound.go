package estimator

import (
	"context"
	"math"
	"math/rand/v2"

	"driftlab/experiments/claims/claim"
	"driftlab/precision/elementary"
	"driftlab/results/stats"
	"driftlab/trainer/method/stream"
)

// The Markov decision processes of three-policy-bound.
const (
	boundStates  = 4
	boundActions = 3
	boundGamma   = 0.9
)

func threePolicyBound() claim.Claim {
	return claim.Claim{
		ID:        "three-policy-bound",
		Title:     "The three-policy bound leaves more than ten times the gap that is there",
		Statement: "In small discounted decision processes the bound J >= L_mu - C(alpha0 + alpha1) leaves more than ten times as much room as J and L_mu are apart.",
		Source:    "Trust region masking, 2512.23075; after TRPO (1502.05477) and CPO (1705.10528).",
		Figure:    "C = 2 eps gamma/(1 - gamma)^2; at 4,096 tokens and KL 1e-4 bounds of 1677, 35 and 8.2",
		Threshold: "Median over 1,000 random policies of (J - bound)/|J - L|: interval over the draws above 10. Violations of the bound, in 10,000 policies, are counted separately.",
		Setup: "Random decision processes of 4 states and 3 actions, discount 0.9, solved exactly. The bound is the theorem's: eps is the largest |A_mu(s, a)| and alpha the largest total variation over the states. " +
			"The sharper one, with the largest |E_pi A_mu(s, a)| and means over the states that mu visits, is reported. " +
			"Engine gap: a random change of the logits of mu. Staleness: a change along the advantages of mu, the direction of a policy gradient; to compare the two, their largest total variations are matched, 0.1 and 0.02.",
		Declared: claim.Declaration{When: claim.Revised, Date: "2026-11-21", Verdict: claim.Reproduced,
			Check: "all 2 checks in five seeds, met; the leading one: median of slack over |J - L|: interval above 10"},
		Unit:    claim.Draw,
		Version: 2,
		Measure: measureBound,
		Judge:   judgeBound,
	}
}

// process is a random decision process.
type process struct {
	next   [boundStates][boundActions][boundStates]float64
	reward [boundStates][boundActions]float64
}

// choice is a policy.
type choice [boundStates][boundActions]float64

func randomProcess(rng *rand.Rand) *process {
	m := new(process)
	for s := range m.next {
		for a := range m.next[s] {
			sum := 0.0
			for t := range m.next[s][a] {
				m.next[s][a][t] = stream.Exponential(rng)
				sum += m.next[s][a][t]
			}
			for t := range m.next[s][a] {
				m.next[s][a][t] /= sum
			}
			m.reward[s][a] = stream.Normal(rng)
		}
	}
	return m
}

// softmax is the policy of logits.
func softmax(logits choice) choice {
	for s := range logits {
		sum := 0.0
		for a := range logits[s] {
			logits[s][a] = elementary.Exp(logits[s][a])
			sum += logits[s][a]
		}
		for a := range logits[s] {
			logits[s][a] /= sum
		}
	}
	return logits
}

// solve returns the value of every state and the discounted share of visits to
// it from a uniform start, which sums to one.
func (m *process) solve(p choice) (value, visits [boundStates]float64) {
	var a, transposed [boundStates][]float64 // by columns
	reward, start := make([]float64, boundStates), make([]float64, boundStates)
	for s := range boundStates {
		a[s], transposed[s] = make([]float64, boundStates), make([]float64, boundStates)
	}
	for s := range boundStates {
		a[s][s]++
		start[s] = (1 - boundGamma) / boundStates
		for k := range boundActions {
			reward[s] += float64(p[s][k] * m.reward[s][k])
			for t := range boundStates {
				a[t][s] -= float64(boundGamma * p[s][k] * m.next[s][k][t])
			}
		}
	}
	for s := range boundStates {
		for t := range boundStates {
			transposed[s][t] = a[t][s]
		}
	}
	// Diagonally dominant: gamma is below one.
	v, ok := stats.Solve(a[:], reward)
	d, too := stats.Solve(transposed[:], start)
	if !ok || !too {
		panic("three_policy_bound: no value of a policy")
	}
	copy(value[:], v)
	copy(visits[:], d)
	return value, visits
}

// bounds are the true return of a policy, the surrogate around mu, and two
// penalties per unit of total variation from mu: the theorem's, by the largest
// |A|, and the sharper one by the largest gain of a state.
type bounds struct{ truth, surrogate, theorem, sharp float64 }

func (m *process) bound(mu, p choice) (b bounds) {
	value, visits := m.solve(mu)
	reached, _ := m.solve(p)
	advantage := m.advantages(value)
	for s := range boundStates {
		b.truth += float64(reached[s] / boundStates)
		b.surrogate += float64(value[s] / boundStates)
		gain := 0.0
		for a, v := range advantage[s] {
			gain += float64(p[s][a] * v)
			b.theorem = max(b.theorem, math.Abs(v))
		}
		b.surrogate += visits[s] * gain / (1 - boundGamma)
		b.sharp = max(b.sharp, math.Abs(gain))
	}
	const c = 2 * boundGamma / ((1 - boundGamma) * (1 - boundGamma))
	b.theorem *= c
	b.sharp *= c
	return b
}

// variation is the total variation of two policies: the largest over states,
// and the mean over visits.
func variation(visits [boundStates]float64, p, q choice) (largest, mean float64) {
	for s := range boundStates {
		sum := 0.0
		for a := range boundActions {
			sum += float64(math.Abs(p[s][a]-q[s][a]) / 2)
		}
		largest = max(largest, sum)
		mean += float64(visits[s] * sum)
	}
	return largest, mean
}

// moved is softmax(logits + scale·direction), the scale chosen by bisection so
// that in the state where it moves most the policy lies at the wanted variation
// from that of the logits.
func moved(logits, direction choice, want float64) (choice, choice) {
	at := func(scale float64) (choice, choice) {
		l := logits
		for s := range l {
			for a := range l[s] {
				l[s][a] += float64(scale * direction[s][a])
			}
		}
		return l, softmax(l)
	}
	from := softmax(logits)
	far := func(scale float64) float64 {
		_, p := at(scale)
		largest, _ := variation([boundStates]float64{}, from, p)
		return largest
	}
	low, high := 0.0, 1.0
	for range 60 {
		if far(high) >= want || high > 1e6 {
			break
		}
		high *= 2
	}
	for range 60 {
		middle := (low + high) / 2
		if far(middle) < want {
			low = middle
		} else {
			high = middle
		}
	}
	return at(high)
}

func randomLogits(rng *rand.Rand, sd float64) (l choice) {
	for s := range l {
		for a := range l[s] {
			l[s][a] = sd * stream.Normal(rng)
		}
	}
	return l
}

func measureBound(_ context.Context, e *claim.Env) (*claim.Observation, error) {
	o := new(claim.Observation)
	rng := e.Rand(1)
	violations := 0.0
	var ratios, sharp, effect []float64
	for range e.Pick(1000, 500, 50) {
		m := randomProcess(rng)
		logits := randomLogits(rng, 1)
		mu := softmax(logits)
		value, visits := m.solve(mu)
		oldLogits, old := moved(logits, randomLogits(rng, 1), 0.2*rng.Float64())
		_, p := moved(oldLogits, randomLogits(rng, 1), 0.2*rng.Float64())
		engineMost, engineMean := variation(visits, mu, old)
		staleMost, staleMean := variation(visits, old, p)
		b := m.bound(mu, p)
		gap := math.Abs(b.truth - b.surrogate)
		room := func(penalty float64) float64 { return b.truth - (b.surrogate - penalty) }
		theorem, tight := room(float64(b.theorem*(engineMost+staleMost))), room(float64(b.sharp*(engineMean+staleMean)))
		if min(theorem, tight) < -1e-9 {
			violations++
		}
		ratios, sharp = append(ratios, theorem/gap), append(sharp, tight/gap)

		engine, gradient := randomLogits(rng, 1), m.advantages(value)
		apart := func(a0, a1 float64) float64 {
			l, _ := moved(logits, engine, a0)
			_, p := moved(l, gradient, a1)
			b := m.bound(mu, p)
			return elementary.Log(math.Abs(b.truth - b.surrogate))
		}
		effect = append(effect, apart(0.1, 0.02)-apart(0.02, 0.1))
	}
	o.Set("violations", violations)
	o.Set("room over gap", tenths(ratios)...)
	o.Set("room over gap, sharper", tenths(sharp)...)
	o.Set("engine minus staleness", stats.Average(effect))
	return o, nil
}

// tenths are the median, the lowest tenth and the highest.
func tenths(x []float64) []float64 {
	order := stats.Order(x)
	return []float64{x[order[len(order)/2]], x[order[len(order)/10]], x[order[len(order)*9/10]]}
}

// advantages are those of the policy with the given values.
func (m *process) advantages(value [boundStates]float64) (out choice) {
	for s := range out {
		for a := range out[s] {
			out[s][a] = m.reward[s][a] - value[s]
			for t := range boundStates {
				out[s][a] += float64(boundGamma * m.next[s][a][t] * value[t])
			}
		}
	}
	return out
}

func judgeBound(j *claim.Judge) {
	j.Primary(claim.Above(claim.Exact, "room of the bound over |J - L|, median", j.Entry("room over gap", 0), 10))
	j.Secondary(claim.Zero(claim.Exact, "violations of the bound", j.Column("violations")))
	j.Secondary(claim.Above(claim.Exact, "the same by means over the states visited", j.Entry("room over gap, sharper", 0), 10))
	effect := claim.Report(claim.Exact, "log |J - L|, engine-heavy minus staleness-heavy at matched variation", j.Column("engine minus staleness"))
	j.Secondary(effect)
	j.Evidence.Picture = j.Bars("Room of the bound over the true gap", "(J - bound) / |J - L|", true, []string{"median", "lowest tenth", "highest tenth"},
		j.Listed("largest variation, largest |A|", "room over gap"), j.Listed("means over visits", "room over gap, sharper"))
	switch i := effect.Value; {
	case i.Low > 0:
		j.Note("At matched total variation a random change of the policy, which is what an engine makes, opens the larger gap between J and its surrogate.")
	case i.High < 0:
		j.Note("At matched total variation a change along the gradient, which is what staleness makes, opens the larger gap between J and its surrogate.")
	default:
		j.Note("At matched total variation the two gaps cannot be distinguished here.")
	}
}
