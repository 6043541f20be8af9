package trainer

import (
	"driftlab/engine/learner"
	"driftlab/trainer/method/stream"
)

// perturbation is the noise of the gradient of that number.
func (s *Session) perturbation(number int) *learner.Perturbation {
	layers := s.initial.Config.Layers
	rng := stream.New(s.recipe.Seed, stream.Perturbation, number)
	n := &learner.Perturbation{Grad: make([]float64, layers), Normal: func() float64 { return stream.Normal(rng) }}
	for _, sigma := range s.perturbed.Sigmas(layers) {
		n.Sigma = append(n.Sigma, float32(sigma))
	}
	return n
}
