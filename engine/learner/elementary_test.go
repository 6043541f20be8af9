package learner_test

import (
	"fmt"
	"math"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"driftlab/engine/enginetest"
	"driftlab/engine/learner"
	"driftlab/model"
	"driftlab/precision/must"
)

// elementary builds the model from Gorgonia's own operations in float64:
// products of matrices, elementwise arithmetic, exponentials and logarithms.
// Rows are tokens. Sums and copies over rows or columns are products with
// constant matrices. Weights are held transposed, [in, out].
type elementary struct {
	g      *gorgonia.ExprGraph
	p      *model.Params
	theta  gorgonia.Nodes
	names  []string
	rows   int
	consts int
}

// weight is the tensor of that name as a node.
func (m *elementary) weight(name string) *gorgonia.Node {
	t := m.p.Tensor(name)
	out, in := 1, t.Shape[0]
	if len(t.Shape) == 2 {
		out, in = t.Shape[0], t.Shape[1]
	}
	if len(t.Shape) == 1 {
		out, in = in, 1 // a gain is a row vector
	}
	data := make([]float64, len(t.Data))
	for o := range out {
		for i := range in {
			data[i*out+o] = float64(t.Data[o*in+i])
		}
	}
	n := gorgonia.NewMatrix(m.g, tensor.Float64, gorgonia.WithShape(in, out), gorgonia.WithName(name),
		gorgonia.WithValue(tensor.New(tensor.WithShape(in, out), tensor.WithBacking(data))))
	m.theta, m.names = append(m.theta, n), append(m.names, name)
	return n
}

// constant is a matrix given by its entries.
func (m *elementary) constant(rows, cols int, at func(r, c int) float64) *gorgonia.Node {
	data := make([]float64, rows*cols)
	for r := range rows {
		for c := range cols {
			data[r*cols+c] = at(r, c)
		}
	}
	m.consts++
	return gorgonia.NewMatrix(m.g, tensor.Float64, gorgonia.WithShape(rows, cols), gorgonia.WithName(fmt.Sprintf("constant%d", m.consts)),
		gorgonia.WithValue(tensor.New(tensor.WithShape(rows, cols), tensor.WithBacking(data))))
}

var op = gorgonia.Must

func mul(a, b *gorgonia.Node) *gorgonia.Node   { return op(gorgonia.Mul(a, b)) }
func times(a, b *gorgonia.Node) *gorgonia.Node { return op(gorgonia.HadamardProd(a, b)) }
func over(a, b *gorgonia.Node) *gorgonia.Node  { return op(gorgonia.HadamardDiv(a, b)) }
func plus(a, b *gorgonia.Node) *gorgonia.Node  { return op(gorgonia.Add(a, b)) }

func one(int, int) float64 { return 1 }

// norm is RMSNorm: the mean of the squares, in every column, is a product with 1/d.
func (m *elementary) norm(x *gorgonia.Node, gain string) *gorgonia.Node {
	d := m.p.Config.DModel
	mean := mul(op(gorgonia.Square(x)), m.constant(d, d, func(int, int) float64 { return 1 / float64(d) }))
	mean = plus(mean, m.constant(m.rows, d, func(int, int) float64 { return m.p.Config.NormEps }))
	return times(over(x, op(gorgonia.Sqrt(mean))), mul(m.constant(m.rows, 1, one), m.weight(gain)))
}

// rotate is x⊙cos + rotate_half(x)⊙sin; rotate_half is a product with a signed permutation.
func (m *elementary) rotate(x *gorgonia.Node) *gorgonia.Node {
	c := m.p.Config
	hd, half := c.HeadDim(), c.HeadDim()/2
	angle := func(r, j int) float64 {
		return float64(r) * math.Pow(c.RopeTheta, -2*float64(j%half)/float64(hd))
	}
	turn := m.constant(c.DModel, c.DModel, func(from, to int) float64 {
		switch {
		case from/hd != to/hd:
			return 0
		case to%hd < half && from == to+half:
			return -1
		case to%hd >= half && from == to-half:
			return 1
		}
		return 0
	})
	cos := m.constant(m.rows, c.DModel, func(r, j int) float64 { return math.Cos(angle(r, j%hd)) })
	sin := m.constant(m.rows, c.DModel, func(r, j int) float64 { return math.Sin(angle(r, j%hd)) })
	return plus(times(x, cos), times(mul(x, turn), sin))
}

// softmax over the columns of each row, without its usual shift: scores are small.
func (m *elementary) softmax(x *gorgonia.Node, cols int) *gorgonia.Node {
	e := op(gorgonia.Exp(x))
	return over(e, mul(e, m.constant(cols, cols, one)))
}

