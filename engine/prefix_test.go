package engine_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"driftlab/engine"
	"driftlab/engine/enginetest"
	"driftlab/engine/reference"
	"driftlab/model"
	"driftlab/precision/must"
)

// branches are sequences some of which go on from shared beginnings, wherever
// they stand, packed with prefixes and without.
type branches struct {
	shared engine.Pack
	// whole are the sequences as they are when nothing is shared, in order; row is
	// where each of their tokens stands in the shared pack, and first says that none
	// before it stands there.
	whole [][]int32
	row   []int
	first []bool
}

// branched draws prefixes of 1 to longest tokens and sequences of 1 to longest
// after them, after each at least one, and some after none.
func branched(seed uint64, prefixes, sequences, vocab, longest int) *branches {
	rng := rand.New(rand.NewPCG(seed, 9))
	b := &branches{}
	b.shared.Reset()
	heads := enginetest.Sequences(seed, prefixes, vocab, 1, longest)
	for _, head := range heads {
		b.shared.AddPrefix(head)
	}
	seen := make([]bool, b.shared.Rows()+sequences*longest)
	for i, tail := range enginetest.Sequences(seed+1, sequences, vocab, 1, longest) {
		var head []int32
		prefix, at := rng.IntN(prefixes+1)-1, 0
		if i < prefixes {
			prefix = i
		}
		if prefix >= 0 {
			head, at = heads[prefix], b.shared.Offsets[prefix]
		}
		for i := range head {
			b.row = append(b.row, at+i)
		}
		at = b.shared.Rows()
		for i := range tail {
			b.row = append(b.row, at+i)
		}
		if prefix >= 0 {
			b.shared.AddAfter(prefix, tail)
		} else {
			b.shared.Add(0, tail)
		}
		b.whole = append(b.whole, slices.Concat(head, tail))
	}
	for _, row := range b.row {
		b.first = append(b.first, !seen[row])
		seen[row] = true
	}
	return b
}

// spread lays a column of the shared pack out for the whole sequences, zero in
// rows that stand for one before them.
func (b *branches) spread(column []float32, width int) []float32 {
	out := make([]float32, len(b.row)*width)
	for i, row := range b.row {
		if b.first[i] {
			copy(out[i*width:(i+1)*width], column[row*width:])
		}
	}
	return out
}

// backward takes a pack forward and backward.
func backward(p *model.Params, n engine.Numerics, pack *engine.Pack, dlogits []float32, workers int, recompute bool) (*model.Params, *engine.Pass) {
	pass, grad := engine.NewPass(p.Config, workers), model.New(p.Config)
	for range 2 { // the second time in used memory
		clear(grad.Theta)
		pass.Begin(weightsOf(p, n), pack, engine.Options{Save: true, Recompute: recompute})
		pass.Forward()
		backpropagate(pass, grad, 0, slices.Clone(dlogits))
	}
	return grad, pass
}

// A row that stands for the beginning of several sequences has the bits that it
// has in each of them, and what goes on from it too.
func TestPrefixChangesNoLogit(t *testing.T) {
	models := enginetest.Models(enginetest.Small)
	for i, n := range invariant(t) {
		if !n.DecodesAsScored() {
			continue
		}
		p := models[i%len(models)].Params
		c, per := p.Config, p.Config.Layers*p.Config.TopK
		b := branched(uint64(i), 5, 70, c.Vocab, 20)
		want := run(p, n, b.whole, 1, engine.Options{})
		for k, test := range []struct {
			workers int
			o       engine.Options
		}{{1, engine.Options{}}, {2, engine.Options{}}, {3, engine.Options{Save: true}}, {2, engine.Options{Save: true, Recompute: true}}} {
			if k%2 != i%2 && !*exhaustive {
				continue
			}
			pass := engine.NewPass(c, test.workers)
			pass.Begin(weightsOf(p, n), &b.shared, test.o)
			pass.Forward()
			logits, routes := slices.Concat(want.logits...), slices.Concat(want.routes...)
			for r, row := range b.row {
				if !equalBits(pass.Logits()[row*c.Vocab:(row+1)*c.Vocab], logits[r*c.Vocab:(r+1)*c.Vocab]) ||
					!slices.Equal(pass.Routes()[row*per:(row+1)*per], routes[r*per:(r+1)*per]) {
					t.Fatalf("%s, %s, %+v: row %d, which stands for row %d, differs", models[i%len(models)].Name, n.Name, test, row, r)
				}
			}
			pass.Close()
		}
	}
}

