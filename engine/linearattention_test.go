package engine_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"driftlab/engine"
	"driftlab/engine/enginetest"
	"driftlab/engine/kernel"
	"driftlab/engine/reference"
	"driftlab/model"
	"driftlab/precision/must"
)

// inForm is a preset with a form of linear attention.
func inForm(t testing.TB, name, form string) engine.Numerics {
	n := preset(t, name)
	must.Do(t, n.LinearAttention.UnmarshalText([]byte(form)))
	must.Do(t, n.Validate())
	return n
}

// forms are both, with states and with chunks that do and do not divide the sequences.
var forms = []string{"recurrent", "recurrent:bf16", "chunked:4", "chunked:16", "chunked:5:bf16"}

// In fp32 both forms are the function that the recurrence in float64 defines, up to rounding;
// between themselves they differ in bits. A state in bf16 is further away.
func TestFormsOfLinearAttention(t *testing.T) {
	for i, m := range enginetest.Hybrids(enginetest.Small) {
		c := m.Params.Config
		sequences := enginetest.Sequences(uint64(i), 6, c.Vocab, 30, 48)
		worst, outcomes := map[string]float64{}, map[string]outcome{}
		for _, form := range forms {
			n := inForm(t, "fp32", form)
			got := run(m.Params, n, sequences, 2, engine.Options{})
			outcomes[form] = got
			r := reference.New(m.Params)
			for s, tokens := range sequences {
				var routes []uint8
				if !c.Dense() {
					routes = got.routes[s]
				}
				for row, want := range r.Forward(tokens, routes).Logits {
					for a, z := range want {
						worst[form] = max(worst[form], math.Abs(float64(got.logits[s][row*c.Vocab+a])-z))
					}
				}
			}
			t.Logf("%s, %s: largest distance of a logit %.3g", m.Name, form, worst[form])
		}
		for _, form := range []string{"recurrent", "chunked:4", "chunked:16"} {
			if !(worst[form] < 1e-5) {
				t.Errorf("%s: %s is %g from the recurrence", m.Name, form, worst[form])
			}
		}
		if !(worst["recurrent:bf16"] > 1e-3) || !(worst["chunked:5:bf16"] > 1e-4) {
			t.Errorf("%s: states in bf16 change too little: %v", m.Name, worst)
		}
		if equalBits(outcomes["recurrent"].logits[0], outcomes["chunked:16"].logits[0]) {
			t.Errorf("%s: both forms have the same bits", m.Name)
		}
	}
}

// In either form a row has the same bits in a pass over whole sequences, decoded token by token
// and in chunks of any size, alone and among 64, on any number of workers.
func TestEqualFormsEqualBits(t *testing.T) {
	models := enginetest.Hybrids(enginetest.Small)
	for i, name := range []string{"fp32", "bf16", "fp8-w8a8", "fp32-splitk4", "bf16-tp4"} {
		for j, form := range forms {
			m := models[(i+j)%len(models)]
			t.Run(name+"/"+form+"/"+m.Name, func(t *testing.T) {
				p, n := m.Params, inForm(t, name, form)
				sequences := enginetest.Sequences(uint64(i), 64, p.Config.Vocab, 1, 9)
				sequences[0] = enginetest.Sequences(uint64(i), 1, p.Config.Vocab, 40, 40)[0]
				want := run(p, n, sequences, 1, engine.Options{})
				same(t, "3 workers", want, run(p, n, sequences, 3, engine.Options{}))
				same(t, "saved layers, stage by stage", want, stages(p, n, sequences))
				same(t, "batch of 1", want, oneByOne(p, n, sequences))
				same(t, "decode", want, decoded(p, n, sequences, 2, func(int) int { return 1 }))
				rng := rand.New(rand.NewPCG(uint64(i), 3))
				same(t, "prefill in chunks", want, decoded(p, n, sequences, 1, func(left int) int { return 1 + rng.IntN(left) }))
			})
		}
	}
}

// The gradient of every parameter matches the reference, in either form;
// it does not depend on the number of workers.
func TestGradientsOfLinearAttention(t *testing.T) {
	for i, m := range enginetest.Hybrids(enginetest.Tiny) {
		for k, form := range []string{"recurrent", "chunked:3"} {
			if k != i%2 && !*exhaustive {
				continue
			}
			p, c, n := m.Params, m.Params.Config, inForm(t, "fp32", form)
			sequences := enginetest.Sequences(uint64(i), 3, c.Vocab, 4, 8)
			f := functional{drawn(uint64(i), packOf(sequences).Rows()*c.Vocab), 0}
			grad, routes := gradient(p, n, sequences, f, nil, 1)
			r := reference.New(p)
			want := f.reference(r, sequences, routes)
			for _, tensor := range grad.Tensors() {
				w := want[tensor.Offset:tensor.End()]
				floor := 1e-5 * largest(w)
				if largest(w) == 0 {
					t.Errorf("%s: no gradient of %s", m.Name, tensor.Name)
				}
				for j, g := range tensor.Data {
					if off := math.Abs(float64(g) - w[j]); !(off <= 1e-4*math.Abs(w[j])+floor) {
						t.Errorf("%s, %s, %s[%d]: gradient %g, reference %g", m.Name, form, tensor.Name, j, g, w[j])
						break
					}
				}
			}
			for _, workers := range []int{2, 3} {
				if again, _ := gradient(p, n, sequences, f, nil, workers); !equalBits(grad.Theta, again.Theta) {
					t.Errorf("%s, %s: another gradient on %d workers", m.Name, form, workers)
				}
			}
		}
	}
}