func (m *elementary) attention(h *gorgonia.Node, prefix string) *gorgonia.Node {
	c := m.p.Config
	hd := c.HeadDim()
	q, k := m.rotate(mul(h, m.weight(prefix+"q_proj.weight"))), m.rotate(mul(h, m.weight(prefix+"k_proj.weight")))
	v := mul(h, m.weight(prefix+"v_proj.weight"))
	causal := m.constant(m.rows, m.rows, func(i, j int) float64 {
		if j > i {
			return -1e9
		}
		return 0
	})
	var mixed *gorgonia.Node
	for head := range c.Heads {
		// Masking the other heads' columns leaves the head's scores.
		mask := m.constant(m.rows, c.DModel, func(_, j int) float64 {
			if j/hd == head {
				return 1
			}
			return 0
		})
		scores := mul(times(q, mask), op(gorgonia.Transpose(k, 1, 0)))
		scale := m.constant(m.rows, m.rows, func(int, int) float64 { return 1 / math.Sqrt(float64(hd)) })
		out := times(mul(m.softmax(plus(times(scores, scale), causal), m.rows), v), mask)
		if mixed == nil {
			mixed = out
		} else {
			mixed = plus(mixed, out)
		}
	}
	return mul(mixed, m.weight(prefix+"o_proj.weight"))
}

func (m *elementary) swiglu(h *gorgonia.Node, prefix string) *gorgonia.Node {
	gate, up := mul(h, m.weight(prefix+"gate_proj.weight")), mul(h, m.weight(prefix+"up_proj.weight"))
	return mul(times(times(gate, op(gorgonia.Sigmoid(gate))), up), m.weight(prefix+"down_proj.weight"))
}

// loss is Σ_n c_n log p(token_n) of the one response in the batch.
func (m *elementary) loss(b *enginetest.Responses, c []float64) *gorgonia.Node {
	cfg := m.p.Config
	tokens := append(append([]int32(nil), b.Prompt[0]...), b.Token[:len(b.Token)-1]...)
	m.rows = len(tokens)
	onehot := m.constant(m.rows, cfg.Vocab, func(r, v int) float64 {
		if int(tokens[r]) == v {
			return 1
		}
		return 0
	})
	// The embedding is held transposed like all weights.
	x := mul(onehot, op(gorgonia.Transpose(m.weight("model.embed_tokens.weight"), 1, 0)))
	layer := "model.layers.0."
	x = plus(x, m.attention(m.norm(x, layer+"input_layernorm.weight"), layer+"self_attn."))
	x = plus(x, m.swiglu(m.norm(x, layer+"post_attention_layernorm.weight"), layer+"mlp."))
	z := mul(m.norm(x, "model.norm.weight"), m.weight("lm_head.weight"))
	logp := op(gorgonia.Sub(z, op(gorgonia.Log(mul(op(gorgonia.Exp(z)), m.constant(cfg.Vocab, cfg.Vocab, one))))))
	first := len(b.Prompt[0]) - 1
	chosen := m.constant(m.rows, cfg.Vocab, func(r, v int) float64 {
		if n := r - first; n >= 0 && int(b.Token[n]) == v {
			return c[n]
		}
		return 0
	})
	return op(gorgonia.Sum(times(logp, chosen)))
}

// The fused graph has the gradient of the same model built from Gorgonia's own
// operations, which know nothing of our kernels, our formulas for derivatives
// or our reference.
func TestGradientOfElementaryOperations(t *testing.T) {
	p := enginetest.NewParams(model.Config{Layers: 1, DModel: 8, Heads: 2, DFF: 6, Context: 16, Vocab: 7}, 5)
	tokens := enginetest.Sequences(5, 1, 7, 9, 9)[0]
	b := given([][]int32{tokens[:3]}, [][]int32{tokens[3:]})
	c := coefficients(5, b.Tokens())

	m := &elementary{g: gorgonia.NewGraph(), p: p}
	cost := m.loss(b, c)
	grads := must.Get(gorgonia.Grad(cost, m.theta...))(t)
	var value gorgonia.Value
	gorgonia.Read(cost, &value)
	machine := gorgonia.NewTapeMachine(m.g)
	defer machine.Close()
	must.Do(t, machine.RunAll())

	l := learner.New(p, learner.Settings{Numerics: preset(t, "fp32")}, 1)
	defer l.Close()
	report := must.Get(l.Gradient(&b.Now, &b.Sampled, &linear{c: c}, learner.StepOptions{Policy: learner.Policy{Temperature: 1}}))(t)
	if want := value.Data().(float64); math.Abs(report.Loss-want) > 1e-5 {
		t.Errorf("loss %g, elementary operations give %g", report.Loss, want)
	}
	if len(m.names) != len(p.Tensors()) {
		t.Fatalf("%d of %d tensors", len(m.names), len(p.Tensors()))
	}
	for i, name := range m.names {
		tensor := p.Tensor(name)
		want := grads[i].Value().Data().([]float64)
		out := len(want) / m.theta[i].Shape()[0]
		in := len(want) / out
		largest := 0.0
		for _, w := range want {
			largest = max(largest, math.Abs(w))
		}
		for o := range out {
			for k := range in {
				g, w := float64(l.Grad()[tensor.Offset+o*in+k]), want[k*out+o]
				if !(math.Abs(g-w) <= 1e-5*math.Abs(w)+1e-6*largest) {
					t.Fatalf("%s[%d,%d]: gradient %g, elementary operations give %g", name, o, k, g, w)
				}
			}
		}
	}
}
