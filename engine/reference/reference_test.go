package reference_test

import (
	"math"
	"slices"
	"testing"

	"driftlab/engine/enginetest"
	"driftlab/engine/reference"
)

// The gradient of one parameter in eleven, which is coprime to all widths, is the central difference, for every variant of the architecture,
// through the logits and the load-balancing loss.
func TestBackwardIsTheDifference(t *testing.T) {
	for _, m := range slices.Concat(enginetest.Models(enginetest.Tiny), enginetest.Hybrids(enginetest.Tiny), enginetest.Sparse(enginetest.Tiny)) {
		t.Run(m.Name, func(t *testing.T) {
			c := m.Params.Config
			sequences := enginetest.Sequences(1, 2, c.Vocab, 3, 5)
			const balance = 0.7
			r := reference.New(m.Params)
			forward := func(routes [][]uint8) (passes []*reference.Pass) {
				for i, tokens := range sequences {
					passes = append(passes, r.Forward(tokens, routes[i]))
				}
				return passes
			}
			var routes [][]uint8
			var coef []float32
			passes := forward([][]uint8{nil, nil})
			for _, p := range passes {
				routes = append(routes, p.Routes)
				for range p.Logits {
					for range c.Vocab {
						coef = append(coef, float32(math.Sin(float64(3*len(coef)+1))))
					}
				}
			}
			if c.Dense() {
				routes = [][]uint8{nil, nil}
			}
			enginetest.Backward(r, passes, coef, balance)
			got := slices.Clone(r.Grad)
			want := differences(r, 11, func() (sum float64) {
				passes, at := forward(routes), 0
				for _, p := range passes {
					for _, z := range slices.Concat(p.Logits...) {
						sum += float64(coef[at]) * z
						at++
					}
				}
				for l := range c.Layers {
					if !c.Dense() {
						sum += balance * enginetest.Balance(c, passes, l)
					}
				}
				return sum
			})
			for _, tensor := range m.Params.Tensors() {
				floor := 0.0 // differences err by the third derivative, which is large where short vectors are scaled to length one
				for _, g := range got[tensor.Offset:tensor.End()] {
					floor = max(floor, 1e-5*math.Abs(g))
				}
				for i := tensor.Offset; i < tensor.End(); i++ {
					if math.Abs(got[i]-want[i]) > 1e-6*math.Abs(want[i])+floor+1e-8 {
						t.Fatalf("%s[%d]: %g, difference %g", tensor.Name, i-tensor.Offset, got[i], want[i])
					}
				}
			}
		})
	}
}

// step is the half-width of the central differences. Their error is of order
// step² times the third derivative, and 1e-16/step from rounding: both near
// 1e-10 for losses of order one.
const step = 1e-5

// differences returns the derivative of f with respect to one parameter in every, by
// central differences, and NaN for those between. f reads Theta; it must be smooth, so
// models with experts need replayed routes.
func differences(m *reference.Model, every int, f func() float64) []float64 {
	g := make([]float64, len(m.Theta))
	for i, x := range m.Theta {
		if i%every != 0 {
			g[i] = math.NaN()
			continue
		}
		m.Theta[i] = x + step
		above := f()
		m.Theta[i] = x - step
		below := f()
		m.Theta[i] = x
		g[i] = (above - below) / (2 * step)
	}
	return g
}
