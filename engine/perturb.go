package engine

import "fmt"

// Perturbation is noise on what enters each layer of a pass that is saved,
// h_l ← h_l + σ_l·ξ: the layerwise perturbation of ALP (arXiv:2603.19470).
type Perturbation struct {
	// Sigma is the size of the noise, by layer.
	Sigma []float32
	// Noise is ξ, [layer][row][d], in the order of the pack's rows.
	Noise []float32
}

// check panics on a perturbation of another pack.
func (n *Perturbation) check(layers, rows, d int) {
	if len(n.Sigma) != layers || len(n.Noise) != layers*rows*d {
		panic(fmt.Sprintf("engine: perturbation of %d layers and %d numbers, the pack needs %d and %d", len(n.Sigma), len(n.Noise), layers, layers*rows*d))
	}
}

// noise is a block's share of a layer's.
func (p *Pass) noise(k *worker, layer int) []float32 {
	size := p.rows * p.config.DModel
	return rowsOf(p.options.Perturb.Noise[layer*size:(layer+1)*size], k, p.config.DModel)
}

// perturb adds the noise to what enters a layer.
func (p *Pass) perturb(k *worker, layer int) {
	if p.options.Perturb == nil || layer == p.config.Layers {
		return
	}
	sigma, x := p.options.Perturb.Sigma[layer], p.entering(k, layer)
	for i, z := range p.noise(k, layer) {
		x[i] += float32(sigma * z)
	}
	round(p.num.activations, x)
}

// sigmaGrad keeps each row's part of d loss/d σ of a layer, once the stream is the
// gradient of what enters it.
func (p *Pass) sigmaGrad(k *worker, layer int) {
	if p.options.Perturb == nil {
		return
	}
	d := p.config.DModel
	stream, noise := rowsOf(p.back.stream, k, d), p.noise(k, layer)
	for r := k.rowFrom; r < k.rowTo; r++ {
		at, sum := (r-k.rowFrom)*d, 0.0
		for i := at; i < at+d; i++ {
			sum += float64(float64(stream[i]) * float64(noise[i]))
		}
		p.back.sigma[layer*p.rows+r] = sum
	}
}

// SigmaGrad returns d loss/d σ by layer, behind a backward pass of a perturbed one.
func (p *Pass) SigmaGrad() []float64 {
	grad := make([]float64, p.config.Layers)
	for l := range grad {
		for _, x := range p.back.sigma[l*p.rows : (l+1)*p.rows] {
			grad[l] += x
		}
	}
	return grad
}
