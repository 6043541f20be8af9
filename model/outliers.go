package model

import "fmt"

// outlierSpacing is the number of channels of which one is an outlier, and outlierPlace which.
const (
	outlierSpacing = 16
	outlierPlace   = 5
)

// OutlierChannels are the channels that carry outliers in a model of that width: few, as in
// large models, one of sixteen.
func OutlierChannels(width int) (channels []int) {
	for c := outlierPlace; c < width; c += outlierSpacing {
		channels = append(channels, c)
	}
	return channels
}

// AddOutliers gives the model's activations outlier channels without changing what it
// computes: it multiplies the gains of every norm in the channels by the factor, and divides
// the columns of the matrices that read them (query, key, value, router, gate, up, head) by
// it, the reparameterisation of SmoothQuant (arXiv 2211.10438) in reverse. With a power
// of two every product is exact, so that logits in float32 keep their bits. Large language
// models have such channels by themselves (LLM.int8, arXiv 2208.07339). It panics on a
// channel that the model has not.
func (p *Params) AddOutliers(channels []int, factor float32) {
	d := p.Config.DModel
	for _, c := range channels {
		if c < 0 || c >= d {
			panic(fmt.Sprintf("model: outlier channel %d of %d", c, d))
		}
		divide := func(matrices ...[]float32) {
			for _, m := range matrices {
				for i := c; i < len(m); i += d {
					m[i] /= factor
				}
			}
		}
		for l := range p.layers {
			y := &p.layers[l]
			y.InputNorm[c] *= factor
			y.PostNorm[c] *= factor
			divide(y.Q, y.K, y.V, y.Router)
			divide(y.W1...)
			divide(y.W3...)
		}
		p.FinalNorm[c] *= factor
		divide(p.Head)
	}
}
