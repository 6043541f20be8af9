package engine_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"driftlab/engine"
	"driftlab/engine/enginetest"
	"driftlab/engine/reference"
	"driftlab/precision/must"
)

// chosen are the choices of a pass over the sequences: with a replay, those it replays.
func chosen(m enginetest.Model, n engine.Numerics, sequences [][]int32, replay *engine.Retention) (outcome, []uint64) {
	pass, pack := engine.NewPass(m.Params.Config, 2), packOf(sequences)
	defer pass.Close()
	pass.Begin(weightsOf(m.Params, n), pack, engine.Options{Retention: replay})
	pass.Forward()
	var out outcome
	out.take(pass, pack, m.Params.Config)
	return out, slices.Clone(pass.Choices())
}

// planes describes recorded choices.
func planes(m enginetest.Model, kept []uint64) *engine.Retention {
	c := m.Params.Config
	return &engine.Retention{Planes: c.Layers, PerLayer: true, Words: engine.RetentionWords(c.Context), Kept: kept}
}

// In fp32 a pass chooses the positions that the definition in float64 chooses, and computes its
// logits up to rounding.
func TestSparseAttentionIsItsDefinition(t *testing.T) {
	for i, m := range enginetest.Sparse(enginetest.Small) {
		c, n := m.Params.Config, preset(t, "fp32")
		sequences := enginetest.Sequences(uint64(i), 6, c.Vocab, 20, 48)
		got, choices := chosen(m, n, sequences, nil)
		per, at, left := c.Layers*engine.RetentionWords(c.Context), 0, 0
		r := reference.New(m.Params)
		for s, tokens := range sequences {
			var routes []uint8
			if !c.Dense() {
				routes = got.routes[s]
			}
			trace := r.Forward(tokens, routes)
			if !(trace.IndexMargin > 1e-6) {
				t.Fatalf("%s: a margin of %g is too close to call", m.Name, trace.IndexMargin)
			}
			for row, layers := range trace.Sees {
				for l, sees := range layers {
					for position := range row + 1 {
						want := sees == nil || sees[position]
						if !want {
							left++
						}
						if bit := choices[at+l*engine.RetentionWords(c.Context)+position/64]>>(position%64)&1 == 1; bit != want {
							t.Fatalf("%s: sequence %d, row %d, layer %d, position %d: chosen %t, the definition says %t", m.Name, s, row, l, position, bit, want)
						}
					}
				}
				for a, z := range trace.Logits[row] {
					if d := float64(got.logits[s][row*c.Vocab+a]) - z; !(d < 1e-5 && d > -1e-5) {
						t.Fatalf("%s: sequence %d, row %d: a logit is %g from the definition's", m.Name, s, row, d)
					}
				}
				at += per
			}
		}
		if left == 0 {
			t.Errorf("%s: nothing is left out", m.Name)
		}
	}
}

// A row has the same bits in a pass over whole sequences, decoded token by token and in chunks,
// alone and among 64, on any number of workers; and so has a replay of the choices.
func TestSparseAttentionDecodesAsItScores(t *testing.T) {
	models := enginetest.Sparse(enginetest.Small)
	for i, name := range []string{"fp32", "bf16", "fp8-w8a8", "fp32-splitk4", "bf16-tp4"} {
		m := models[i%len(models)]
		t.Run(name+"/"+m.Name, func(t *testing.T) {
			p, n := m.Params, preset(t, name)
			n.Index = quantizer(t, []string{"fp8_e4m3/channel", "bf16"}[i%2])
			must.Do(t, n.Validate())
			sequences := enginetest.Sequences(uint64(i), 64, p.Config.Vocab, 1, 9)
			sequences[0] = enginetest.Sequences(uint64(i), 1, p.Config.Vocab, 40, 40)[0]
			want, choices := chosen(m, n, sequences, nil)
			same(t, "1 worker", want, run(p, n, sequences, 1, engine.Options{}))
			same(t, "saved layers, stage by stage", want, stages(p, n, sequences))
			same(t, "batch of 1", want, oneByOne(p, n, sequences))
			same(t, "decode", want, decoded(p, n, sequences, 2, func(int) int { return 1 }))
			rng := rand.New(rand.NewPCG(uint64(i), 3))
			same(t, "prefill in chunks", want, decoded(p, n, sequences, 1, func(left int) int { return 1 + rng.IntN(left) }))
			again, replayed := chosen(m, n, sequences, planes(m, choices))
			same(t, "replay", want, again)
			if !slices.Equal(choices, replayed) {
				t.Error("a replay makes other choices")
			}
		})
	}
}

// An index in a coarser format makes other choices; a replay of the choices brings the logits of
// an engine that is the same otherwise back to the last bit. Rows without a record choose.
func TestReplayOfAnIndex(t *testing.T) {
	for i, m := range enginetest.Sparse(enginetest.Small) {
		fine := preset(t, "bf16")
		coarse := fine
		coarse.Index = quantizer(t, "fp4_e2m1")
		sequences := enginetest.Sequences(uint64(i), 8, m.Params.Config.Vocab, 30, 48)
		want, choices := chosen(m, coarse, sequences, nil)
		free, own := chosen(m, fine, sequences, nil)
		if slices.Equal(choices, own) || equalBits(want.logits[0], free.logits[0]) {
			t.Errorf("%s: the format of the index changes nothing", m.Name)
		}
		got, _ := chosen(m, fine, sequences, planes(m, choices))
		same(t, m.Name, want, got)
		unrecorded, again := chosen(m, fine, sequences, planes(m, make([]uint64, len(choices))))
		same(t, m.Name+", nothing recorded", free, unrecorded)
		if !slices.Equal(own, again) {
			t.Errorf("%s: rows without a record choose otherwise", m.Name)
		}
	}
}

// The gradient of every parameter matches the reference, in which a choice has no gradient: the
// gradient of the index is zero. It does not depend on workers,
// nor on whether activations are computed again.
func TestGradientsOfSparseAttention(t *testing.T) {
	for i, m := range enginetest.Sparse(enginetest.Tiny) {
		p, c, n := m.Params, m.Params.Config, preset(t, "fp32")
		sequences := enginetest.Sequences(uint64(i), 3, c.Vocab, 5, 8)
		f := functional{drawn(uint64(i), packOf(sequences).Rows()*c.Vocab), 0}
		grad, routes := gradient(p, n, sequences, f, nil, 1)
		r := reference.New(p)
		want := f.reference(r, sequences, routes)
		enginetest.CompareGradients(t, m.Name, p, grad.Theta, want, 1e-5)
		for _, tensor := range grad.Tensors() {
			if zero := largest(want[tensor.Offset:tensor.End()]) == 0; zero != tensor.Index() {
				t.Errorf("%s: the gradient of %s is zero: %t", m.Name, tensor.Name, zero)
			}
		}
		if again, _ := gradient(p, n, sequences, f, nil, 3); !equalBits(grad.Theta, again.Theta) {
			t.Errorf("%s: another gradient on 3 workers", m.Name)
		}
		if again, _ := backward(p, n, packOf(sequences), slices.Clone(f.c), 2, true); !equalBits(grad.Theta, again.Theta) {
			t.Errorf("%s: another gradient where activations are computed again", m.Name)
		}
	}
}
