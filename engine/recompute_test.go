package engine_test

import (
	"fmt"
	"slices"
	"testing"

	"driftlab/engine"
	"driftlab/engine/enginetest"
	"driftlab/model"
	"driftlab/precision/must"
)

// A pack of many blocks has the gradients of a pack of one, on any number of
// workers, with layers kept or computed again: bit for bit, streams and routes
// included. Some rows are no targets, whose experts of the last layer are left
// out: the gradient is the same as where every row is a target and theirs is
// zero.
func TestBlocksAndRecomputeChangeNoBit(t *testing.T) {
	for _, m := range []string{"dense-learned-grouped", "moe-biased"} {
		for _, name := range []string{"fp32", "fp8-w8a8"} {
			p, n := enginetest.Named(m).Params, preset(t, name)
			c := p.Config
			sequences := enginetest.Sequences(9, 90, c.Vocab, 1, 24)
			pack := packOf(sequences)
			if pack.Rows() < 1000 {
				t.Fatalf("%d rows are too few blocks", pack.Rows())
			}
			var targets []int32
			f := functional{drawn(9, pack.Rows()*c.Vocab), 0.3}
			var wanted []float32
			for r := range pack.Rows() {
				if row := f.c[r*c.Vocab : (r+1)*c.Vocab]; pack.Positions[r]%4 == 1 {
					clear(row)
				} else {
					targets, wanted = append(targets, int32(r)), append(wanted, row...)
				}
			}
			want, routes := gradient(p, n, sequences, f, nil, 1)
			pass := engine.NewPass(c, 1)
			for _, test := range []struct {
				workers           int
				recompute, subset bool
			}{{2, false, false}, {3, false, false}, {1, true, false}, {2, true, false}, {1, false, true}, {2, true, true}} {
				pass.Close()
				pass = engine.NewPass(c, test.workers)
				grad := model.New(c)
				dlogits := slices.Clone(f.c)
				if test.subset {
					pack.Targets, dlogits = targets, slices.Clone(wanted)
				} else {
					pack.Targets = nil
				}
				for range 2 { // the second time in used memory
					clear(grad.Theta)
					pass.Begin(weightsOf(p, n), pack, engine.Options{Save: true, Recompute: test.recompute})
					pass.Forward()
					backpropagate(pass, grad, f.balance, dlogits)
				}
				what := fmt.Sprintf("%s, %s, %+v", m, name, test)
				if !equalBits(grad.Theta, want.Theta) {
					t.Errorf("%s: another gradient", what)
				}
				if !slices.Equal(pass.Routes(), routes) {
					t.Errorf("%s: other routes", what)
				}
			}
			pass.Close()
		}
	}
}

// TestBackwardPanicStopsEveryWorker has a block that cannot add to the gradients: later blocks must not wait for it.
func TestBackwardPanicStopsEveryWorker(t *testing.T) {
	p := enginetest.Named("dense-learned-grouped").Params
	c := p.Config
	pack := packOf(enginetest.Sequences(9, 90, c.Vocab, 1, 24))
	for _, workers := range []int{1, 3} {
		pass := engine.NewPass(c, workers)
		pass.Begin(weightsOf(p, preset(t, "fp32")), pack, engine.Options{Save: true})
		pass.Forward()
		pass.BeginBackward(model.New(c), 0)
		pass.BackwardHead(slices.Repeat([]float32{1}, pack.Rows()*c.Vocab))
		token := pack.Tokens[0]
		pack.Tokens[0] = int32(c.Vocab) // no row of the embeddings
		must.Panic(t, fmt.Sprintf("%d workers: a token without an embedding has a gradient", workers), func() { pass.BackwardEmbed() })
		pack.Tokens[0] = token
		pass.Close()
	}
}
