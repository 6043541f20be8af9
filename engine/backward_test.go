package engine_test

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"driftlab/engine"
	"driftlab/engine/enginetest"
	"driftlab/engine/reference"
	"driftlab/model"
	"driftlab/moe"
)

// functional is a linear function of all logits plus the load-balancing loss:
//
//	Σ_rv C_rv·logits_rv + balance·Σ_layers L
//
// Being linear, it needs nothing outside the engine.
type functional struct {
	c       []float32 // [rows, vocab]
	balance float64
}

func drawn(seed uint64, n int) []float32 {
	rng := rand.New(rand.NewPCG(seed, 5))
	c := make([]float32, n)
	for i := range c {
		c[i] = float32(4*rng.Float64() - 2)
	}
	return c
}

// backpropagate runs a backward pass through every layer into grad; it uses dlogits as scratch.
func backpropagate(pass *engine.Pass, grad *model.Params, balance float64, dlogits []float32) {
	pass.BeginBackward(grad, balance)
	pass.BackwardHead(dlogits)
	for l := range grad.Config.Layers {
		pass.BackwardExperts(grad.Config.Layers - 1 - l)
		pass.BackwardAttention(grad.Config.Layers - 1 - l)
	}
	pass.BackwardEmbed()
}

// gradient takes the sequences forward and backward.
func gradient(p *model.Params, n engine.Numerics, sequences [][]int32, f functional, replay []uint8, workers int) (grad *model.Params, routes []uint8) {
	pass, pack := engine.NewPass(p.Config, workers), packOf(sequences)
	defer pass.Close()
	grad = model.New(p.Config)
	pass.Begin(weightsOf(p, n), pack, engine.Options{Save: true, Replay: replay})
	pass.Forward()
	backpropagate(pass, grad, f.balance, slices.Clone(f.c))
	return grad, slices.Clone(pass.Routes())
}

// reference is the gradient of the functional in the reference, with the given routes.
func (f functional) reference(m *reference.Model, sequences [][]int32, routes []uint8) []float64 {
	per := m.Config.Layers * m.Config.TopK
	var passes []*reference.Pass
	for _, tokens := range sequences {
		var visited []uint8
		if !m.Config.Dense() {
			visited, routes = routes[:len(tokens)*per], routes[len(tokens)*per:]
		}
		passes = append(passes, m.Forward(tokens, visited))
	}
	enginetest.Backward(m, passes, f.c, f.balance)
	return m.Grad
}

var exhaustive = flag.Bool("exhaustive", false, "every model, format and form, as in nightly tests, in place of some")

// In fp32 the gradient of every parameter equals that of the reference. Kernels
// err by a few units of the last place; the bound of 1e-4 of an entry, or 2e-6
// of the tensor's largest where terms cancel, is ten times tighter than what is
// asked of the engine, and a wrong term in any formula is far outside.
func TestGradientsAreTheReferences(t *testing.T) {
	fp32 := preset(t, "fp32")
	for i, m := range enginetest.Models(enginetest.Tiny) {
		t.Run(m.Name, func(t *testing.T) {
			p, c := m.Params, m.Params.Config
			sequences := enginetest.Sequences(uint64(i), 2, c.Vocab, 3, 5)
			rows := packOf(sequences).Rows()
			f := functional{drawn(uint64(i), rows*c.Vocab), 0.7}
			replays := [][]uint8{nil}
			if !c.Dense() {
				replays = append(replays, someRoutes(c, rows, uint64(i)))
			}
			for _, replay := range replays {
				grad, routes := gradient(p, fp32, sequences, f, replay, 1)
				r := reference.New(p)
				want := f.reference(r, sequences, routes)
				enginetest.CompareGradients(t, fmt.Sprintf("replayed: %t", replay != nil), p, grad.Theta, want, 2e-6)
			}
		})
	}
}

// someRoutes are routes that no router chose, with some rows left open.
func someRoutes(c model.Config, rows int, seed uint64) []uint8 {
	rng := rand.New(rand.NewPCG(seed, 6))
	var routes []uint8
	for range rows * c.Layers {
		open := rng.IntN(4) == 0
		for _, e := range rng.Perm(c.Experts)[:c.TopK] {
			if open {
				e = moe.NoRoute
			}
			routes = append(routes, uint8(e))
		}
	}
	return routes
}

// The gradient has the same bits for any number of workers, also where a
// worker has no rows.
func TestGradientsDoNotDependOnWorkers(t *testing.T) {
	for i, name := range []string{"dense-learned-grouped", "moe", "moe-learned-renormalised"} {
		for _, numerics := range []string{"fp32", "bf16", "fp16", "fp8-w8a8"} {
			t.Run(name+"/"+numerics, func(t *testing.T) {
				p, n := enginetest.Named(name).Params, preset(t, numerics)
				for _, count := range []int{1, 2, 9} {
					sequences := enginetest.Sequences(uint64(i), count, p.Config.Vocab, 1, 20)
					f := functional{drawn(1, packOf(sequences).Rows()*p.Config.Vocab), 0.1}
					want, _ := gradient(p, n, sequences, f, nil, 1)
					for _, workers := range []int{2, 3, 4} {
						if got, _ := gradient(p, n, sequences, f, nil, workers); !equalBits(want.Theta, got.Theta) {
							t.Errorf("%d sequences: %d workers give another gradient", count, workers)
						}
					}
				}
			})
		}
	}
}

