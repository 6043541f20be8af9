//go:build !js

package learner

import (
	"fmt"
	"hash"
	"hash/fnv"

	"github.com/chewxy/hm"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// fused is one operation of the graph: a whole block of the transformer, or
// its gradient. The work is a method of the pass, bound in run; the values
// that flow along the edges are views of the pass's buffers, so an operation's
// output is ready when run returns.
//
// Gorgonia merges operations whose hashes are equal, reuses inputs an
// operation claims to overwrite, and may hand one a foreign output buffer. So
// the hash holds a unique name, nothing is overwritten, and there is no
// preallocated form.
type fused struct {
	name   string
	inputs []hm.Type
	result hm.Type
	shape  tensor.Shape
	value  gorgonia.Value
	run    func() error
	// gradient returns one node per input, nil where the input takes none; nil
	// for operations that are gradients themselves.
	gradient func(inputs gorgonia.Nodes, output, grad *gorgonia.Node) (gorgonia.Nodes, error)
	wrt      []bool
}

var (
	matrix = gorgonia.TensorType{Dims: 2, Of: tensor.Float32}
	vector = gorgonia.TensorType{Dims: 1, Of: tensor.Float32}
	scalar = tensor.Float32
)

func (f *fused) Arity() int { return len(f.inputs) }

func (f *fused) Type() hm.Type {
	return hm.NewFnType(append(append([]hm.Type{}, f.inputs...), f.result)...)
}

func (f *fused) InferShape(...gorgonia.DimSizer) (tensor.Shape, error) { return f.shape, nil }

func (f *fused) Do(...gorgonia.Value) (gorgonia.Value, error) {
	if err := f.run(); err != nil {
		return nil, err
	}
	return f.value, nil
}

func (f *fused) ReturnsPtr() bool      { return true }
func (f *fused) CallsExtern() bool     { return false }
func (f *fused) OverwritesInput() int  { return -1 }
func (f *fused) WriteHash(h hash.Hash) { fmt.Fprintf(h, "driftlab fused %s", f.name) }
func (f *fused) String() string        { return f.name }

func (f *fused) Hashcode() uint32 {
	h := fnv.New32a()
	f.WriteHash(h)
	return h.Sum32()
}

// DiffWRT says which inputs take a gradient.
func (f *fused) DiffWRT(int) []bool { return f.wrt }

// SymDiff adds the gradient operations to the graph.
func (f *fused) SymDiff(inputs gorgonia.Nodes, output, grad *gorgonia.Node) (gorgonia.Nodes, error) {
	if f.gradient == nil {
		return nil, fmt.Errorf("learner: %s has no second derivative", f.name)
	}
	return f.gradient(inputs, output, grad)
}
