package engine_test

import (
	"math"
	"slices"
	"testing"

	"driftlab/engine"
	"driftlab/engine/enginetest"
	"driftlab/model"
)

// Noise on what enters the layers: sizes and weights have the gradient of central
// differences, on any number of workers and with layers computed again, and noise of
// size 0 changes no bit.
func TestPerturbation(t *testing.T) {
	for _, m := range []string{"dense-learned-grouped", "moe-biased"} {
		p, n := enginetest.Named(m).Params, preset(t, "fp32")
		c := p.Config
		sequences := enginetest.Sequences(3, 12, c.Vocab, 2, 9)
		pack := packOf(sequences)
		rows := pack.Rows()
		f := functional{c: drawn(4, rows*c.Vocab)}
		plain, _ := gradient(p, n, sequences, f, nil, 1)
		var routes []uint8
		run := func(p *model.Params, sigma []float32, workers int, recompute bool) (value float64, grad *model.Params, of []float64) {
			pass := engine.NewPass(c, workers)
			defer pass.Close()
			grad = model.New(c)
			pass.Begin(weightsOf(p, n), pack, engine.Options{Save: true, Recompute: recompute, Replay: routes,
				Perturb: &engine.Perturbation{Sigma: sigma, Noise: drawn(5, c.Layers*rows*c.DModel)}})
			pass.Forward()
			for i, z := range pass.Logits() {
				value += float64(f.c[i]) * float64(z)
			}
			backpropagate(pass, grad, 0, slices.Clone(f.c))
			if routes == nil {
				routes = slices.Clone(pass.Routes())
			}
			return value, grad, pass.SigmaGrad()
		}
		still := make([]float32, c.Layers)
		if _, grad, _ := run(p, still, 1, false); !slices.Equal(grad.Theta, plain.Theta) {
			t.Errorf("%s: noise of size 0 changes the gradient", m)
		}
		sigma := slices.Repeat([]float32{0.05}, c.Layers)
		routes = nil
		_, grad, of := run(p, sigma, 1, false)
		if slices.Equal(grad.Theta, plain.Theta) {
			t.Errorf("%s: noise changes nothing", m)
		}
		for _, other := range []struct {
			workers   int
			recompute bool
		}{{2, false}, {3, true}} {
			if _, g, o := run(p, sigma, other.workers, other.recompute); !slices.Equal(g.Theta, grad.Theta) || !slices.Equal(o, of) {
				t.Errorf("%s: %+v has another gradient", m, other)
			}
		}
		close := func(what string, got, up, down, h float64) {
			if want := (up - down) / (2 * h); math.Abs(got-want) > 2e-2*math.Abs(want)+0.02 {
				t.Errorf("%s: d/d %s is %v, differences say %v", m, what, got, want)
			}
		}
		const h = 1e-3
		for l := range c.Layers {
			up, down := slices.Clone(sigma), slices.Clone(sigma)
			up[l] += h
			down[l] -= h
			a, _, _ := run(p, up, 1, false)
			b, _, _ := run(p, down, 1, false)
			close("σ", of[l], a, b, h)
		}
		direction, got := drawn(6, len(p.Theta)), 0.0
		up, down := p.Clone(), p.Clone()
		for i, x := range direction {
			up.Theta[i] += x * 1e-4
			down.Theta[i] -= x * 1e-4
			got += float64(x) * float64(grad.Theta[i])
		}
		a, _, _ := run(up, sigma, 1, false)
		b, _, _ := run(down, sigma, 1, false)
		close("θ", got, a, b, 1e-4)
	}
}
