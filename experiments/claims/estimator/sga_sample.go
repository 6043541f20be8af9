package estimator

import (
	"driftlab/experiments/stats"
	"driftlab/precision/elementary"
	"math"
	"math/rand/v2"
)

// sgaSums are sums over the responses of a group: of the gradients and of their
// squared norms.
type sgaSums struct {
	first  [sgaParams]float64
	second float64
}

// sampleSGA samples responses from mu and sums every estimator's gradient at
// pi, by group: [estimator][group].
func sampleSGA(rng *rand.Rand, p *sgaProcess, muLogits, piLogits *sgaPolicy, responses int) [][]sgaSums {
	mu, pi := muLogits.probabilities(), piLogits.probabilities()
	var ratio sgaPolicy
	for s := range ratio {
		for a := range ratio[s] {
			ratio[s][a] = elementary.Log(pi[s][a] / mu[s][a])
		}
	}
	baseline, _ := p.gradient(muLogits)
	out := make([][]sgaSums, len(sgaEstimators))
	for k := range out {
		out[k] = make([]sgaSums, sgaGroups)
	}
	state, token, logs := make([]uint8, p.length), make([]uint8, p.length), make([]float64, p.length)
	weight := make([]float64, p.length)
	for i := range responses {
		gain := p.episode(rng, &mu, state, token) - baseline
		for t := range logs {
			logs[t] = ratio[state[t]][token[t]]
		}
		for k := range sgaEstimators {
			sgaWeights(weight, logs, k)
			var g [sgaParams]float64
			for t, w := range weight {
				row := int(state[t]) * sgaTokens
				for a := range sgaTokens {
					g[row+a] -= float64(w * gain * pi[state[t]][a])
				}
				g[row+int(token[t])] += float64(w * gain)
			}
			sums := &out[k][i%sgaGroups]
			for j, v := range g {
				sums.first[j] += v
			}
			sums.second += stats.Dot(g[:], g[:])
		}
	}
	return out
}

// sgaWeights fills the weight of every token under estimator k.
func sgaWeights(w, logs []float64, k int) {
	total := 0.0
	for _, l := range logs {
		total += l
	}
	n := float64(len(logs))
	switch name := sgaEstimators[k]; name {
	case "no IS":
		fill(w, 1)
	case "token IS", "token TIS":
		for t, l := range logs {
			if w[t] = elementary.Exp(l); name == "token TIS" {
				w[t] = min(w[t], 2)
			}
		}
	case "geometric":
		fill(w, elementary.Exp(total/n))
	case "product^(1/√T)":
		fill(w, elementary.Exp(total/math.Sqrt(n)))
	case "prefix":
		sum := 0.0
		for t, l := range logs {
			sum += l
			w[t] = elementary.Exp(sum)
		}
	case "sequence TIS":
		fill(w, min(elementary.Exp(total), 2))
	case "sequence IS":
		fill(w, elementary.Exp(total))
	case "block 4", "block 16", "block 64":
		size := map[string]int{"block 4": 4, "block 16": 16, "block 64": 64}[name]
		for from := 0; from < len(logs); from += size {
			to := min(from+size, len(logs))
			sum := 0.0
			for _, l := range logs[from:to] {
				sum += l
			}
			fill(w[from:to], elementary.Exp(sum))
		}
	}
}

func fill(x []float64, v float64) {
	for i := range x {
		x[i] = v
	}
}

// efficiencies computes bias, variance of a batch and efficiency of every
// estimator from the groups in the pool. The squared bias is corrected for the
// noise of the estimated mean, and not below zero.
func efficiencies(groups [][]sgaSums, pool []int, responses int, truth [sgaParams]float64) (bias, variance, power []float64) {
	n := float64(responses)
	for k := range groups {
		var mean [sgaParams]float64
		second := 0.0
		for _, at := range pool {
			for j, v := range groups[k][at].first {
				mean[j] += v / n
			}
			second += groups[k][at].second / n
		}
		trace := second - stats.Dot(mean[:], mean[:])
		var off [sgaParams]float64
		for j := range off {
			off[j] = mean[j] - truth[j]
		}
		square := max(stats.Dot(off[:], off[:])-trace/n, 0)
		along := stats.Dot(truth[:], mean[:])
		bias, variance = append(bias, math.Sqrt(square)), append(variance, trace/sgaBatch)
		power = append(power, along*along/(float64(trace/sgaBatch)+square))
	}
	return bias, variance, power
}
