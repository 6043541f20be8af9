package engine_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"driftlab/engine"
	"driftlab/engine/enginetest"
	"driftlab/engine/reference"
	"driftlab/model"
	"driftlab/moe"
	"driftlab/precision/must"
)

// gated takes the sequences forward and backward and keeps the gates.
func gated(p *model.Params, n engine.Numerics, sequences [][]int32, f functional, o engine.Options) (grad *model.Params, logits, gates []float32, routes []uint8) {
	pass := engine.NewPass(p.Config, 2)
	defer pass.Close()
	grad = model.New(p.Config)
	o.Save, o.KeepGates = true, true
	pass.Begin(weightsOf(p, n), packOf(sequences), o)
	pass.Forward()
	logits = slices.Clone(pass.Logits())
	backpropagate(pass, grad, f.balance, slices.Clone(f.c))
	return grad, logits, slices.Clone(pass.Gates()), slices.Clone(pass.Routes())
}

// someGates are positive numbers that no softmax gave.
func someGates(n int, seed uint64) []float32 {
	rng := rand.New(rand.NewPCG(seed, 4))
	g := make([]float32, n)
	for i := range g {
		g[i] = float32(0.1 + 0.8*rng.Float64())
	}
	return g
}

// TestRecordedGatesAreStraightThrough: with recorded gates the gradient of every parameter matches
// the float64 reference in which experts are weighed by the recorded values and the router learns
// through the softmax of its current logits. Rows that were not recorded keep their own gates. The
// bounds are the same as in TestGradientsAreTheReferences.
func TestRecordedGatesAreStraightThrough(t *testing.T) {
	for i, m := range enginetest.Models(enginetest.Tiny) {
		p, c := m.Params, m.Params.Config
		if c.Dense() {
			continue
		}
		t.Run(m.Name, func(t *testing.T) {
			sequences := enginetest.Sequences(uint64(i), 2, c.Vocab, 3, 5)
			rows, per := packOf(sequences).Rows(), c.Layers*c.TopK
			f := functional{drawn(uint64(i), rows*c.Vocab), 0.7}
			replay, recorded := someRoutes(c, rows, uint64(i)), someGates(rows*per, uint64(i))
			grad, logits, used, routes := gated(p, preset(t, "fp32"), sequences, f, engine.Options{Replay: replay, Gates: recorded})
			for at, id := range replay {
				if id != moe.NoRoute && used[at] != recorded[at] {
					t.Fatalf("decision %d is weighed by %g, recorded was %g", at, used[at], recorded[at])
				}
			}

			r := reference.New(p)
			var passes []*reference.Pass
			from := 0 // of the current sequence, in decisions
			r.Regate = func(at int, live float64) float64 {
				if replay[from+at] == moe.NoRoute {
					return live
				}
				return float64(recorded[from+at])
			}
			for _, tokens := range sequences {
				passes = append(passes, r.Forward(tokens, routes[from:from+len(tokens)*per]))
				from += len(tokens) * per
			}
			enginetest.Backward(r, passes, f.c, f.balance)
			router := 0.0
			enginetest.CompareGradients(t, m.Name, p, grad.Theta, r.Grad, 2e-6)
			for l := range c.Layers {
				for _, g := range grad.Layer(l).Router {
					router = max(router, math.Abs(float64(g)))
				}
			}
			if router == 0 {
				t.Error("no gradient reaches a router")
			}
			if _, live, _, _ := gated(p, preset(t, "fp32"), sequences, f, engine.Options{Replay: replay}); slices.Equal(live, logits) {
				t.Error("recorded gates change no logit: nothing was tested")
			}
		})
	}
}

// TestRecordedGatesOfThePass: gates recorded by an equal pass are its live
// gates, so logits and gradients have the same bits, in every format; and
// keeping gates changes nothing.
func TestRecordedGatesOfThePass(t *testing.T) {
	for _, name := range []string{"moe", "moe-learned-renormalised"} {
		for _, numerics := range []string{"fp32", "bf16", "fp8-all"} {
			p, n := enginetest.Named(name).Params, preset(t, numerics)
			sequences := enginetest.Sequences(3, 3, p.Config.Vocab, 4, 20)
			f := functional{drawn(3, packOf(sequences).Rows()*p.Config.Vocab), 0.1}
			plain, _ := gradient(p, n, sequences, f, nil, 1)
			live, logits, gates, routes := gated(p, n, sequences, f, engine.Options{})
			again, same, _, _ := gated(p, n, sequences, f, engine.Options{Replay: routes, Gates: gates})
			if !equalBits(plain.Theta, live.Theta) || !equalBits(live.Theta, again.Theta) || !equalBits(logits, same) {
				t.Errorf("%s, %s: replaying a pass's own gates changes its bits", name, numerics)
			}
		}
	}
}

// TestGatesNeedRoutes: gates without the routes they belong to, and gates that
// were not kept, are programmer's faults.
func TestGatesNeedRoutes(t *testing.T) {
	p := enginetest.Named("moe").Params
	pass := engine.NewPass(p.Config, 1)
	defer pass.Close()
	pack := packOf([][]int32{{1, 2, 3}})
	must.Panic(t, "gates without routes", func() { pass.Begin(weightsOf(p, preset(t, "fp32")), pack, engine.Options{Gates: make([]float32, 12)}) })
	pass.Begin(weightsOf(p, preset(t, "fp32")), pack, engine.Options{})
	must.Panic(t, "gates that were not kept", func() { pass.Gates() })
}