// The gradient through prefixes equals the whole sequences', up to the order
// of sums, and has the same bits on any number of workers, with layers kept or
// computed again.
func TestPrefixGradient(t *testing.T) {
	for i, m := range enginetest.Models(enginetest.Small) {
		for _, name := range []string{"fp32", "fp8-w8a8"} {
			p, n, c := m.Params, preset(t, name), m.Params.Config
			b := branched(uint64(i), 6, 90, c.Vocab, 20)
			dlogits := drawn(uint64(i), b.shared.Rows()*c.Vocab)
			want, pass := backward(p, n, &b.shared, dlogits, 1, false)
			pass.Close()
			for _, test := range []struct {
				workers   int
				recompute bool
			}{{3, false}, {5, true}} {
				got, pass := backward(p, n, &b.shared, dlogits, test.workers, test.recompute)
				if !equalBits(got.Theta, want.Theta) {
					t.Errorf("%s, %s, %+v: another gradient", m.Name, name, test)
				}
				pass.Close()
			}
			if name != "fp32" {
				continue // gradients are rounded row by row, so a sum differs by that
			}
			whole, pass := backward(p, n, packOf(b.whole), b.spread(dlogits, c.Vocab), 1, false)
			pass.Close()
			for _, tensor := range want.Tensors() {
				if d := distance(tensor.Data, whole.Theta[tensor.Offset:tensor.End()]); !(d < 2e-6) {
					t.Errorf("%s: %s is %.3g away from the gradient of the whole sequences", m.Name, tensor.Name, d)
				}
			}
		}
	}
}

// It is the gradient of the reference, too: also where only what goes on
// from a prefix is wanted.
func TestPrefixGradientsAreTheReferences(t *testing.T) {
	for i, m := range enginetest.Models(enginetest.Tiny) {
		p, c := m.Params, m.Params.Config
		b := branched(uint64(i+4), 2, 5, c.Vocab, 4)
		dlogits := drawn(uint64(i), b.shared.Rows()*c.Vocab)
		if i%2 == 0 {
			clear(dlogits[:b.shared.Offsets[b.shared.Prefixes]*c.Vocab])
		}
		grad, pass := backward(p, preset(t, "fp32"), &b.shared, dlogits, 1, false)
		per := c.Layers * c.TopK
		var routes []uint8
		for _, row := range b.row {
			routes = append(routes, pass.Routes()[row*per:(row+1)*per]...)
		}
		pass.Close()
		f, r := functional{b.spread(dlogits, c.Vocab), 0}, reference.New(p)
		want := f.reference(r, b.whole, routes)
		enginetest.CompareGradients(t, m.Name, p, grad.Theta, want, 2e-6)
	}
}

// What goes on from a prefix without a gradient leaves the prefix without one.
func TestPrefixWithoutGradient(t *testing.T) {
	p := enginetest.Named("moe").Params
	var pack engine.Pack
	pack.Reset()
	prefix := pack.AddPrefix([]int32{1, 2, 3})
	pack.AddAfter(prefix, []int32{4, 5})
	pack.AddAfter(prefix, []int32{4})
	pack.Targets = []int32{3, 4, 5}
	grad, pass := backward(p, preset(t, "fp32"), &pack, make([]float32, 3*p.Config.Vocab), 2, false)
	defer pass.Close()
	for i, g := range grad.Theta {
		if g != 0 {
			t.Fatalf("parameter %d has the gradient %g", i, g)
		}
	}
}

// Packs that a prefix does not fit are a programmer's fault.
func TestPrefixMisplaced(t *testing.T) {
	p := enginetest.Named("dense").Params
	begin := func(name string, o engine.Options, backward float64) func() {
		return func() {
			var pack engine.Pack
			pack.Reset()
			pack.AddAfter(pack.AddPrefix([]int32{1}), []int32{2})
			pass := engine.NewPass(p.Config, 1)
			defer pass.Close()
			pass.Begin(weightsOf(p, preset(t, name)), &pack, o)
			pass.Forward()
			pass.BeginBackward(model.New(p.Config), backward)
		}
	}
	for what, misplaced := range map[string]func(){
		"behind a sequence": func() {
			var pack engine.Pack
			pack.Add(0, []int32{1})
			pack.AddPrefix([]int32{1})
		},
		"missing": func() {
			var pack engine.Pack
			pack.AddAfter(0, []int32{1})
		},
		"batch-variant":       begin("fp32-batch-variant", engine.Options{}, 0),
		"split decoding":      begin("bf16-flash-decoding", engine.Options{}, 0),
		"beside a cache":      begin("fp32", engine.Options{Cache: engine.NewCache(p.Config, preset(t, "fp32"), 2), Slots: []int{0, 1}}, 0),
		"counted by the load": begin("fp32", engine.Options{Save: true}, 0.1),
	} {
		fault := must.Panic(t, what, misplaced)
		if _, ok := fault.(string); !ok {
			t.Errorf("%s: %s", what, fmt.Sprint(fault))
		}
	}
}
