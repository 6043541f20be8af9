package measurements

import (
	"math"
	"math/rand/v2"

	"driftlab/experiments/study/claims/claim"
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
			for t := range m.next[s][a] {
				m.next[s][a][t] = stream.Exponential(rng)
			}
			normalised(m.next[s][a][:])
			m.reward[s][a] = stream.Normal(rng)
		}
	}
	return m
}

func softmax(logits choice) choice {
	for s := range logits {
		copy(logits[s][:], law(logits[s][:]))
	}
	return logits
}

// solve returns the value of every state and the discounted share of visits to
// it from a uniform start, which sums to one.
func (m *process) solve(p choice) (value, visits []float64) {
	var a, transposed [boundStates][]float64 // by columns
	reward, start := make([]float64, boundStates), make([]float64, boundStates)
	for s := range boundStates {
		a[s], transposed[s] = make([]float64, boundStates), make([]float64, boundStates)
	}
	for s := range boundStates {
		a[s][s]++
		transposed[s][s]++
		start[s] = (1 - boundGamma) / boundStates
		for k := range boundActions {
			reward[s] += float64(p[s][k] * m.reward[s][k])
			for t := range boundStates {
				visit := float64(boundGamma * p[s][k] * m.next[s][k][t])
				a[t][s] -= visit
				transposed[s][t] -= visit
			}
		}
	}
	// Diagonally dominant: gamma is below one.
	value, ok := stats.Solve(a[:], reward)
	visits, too := stats.Solve(transposed[:], start)
	if !ok || !too {
		panic("three_policy_bound: no value of a policy")
	}
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
func variation(visits []float64, p, q choice) (largest, mean float64) {
	for s := range boundStates {
		sum := apart(p[s][:], q[s][:])
		largest = max(largest, sum)
		mean += float64(visits[s] * sum)
	}
	return largest, mean
}

// shifted is softmax(logits + scale·direction), the scale chosen by bisection so
// that in the state where it moves most the policy lies at the wanted variation
// from that of the logits.
func shifted(logits, direction choice, want float64) (choice, choice) {
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
		largest, _ := variation(make([]float64, boundStates), from, p)
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

func randomLogits(rng *rand.Rand) (l choice) {
	for s := range l {
		for a := range l[s] {
			l[s][a] = stream.Normal(rng)
		}
	}
	return l
}

// tenths are the median, the lowest tenth and the highest.
func tenths(x []float64) []float64 {
	order := stats.Order(x)
	return []float64{x[order[len(order)/2]], x[order[len(order)/10]], x[order[len(order)*9/10]]}
}

// advantages are the advantages of the actions under the policy with the given values.
func (m *process) advantages(value []float64) (out choice) {
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

// policyBound compares the bound J ≥ L_mu − C(α0 + α1) of three policies (2512.23075; TRPO,
// 1502.05477; CPO, 1705.10528) with |J − L|: mu samples, old is mu in another engine and pi an update
// of old.
type policyBound struct {
	Policies sizes
	// Largest is the largest total variation of either change; Matched are the two that are compared
	// where an engine makes one and staleness the other.
	Largest float64
	Matched [2]float64
}

// Measure records violations, the room of the theorem and of its sharper form over |J − L| (median, lowest and
// highest tenth), and log |J − L| of the engine-heavy minus the staleness-heavy change.
func (m *policyBound) Measure(e *claim.Env, o *claim.Observation) {
	rng := e.Rand(1)
	violations := 0.0
	var ratios, sharp, effect []float64
	for range m.Policies.of(e) {
		mdp := randomProcess(rng)
		logits := randomLogits(rng)
		mu := softmax(logits)
		value, visits := mdp.solve(mu)
		oldLogits, old := shifted(logits, randomLogits(rng), m.Largest*rng.Float64())
		_, p := shifted(oldLogits, randomLogits(rng), m.Largest*rng.Float64())
		engineMost, engineMean := variation(visits, mu, old)
		staleMost, staleMean := variation(visits, old, p)
		b := mdp.bound(mu, p)
		gap := math.Abs(b.truth - b.surrogate)
		room := func(penalty float64) float64 { return b.truth - (b.surrogate - penalty) }
		theorem, tight := room(float64(b.theorem*(engineMost+staleMost))), room(float64(b.sharp*(engineMean+staleMean)))
		if min(theorem, tight) < -1e-9 {
			violations++
		}
		ratios, sharp = append(ratios, theorem/gap), append(sharp, tight/gap)

		engine, gradient := randomLogits(rng), mdp.advantages(value)
		gapOf := func(a0, a1 float64) float64 { return mdp.logGap(logits, engine, gradient, a0, a1) }
		effect = append(effect, gapOf(m.Matched[0], m.Matched[1])-gapOf(m.Matched[1], m.Matched[0]))
	}
	o.Set("violations", violations)
	o.Set("room over gap", tenths(ratios)...)
	o.Set("room over gap, sharper", tenths(sharp)...)
	o.Set("engine minus staleness", stats.Average(effect))
}

// logGap is log |J − L| after changes of the logits by an engine and along a gradient, of these variations.
func (m *process) logGap(logits, engine, gradient choice, a0, a1 float64) float64 {
	l, _ := shifted(logits, engine, a0)
	_, p := shifted(l, gradient, a1)
	b := m.bound(softmax(logits), p)
	return elementary.Log(math.Abs(b.truth - b.surrogate))
}

// gapExponent fits the power of α0 + α1 with which |J − L_mu| grows, half of it an engine's random
// change of mu and half a change along the advantages.
type gapExponent struct {
	Processes sizes
	// Variations are α0 + α1.
	Variations []float64
}

// Measure records the mean slope, and |J − L| by variation.
func (m *gapExponent) Measure(e *claim.Env, o *claim.Observation) {
	rng := e.Rand(1)
	n := m.Processes.of(e)
	x := stats.Logs(m.Variations)
	mean := make([]float64, len(x))
	slope := 0.0
	for range n {
		mdp := randomProcess(rng)
		logits := randomLogits(rng)
		value, _ := mdp.solve(softmax(logits))
		engine, gradient := randomLogits(rng), mdp.advantages(value)
		y := make([]float64, len(x))
		for i, a := range m.Variations {
			y[i] = mdp.logGap(logits, engine, gradient, a/2, a/2)
			mean[i] += y[i] / float64(n)
		}
		slope += stats.Slope(x, y) / float64(n)
	}
	o.Set("slope", slope)
	o.Set("gap", stats.Each(mean, elementary.Exp)...)
}
