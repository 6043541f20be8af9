package measurements

import (
	"fmt"
	"math"

	"driftlab/experiments/study/claims/claim"
	"driftlab/precision/elementary"
	"driftlab/results/stats"
	"driftlab/trainer/method/stream"
)

// versionTokens is the vocabulary of mixedVersions; a response has two tokens.
const versionTokens = 16

// labelFlips draws groups of responses, each right with the group's own probability, scores them
// with noise around a reference, and compares the signs of advantages under scores and under labels
// +1, 0, -1 by a threshold (CompassMax-V3-Thinking, 2512.07710).
type labelFlips struct {
	Groups    sizes
	Size      int
	Noise     []float64
	Threshold float64
}

// Measure records shares of turned signs under scores and labels and of advantages 0 under labels, by noise.
func (m *labelFlips) Measure(e *claim.Env, o *claim.Observation) {
	rng := e.Rand(1)
	groups := m.Groups.of(e)
	for _, noise := range m.Noise {
		var all, scores, labels, silent float64
		for range groups {
			rate := rng.Float64()
			truth, noisy, label := make([]float64, m.Size), make([]float64, m.Size), make([]float64, m.Size)
			for i := range truth {
				truth[i] = -0.5
				if rng.Float64() < rate {
					truth[i] = 0.5
				}
				truth[i] += float64(0.5*rng.Float64()) - 0.25
				noisy[i] = truth[i] + float64(noise*stream.Normal(rng))
				switch {
				case noisy[i] > m.Threshold:
					label[i] = 1
				case noisy[i] < -m.Threshold:
					label[i] = -1
				}
			}
			a, b, c := stats.Average(truth), stats.Average(noisy), stats.Average(label)
			for i := range truth {
				all++
				if (truth[i]-a)*(noisy[i]-b) < 0 {
					scores++
				}
				switch sign := (truth[i] - a) * (label[i] - c); {
				case sign < 0:
					labels++
				case sign == 0:
					silent++
				}
			}
		}
		o.Set(fmt.Sprint("noise ", noise), scores/all, labels/all, silent/all)
	}
}

// mixedVersions enumerates the gradient of responses of two tokens whose first token an older version
// of the policy sampled: with weights against the newer version, and against each token's own.
type mixedVersions struct {
	Problems sizes
	// Drift is the normal noise between versions, and between the newer one and the learner.
	Drift float64
}

// Measure records the relative errors: newer version alone, own versions, older version alone and uncorrected.
func (m *mixedVersions) Measure(e *claim.Env, o *claim.Observation) {
	rng := e.Rand(1)
	n := m.Problems.of(e)
	var newer, own, stale float64
	for range n {
		// A policy is a distribution of the first token and one of the second after each first token.
		logits := make([][]float64, versionTokens+1)
		for s := range logits {
			for range versionTokens {
				logits[s] = append(logits[s], stream.Normal(rng))
			}
		}
		var versions [3][][]float64
		for v := range versions {
			for s := range logits {
				for a := range logits[s] {
					logits[s][a] += float64(m.Drift * stream.Normal(rng))
				}
				versions[v] = append(versions[v], law(logits[s]))
			}
		}
		old, fresh, pi := versions[0], versions[1], versions[2]
		var gain [versionTokens * versionTokens]float64
		for i := range gain {
			gain[i] = stream.Normal(rng)
		}
		// gradient is the policy gradient on samples from first and second, with weights whose denominators are claimed and then.
		gradient := func(first, second, claimed, then [][]float64) []float64 {
			g := make([]float64, (versionTokens+1)*versionTokens)
			for a := range versionTokens {
				for b := range versionTokens {
					share := float64(first[0][a] * second[a+1][b])
					weight := float64(pi[0][a]*pi[a+1][b]) / float64(claimed[0][a]*then[a+1][b])
					x := float64(share*weight) * gain[a*versionTokens+b]
					for c := range versionTokens {
						g[c] -= float64(x * pi[0][c])
						g[(a+1)*versionTokens+c] -= float64(x * pi[a+1][c])
					}
					g[a] += float64(x)
					g[(a+1)*versionTokens+b] += float64(x)
				}
			}
			return g
		}
		exact := gradient(pi, pi, pi, pi)
		newer += relativeTo(gradient(old, fresh, fresh, fresh), exact) / float64(n)
		own += relativeTo(gradient(old, fresh, old, fresh), exact) / float64(n)
		stale += relativeTo(gradient(old, old, pi, pi), exact) / float64(n)
	}
	o.Set("relative error", newer, own, stale)
}

// relativeTo is the distance from the exact gradient over its length.
func relativeTo(g, exact []float64) float64 {
	d := stats.Differences(g, exact)
	return math.Sqrt(stats.Dot(d, d) / stats.Dot(exact, exact))
}

// regionVariance fits how the KL divergence of an exponentiated step from a prompt's old policy, and
// the multiplier that keeps it at a radius, grow with the variance of the prompt's reward (QUATRO,
// 2602.04620).
type regionVariance struct {
	Prompts      sizes
	Answers      int
	Step, Radius float64
}

// Measure records the slopes of both logs on the log of the variance.
func (m *regionVariance) Measure(e *claim.Env, o *claim.Observation) {
	rng := e.Rand(1)
	var variance, moved, multiplier []float64
	for range m.Prompts.of(e) {
		q := make([]float64, m.Answers)
		for i := range q {
			q[i] = elementary.Exp(stream.Normal(rng))
		}
		rate, mass := rng.Float64(), 0.0
		for _, share := range normalised(q) {
			if rng.Float64() < rate {
				mass += share
			}
		}
		if mass < 0.01 || mass > 0.99 {
			continue
		}
		variance = append(variance, elementary.Log(mass*(1-mass)))
		moved = append(moved, elementary.Log(tilted(mass, m.Step)))
		low, high := 1e-3, 10.
		for range 60 {
			at := math.Sqrt(low * high)
			if tilted(mass, at) < m.Radius {
				low = at
			} else {
				high = at
			}
		}
		multiplier = append(multiplier, -elementary.Log(low))
	}
	o.Set("slope of KL", stats.Slope(variance, moved))
	o.Set("slope of the multiplier", stats.Slope(variance, multiplier))
}

// tilted is the KL divergence from a policy to the one proportional to it times exp(step·reward), of
// the mass of right answers: the answers of one reward keep their shares.
func tilted(mass, step float64) float64 {
	up := float64(mass * elementary.Exp(step))
	z := up + 1 - mass
	return float64(float64(up/z)*step) - elementary.Log(z)
}
