package enginetest

import (
	"math"
	"testing"

	"driftlab/model"
)

// step is the half-width of the central differences. Their error is of order
// step² times the third derivative, and 1e-16/step from rounding: both near
// 1e-10 for losses of order one.
const step = 1e-5

// Gradient returns the derivative of f with respect to one parameter in every, by
// central differences, and NaN for those between. f reads Theta; it must be smooth, so
// models with experts need replayed routes.
func (r *Reference) Gradient(every int, f func() float64) []float64 {
	g := make([]float64, len(r.Theta))
	for i, x := range r.Theta {
		if i%every != 0 {
			g[i] = math.NaN()
			continue
		}
		r.Theta[i] = x + step
		above := f()
		r.Theta[i] = x - step
		below := f()
		r.Theta[i] = x
		g[i] = (above - below) / (2 * step)
	}
	return g
}

// CompareGradients fails for the first entry of every tensor of p whose gradient is further
// from its central difference than 1e-4 of that plus floor times the tensor's largest, where
// terms cancel. Entries without a difference count as equal.
func CompareGradients(t testing.TB, what string, p *model.Params, grad []float32, want []float64, floor float64) {
	t.Helper()
	for _, tensor := range p.Tensors() {
		largest := 0.0
		for _, g := range grad[tensor.Offset:tensor.End()] {
			largest = max(largest, math.Abs(float64(g)))
		}
		for i := tensor.Offset; i < tensor.End(); i++ {
			g, w := float64(grad[i]), want[i]
			if !math.IsNaN(w) && !(math.Abs(g-w) <= float64(1e-4*math.Abs(w))+float64(floor*largest)) {
				t.Errorf("%s: %s[%d]: gradient %g, difference %g", what, tensor.Name, i-tensor.Offset, g, w)
				break
			}
		}
	}
}

// Balance is the load-balancing loss of one layer over the rows of several
// sequences, E·Σ_e f_e·P_e with f_e the share of assignments to expert e and
// P_e the mean router probability (arXiv:2101.03961, equation 4, divided by
// the top-k).
func (r *Reference) Balance(traces []Trace, layer int) float64 {
	c := r.Config
	share, mean := make([]float64, c.Experts), make([]float64, c.Experts)
	rows := 0
	for _, t := range traces {
		for i, probs := range t.Router {
			rows++
			for e, p := range probs[layer] {
				mean[e] += p
			}
			for _, e := range t.Routes[(i*c.Layers+layer)*c.TopK:][:c.TopK] {
				share[e]++
			}
		}
	}
	var sum float64
	for e := range share {
		sum += share[e] / float64(rows*c.TopK) * mean[e] / float64(rows)
	}
	return float64(c.Experts) * sum
}
