package loss

import (
	"math"

	"driftlab/precision/elementary"
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
)

// ALP is adaptive layerwise perturbation: the policy whose gradient is taken has
// noise on what enters each layer, and learns how much.
//
// The numerator of every ratio is the perturbed policy's; what sampled, the old
// policy and evaluations have no noise. With anchor rollout that is the authors'
// objective, and with σ = 0 it is bypass PPO. σ_l moves by Adam on its logarithm, with
// the gradient that goes through the perturbed pass.
//
// That the logarithm is what learns, and Adam's constants, are ours.
type ALP struct {
	// Sigma is σ of every layer at the start.
	Sigma float64 `yaml:"sigma" default:"1e-4" range:"(0,1]"`
	// LR is the learning rate of log σ; 0 keeps σ.
	LR float64 `yaml:"lr" default:"5e-4" range:"[0,1]"`

	log, first, second []float64 // by layer: log σ, and Adam's moments
	updates            int
}

// Perturber is a term that puts noise into the layers of a gradient's forward pass.
type Perturber interface {
	Term
	// Sigmas are the sizes of the noise in the given number of layers.
	Sigmas(layers int) []float64
	// Move takes the gradient of the sizes, where an update follows it.
	Move(grad []float64)
}

// Sigmas implements Perturber.
func (p *ALP) Sigmas(layers int) []float64 {
	for len(p.log) < layers {
		p.log = append(p.log, elementary.Log(p.Sigma))
		p.first, p.second = append(p.first, 0), append(p.second, 0)
	}
	sigmas := make([]float64, layers)
	for l := range sigmas {
		sigmas[l] = elementary.Exp(p.log[l])
	}
	return sigmas
}

// Move implements Perturber.
func (p *ALP) Move(grad []float64) {
	const beta1, beta2, eps = 0.9, 0.999, 1e-12
	sigmas := p.Sigmas(len(grad))
	p.updates++
	bias1, bias2 := 1-elementary.Pow(beta1, float64(p.updates)), 1-elementary.Pow(beta2, float64(p.updates))
	for l, g := range grad {
		g *= sigmas[l] // of log σ
		p.first[l] = float64(beta1*p.first[l]) + float64((1-beta1)*g)
		p.second[l] = float64(beta2*p.second[l]) + float64((1-beta2)*float64(g*g))
		p.log[l] -= float64(p.LR * (p.first[l] / bias1) / (math.Sqrt(p.second[l]/bias2) + eps))
	}
}

// AddLoss adds nothing; it logs the sizes.
func (p *ALP) AddLoss(out *Grad, _ *batch.Batch) error {
	sizes := newSpread()
	for _, x := range p.log {
		sizes.add(elementary.Exp(x))
	}
	sizes.log(out, "alp/sigma_mean", "alp/sigma_min", "alp/sigma_max")
	return nil
}

// AppendState appends the sizes and their moments.
func (p *ALP) AppendState(dst []byte) []byte {
	return method.AppendState(dst, p.updates, p.log, p.first, p.second)
}

// SetState takes what AppendState appended.
func (p *ALP) SetState(state []byte) error {
	return method.ReadState(state, &p.updates, &p.log, &p.first, &p.second)
}