// Rounding is straight-through: with a state and operands in bf16 the gradient matches the
// reference at the rounded weights, up to the format's own error.
func TestGradientsOfALowPrecisionState(t *testing.T) {
	for _, form := range []string{"recurrent:bf16", "chunked:3:bf16"} {
		m := enginetest.Hybrids(enginetest.Tiny)[0]
		c, n := m.Params.Config, inForm(t, "bf16", form)
		sequences := enginetest.Sequences(1, 3, c.Vocab, 4, 8)
		f := functional{drawn(1, packOf(sequences).Rows()*c.Vocab), 0}
		grad, _ := gradient(m.Params, n, sequences, f, nil, 1)
		r := reference.New(enginetest.Published(m.Params, n))
		want := make([]float32, len(grad.Theta))
		for j, g := range f.reference(r, sequences, nil) {
			want[j] = float32(g)
		}
		if off := distance(grad.Theta, want); !(off < 0.25) || off < 1e-3 {
			t.Errorf("%s: the gradient is %.3g away", form, off)
		}
		for _, tensor := range grad.Tensors() {
			if off := distance(tensor.Data, want[tensor.Offset:tensor.End()]); !(off < 0.5) {
				t.Errorf("%s: %s is %.3g away", form, tensor.Name, off)
			}
		}
	}
}

// A gradient that computes the layers again has the same bits.
func TestLinearAttentionComputedAgain(t *testing.T) {
	m := enginetest.Hybrids(enginetest.Small)[1]
	c := m.Params.Config
	sequences := enginetest.Sequences(5, 7, c.Vocab, 2, 30)
	dlogits := drawn(5, packOf(sequences).Rows()*c.Vocab)
	var want *model.Params
	for _, recompute := range []bool{false, true} {
		pass, grad := engine.NewPass(c, 2), model.New(c)
		pass.Begin(weightsOf(m.Params, inForm(t, "bf16", "chunked:4")), packOf(sequences), engine.Options{Save: true, Recompute: recompute})
		pass.Forward()
		backpropagate(pass, grad, 0, append([]float32(nil), dlogits...))
		pass.Close()
		if want == nil {
			want = grad
		} else if !equalBits(want.Theta, grad.Theta) {
			t.Error("another gradient")
		}
	}
}

// A slot's state covers all its positions: it moves with them to another cache, and
// nothing goes on from another position.
func TestStatesOfSlots(t *testing.T) {
	m, n := enginetest.Hybrids(enginetest.Small)[1], inForm(t, "bf16", "chunked:4:bf16")
	c, tokens := m.Params.Config, enginetest.Sequences(3, 1, m.Params.Config.Vocab, 21, 21)[0]
	pass, w := engine.NewPass(c, 1), weightsOf(m.Params, n)
	defer pass.Close()
	from, to := engine.NewCache(c, n, 2), engine.NewCache(c, n, 3)
	read := func(cache *engine.Cache, slot, first int, tokens []int32) []float32 {
		var pack engine.Pack
		pack.Add(first, tokens)
		pass.Begin(w, &pack, engine.Options{Cache: cache, Slots: []int{slot}})
		pass.Forward()
		return append([]float32(nil), pass.Logits()...)
	}
	want := read(from, 0, 0, tokens)
	read(from, 1, 0, tokens[:10])
	state := from.AppendSlot(nil, 1, 10)
	if len(state) != from.SlotSize(10) || from.Cuts() {
		t.Fatalf("%d floats for a size of %d", len(state), from.SlotSize(10))
	}
	to.SetSlot(2, 10, state)
	if got := read(to, 2, 10, tokens[10:]); !equalBits(got, want[10*c.Vocab:]) {
		t.Error("a slot that moved goes on with other bits")
	}
	for what, f := range map[string]func(){
		"another position": func() { read(to, 2, 10, tokens[10:]) },
		"a part":           func() { to.AppendRange(nil, 2, 0, 4) },
		"a copy":           func() { to.CopyPrefix(0, 2, 4) },
		"a prefix": func() {
			var pack engine.Pack
			pack.AddAfter(pack.AddPrefix(tokens), tokens[:1])
			pass.Begin(w, &pack, engine.Options{})
		},
	} {
		must.Panic(t, what, f)
	}
}

// The text of a form reads back, and what is no form is refused.
func TestTextOfLinearAttention(t *testing.T) {
	for text, want := range map[string]string{"recurrent": "recurrent", "chunked": "chunked:16", "chunked:bf16": "chunked:16:bf16", "chunked:7": "chunked:7",
		"recurrent:fp32": "recurrent", "recurrent:fp16": "recurrent:fp16"} {
		var l, again kernel.LinearAttention
		if err := l.UnmarshalText([]byte(text)); err != nil || l.String() != want {
			t.Errorf("%s: %v, %v", text, l, err)
		}
		if err := again.UnmarshalText([]byte(l.String())); err != nil || again != l {
			t.Errorf("%s: reads back as %v, %v", text, again, err)
		}
	}
	for _, text := range []string{"", "chunks", "chunked:0", "chunked:1000", "chunked:4:bf16:x", "recurrent:int8", "recurrent:5", "chunked:x"} {
		var l kernel.LinearAttention
		if err := l.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is %v", text, l)
		}
	}
	if fmt.Sprint(kernel.LinearAttention{}) != "recurrent" {
		t.Error("the zero value is not recurrent")
	}
}

func largest(x []float64) float64 {
	m := 0.0
	for _, v := range x {
		m = math.Max(m, math.Abs(v))
	}
	return m
}
