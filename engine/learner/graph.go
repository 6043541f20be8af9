//go:build !js

package learner

import (
	"fmt"
	"hash"
	"hash/fnv"
	"runtime"
	"strconv"
	"sync"

	"driftlab/engine"
	"driftlab/model"

	"github.com/chewxy/hm"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// graph is the training graph of one model for packs of at most capacity rows:
//
//	tokens, θ.embed → embed → [θ.l.attention → attention → θ.l.ffn → experts]×L → θ.head → head+loss
//
// and, after it, the gradient of the loss with respect to every θ. Edges carry
// views of the pass's buffers with room for capacity rows; only the rows of the
// current pack are computed.
type graph struct{ machine gorgonia.VM }

// differentiating guards gorgonia.Grad: all graphs of a process begin with its one constant 1, whose hash the first of them writes.
var differentiating sync.Mutex

// newMachine builds the graph; gradients go to grad, views of one flat slice.
func newMachine(w *eager, params, grad *model.Params, capacity int) (machine, error) {
	pass := w.pass
	b := builder{g: gorgonia.NewGraph(), pass: pass, params: params, grad: grad, capacity: capacity}
	c := params.Config
	blocks := map[string]*gorgonia.Node{}
	for _, block := range c.Blocks() {
		blocks[block.Name] = b.parameters(block)
	}
	// The rows of the pack, which the pass reads for itself: an input without a gradient.
	tokens := gorgonia.NewVector(b.g, tensor.Float32, gorgonia.WithShape(capacity), gorgonia.WithName("tokens"),
		gorgonia.WithValue(dense(make([]float32, capacity), capacity)))

	x := b.embed(tokens, blocks["embed"])
	for l := range c.Layers {
		prefix := "layers." + strconv.Itoa(l)
		x = b.block(prefix+".attention", x, blocks[prefix+".attention"], pass.Middle(l),
			func() { pass.ForwardAttention(l) }, func() { pass.BackwardAttention(l) })
		x = b.block(prefix+".ffn", x, blocks[prefix+".ffn"], pass.Out(l),
			func() { pass.ForwardExperts(l) }, func() { pass.BackwardExperts(l) })
	}
	value := b.head(x, blocks["head"], w)

	var wrt gorgonia.Nodes
	for _, block := range c.Blocks() {
		wrt = append(wrt, blocks[block.Name])
	}
	if b.err == nil {
		differentiating.Lock()
		_, b.err = gorgonia.Grad(value, wrt...)
		differentiating.Unlock()
	}
	if b.err != nil {
		return nil, fmt.Errorf("learner: building the graph: %w", b.err)
	}
	machine := gorgonia.NewTapeMachine(b.g)
	// Its finalizer is for CUDA and does nothing here. But the operations of the
	// graph know the learner, and the learner the machine: a cycle through an
	// object with a finalizer is never collected.
	runtime.SetFinalizer(machine, nil)
	return &graph{machine}, nil
}

// run executes the graph once, forward and backward. A machine that is not
// reset would do nothing the next time, so nothing else runs it.
func (g *graph) run() error {
	err := g.machine.RunAll()
	g.machine.Reset()
	return err
}

func (g *graph) close() { g.machine.Close() }

// builder collects the first error, so that the graph reads as the model.
type builder struct {
	g            *gorgonia.ExprGraph
	pass         *engine.Pass
	params, grad *model.Params
	capacity     int
	err          error
}

// parameters is the node of one block: a view of its run of theta.
func (b *builder) parameters(block model.Block) *gorgonia.Node {
	view := b.params.Theta[block.Offset : block.Offset+block.Len]
	return gorgonia.NewVector(b.g, tensor.Float32, gorgonia.WithShape(block.Len), gorgonia.WithName("theta."+block.Name),
		gorgonia.WithValue(dense(view, block.Len)))
}

// stream is a view of a buffer of the pass with room for every row.
func (b *builder) stream(buffer []float32) *tensor.Dense {
	d := b.params.Config.DModel
	return dense(buffer[:b.capacity*d:b.capacity*d], b.capacity, d)
}

// gradientOf is the view of a parameter node's gradient.
func (b *builder) gradientOf(theta *gorgonia.Node) *tensor.Dense {
	for _, block := range b.params.Config.Blocks() {
		if "theta."+block.Name == theta.Name() {
			return dense(b.grad.Theta[block.Offset:block.Offset+block.Len], block.Len)
		}
	}
	panic("learner: no block for node " + theta.Name())
}

func (b *builder) apply(op *fused, inputs ...*gorgonia.Node) *gorgonia.Node {
	if b.err != nil {
		return nil
	}
	n, err := gorgonia.ApplyOp(op, inputs...)
	b.err = err
	return n
}

// embed reads rows of the embedding; its gradient needs the forward pass done
// and the gradient of the stream, nothing else.
func (b *builder) embed(tokens, theta *gorgonia.Node) *gorgonia.Node {
	d := b.params.Config.DModel
	return b.apply(&fused{
		name: "embed", inputs: []hm.Type{vector, vector}, result: matrix, wrt: []bool{false, true},
		shape: tensor.Shape{b.capacity, d}, value: b.stream(b.pass.Embedded()),
		run: func() error { b.pass.ForwardEmbed(); return nil },
		gradient: func(in gorgonia.Nodes, out, dy *gorgonia.Node) (gorgonia.Nodes, error) {
			dtheta := b.apply(&fused{
				name: "embed.grad", inputs: []hm.Type{vector, matrix, matrix}, result: vector,
				shape: in[1].Shape(), value: b.gradientOf(in[1]),
				run: func() error { b.pass.BackwardEmbed(); return nil },
			}, in[1], out, dy)
			return gorgonia.Nodes{nil, dtheta}, b.err
		},
	}, tokens, theta)
}

// block is one residual block, x → x + f(norm(x); θ).
func (b *builder) block(name string, x, theta *gorgonia.Node, out []float32, forward, backward func()) *gorgonia.Node {
	return b.apply(&fused{
		name: name, inputs: []hm.Type{matrix, vector}, result: matrix, wrt: []bool{true, true},
		shape: tensor.Shape{b.capacity, b.params.Config.DModel}, value: b.stream(out),
		run:      func() error { forward(); return nil },
		gradient: b.gradient(name, matrix, func() error { backward(); return nil }),
	}, x, theta)
}

// head computes logits and the policy loss, a scalar.
func (b *builder) head(x, theta *gorgonia.Node, w *eager) *gorgonia.Node {
	loss := new(gorgonia.F32)
	return b.apply(&fused{
		name: "head+loss", inputs: []hm.Type{matrix, vector}, result: scalar, wrt: []bool{true, true},
		shape: tensor.ScalarShape(), value: loss,
		run: func() error {
			value, err := w.headAndLoss()
			*loss = gorgonia.F32(value)
			return err
		},
		gradient: b.gradient("head+loss", scalar, w.headGradient),
	}, x, theta)
}

// gradient makes the two gradient operations of a block: the first runs the
// block backward, to its input and its parameters; the second hands over the
// parameters' part, which an operation with one output cannot return in addition.
// Taking the forward result as an input orders both after the forward pass.
func (b *builder) gradient(name string, out hm.Type, backward func() error) func(in gorgonia.Nodes, y, dy *gorgonia.Node) (gorgonia.Nodes, error) {
	return func(in gorgonia.Nodes, y, dy *gorgonia.Node) (gorgonia.Nodes, error) {
		x, theta := in[0], in[1]
		dx := b.apply(&fused{
			name: name + ".grad", inputs: []hm.Type{matrix, vector, out, out}, result: matrix,
			shape: x.Shape(), value: b.stream(b.pass.Stream()), run: backward,
		}, x, theta, y, dy)
		dtheta := b.apply(&fused{
			name: name + ".grad.theta", inputs: []hm.Type{matrix}, result: vector,
			shape: theta.Shape(), value: b.gradientOf(theta),
			run: func() error { return nil },
		}, dx)
		return gorgonia.Nodes{dx, dtheta}, b.err
	}
}

// dense wraps a slice as a tensor without copying.
func dense(x []float32, shape ...int) *tensor.Dense {
	return tensor.New(tensor.WithShape(shape...), tensor.WithBacking(x))
}

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

func (f *fused) DiffWRT(int) []bool { return f.wrt }

// SymDiff adds the gradient operations to the graph.
func (f *fused) SymDiff(inputs gorgonia.Nodes, output, grad *gorgonia.Node) (gorgonia.Nodes, error) {
	if f.gradient == nil {
		return nil, fmt.Errorf("learner: %s has no second derivative", f.name)
	}
	return f.gradient(inputs, output, grad)
}