// Sequences to whose logits nothing comes back, those of equal rewards, change no bit of the gradient: neither they nor the prefixes
// that they go on from.
func TestZerosChangeNoBit(t *testing.T) {
	const family = 40 // sequences that go on from one prefix
	for _, name := range []string{"dense-learned-grouped", "moe"} {
		p, n := enginetest.Named(name).Params, preset(t, "fp32")
		c := p.Config
		prefixes, ends := enginetest.Sequences(4, 3, c.Vocab, 5, 9), enginetest.Sequences(5, 3*family, c.Vocab, 4, 14)
		of := func(families []int, live, workers int) []float32 {
			var pack engine.Pack
			var dlogits []float32
			pack.Reset()
			for _, f := range families {
				pack.AddPrefix(prefixes[f])
			}
			pack.Targets = []int32{}
			for k, f := range families {
				for i, end := range ends[f*family : (f+1)*family] {
					for r := range end {
						pack.Targets = append(pack.Targets, int32(pack.Rows()+r))
					}
					pack.AddAfter(k, end)
					g := drawn(uint64(i), len(end)*c.Vocab)
					if f != live {
						clear(g)
					}
					dlogits = append(dlogits, g...)
				}
			}
			pass, grad := engine.NewPass(c, workers), model.New(c)
			defer pass.Close()
			for range 2 { // the second time in used memory
				clear(grad.Theta)
				pass.Begin(weightsOf(p, n), &pack, engine.Options{Save: true})
				pass.Forward()
				backpropagate(pass, grad, 0, slices.Clone(dlogits))
			}
			return grad.Theta
		}
		want := of([]int{1}, 1, 1)
		for _, workers := range []int{1, 3} {
			if !equalBits(of([]int{0, 1, 2}, 1, workers), want) {
				t.Errorf("%s, %d workers: zeros change the gradient", name, workers)
			}
			if got := of([]int{0, 1, 2}, -1, workers); slices.ContainsFunc(got, func(g float32) bool { return g != 0 }) {
				t.Errorf("%s, %d workers: zeros have a gradient", name, workers)
			}
		}
	}
}

// The order of the sequences decides the order of the sums over tokens, and
// nothing else: a permuted pack gives the gradient up to rounding.
func TestGradientOfAPermutedPack(t *testing.T) {
	p := enginetest.Named("moe").Params
	sequences := enginetest.Sequences(8, 12, p.Config.Vocab, 3, 9)
	c := drawn(8, packOf(sequences).Rows()*p.Config.Vocab)
	want, _ := gradient(p, preset(t, "fp32"), sequences, functional{c, 0.1}, nil, 1)

	var shuffled [][]int32
	var cs []float32
	offsets := packOf(sequences).Offsets
	for _, s := range rand.New(rand.NewPCG(8, 7)).Perm(len(sequences)) {
		shuffled = append(shuffled, sequences[s])
		cs = append(cs, c[offsets[s]*p.Config.Vocab:offsets[s+1]*p.Config.Vocab]...)
	}
	got, _ := gradient(p, preset(t, "fp32"), shuffled, functional{cs, 0.1}, nil, 1)
	if d := distance(got.Theta, want.Theta); !(d < 1e-6) {
		t.Errorf("relative distance %.3g", d)
	}
}

// distance is |a-b|/|b|, 0 for two zeros.
func distance(a, b []float32) float64 {
	var d, n float64
	for i := range a {
		d += (float64(a[i]) - float64(b[i])) * (float64(a[i]) - float64(b[i]))
		n += float64(b[i]) * float64(b[i])
	}
	if d == 0 {
		return 0
	}
	return math.Sqrt(d / n)
}

// Rounding is straight-through: in a low-precision format the gradient equals
// the unrounded function's at the rounded weights, up to the format's own error. The
// bounds are on |g-want|/|want|, of the whole gradient and of its worst tensor,
// about twice what was measured; a step of bf16 is 2^-8 of a value, of fp16
// 2^-11, of e4m3 2^-4, of int8 2^-7 of a row's largest. Were a rounding not
// passed through, its tensor's gradient would be zero: a distance of 1.
func TestGradientsAreStraightThrough(t *testing.T) {
	for _, test := range []struct {
		numerics      string
		whole, tensor float64
	}{
		{"bf16", 0.025, 0.1}, {"fp16", 0.004, 0.012}, {"fp8-w8a8", 0.2, 0.4},
	} {
		t.Run(test.numerics, func(t *testing.T) {
			n := preset(t, test.numerics)
			for i, m := range enginetest.Models(enginetest.Tiny)[:4] {
				if i%2 == 1 && !*exhaustive {
					continue // the dense model and the one with experts suffice
				}
				c := m.Params.Config
				sequences := enginetest.Sequences(uint64(i), 2, c.Vocab, 3, 5)
				f := functional{drawn(uint64(i), packOf(sequences).Rows()*c.Vocab), 0.7}
				grad, routes := gradient(m.Params, n, sequences, f, nil, 1)
				r := reference.New(enginetest.Published(m.Params, n))
				want := make([]float32, len(grad.Theta))
				for j, g := range f.reference(r, sequences, routes) {
					want[j] = float32(g)
				}
				whole, worst := distance(grad.Theta, want), 0.0
				for _, tensor := range grad.Tensors() {
					worst = max(worst, distance(tensor.Data, want[tensor.Offset:tensor.End()]))
				}
				if !(whole < test.whole) || whole < test.whole/10 {
					t.Errorf("%s: the gradient is %.3g away, stated is %g to %g", m.Name, whole, test.whole/10, test.whole)
				}
				if !(worst < test.tensor) {
					t.Errorf("%s: a tensor is %.3g away, more than %g", m.Name, worst, test.tensor)
				}
			}
		})
	}
}
