package model

import (
	"math"
	"slices"
	"strings"
	"testing"
)

func adapted(t *testing.T) *Params {
	t.Helper()
	p := New(Config{Layers: 2, DModel: 8, Heads: 2, KVHeads: 1, Experts: 3, TopK: 2, DFF: 6, Context: 16, Vocab: 11})
	p.Init(3)
	p.AddLoRA(2, 4, func(name string) bool {
		return strings.Contains(name, "q_proj") || strings.Contains(name, "v_proj") || strings.Contains(name, "experts.1")
	}, 7)
	return p
}

// Adapters change nothing at the start, only their targets later, by W + α/rank·B·A, and a
// copy is a copy that shares the frozen weights.
func TestLoRAMerges(t *testing.T) {
	p := adapted(t)
	start := slices.Clone(p.Theta)
	p.Merge()
	if !slices.Equal(start, p.Theta) {
		t.Error("adapters whose B is zero change the weights")
	}
	if n, want := len(p.Trained()), 2*2*(8+8)+2*2*(4+8)+2*3*2*(6+8); n != want {
		t.Errorf("%d numbers are trained, want %d", n, want)
	}
	q := p.Clone()
	for i := range q.Trained() {
		q.Trained()[i] = float32(i%7) / 8
	}
	q.Merge()
	if !slices.Equal(start, p.Theta) || q.LoRA.Base != p.LoRA.Base || !slices.Equal(q.LoRA.Base.Theta, start) {
		t.Error("a copy is not one")
	}
	targets := map[int]*Adapter{}
	for i := range q.LoRA.Adapters {
		targets[q.LoRA.Adapters[i].Target] = &q.LoRA.Adapters[i]
	}
	for i, tensor := range q.Tensors() {
		a := targets[i]
		for j, got := range tensor.Data {
			want := float64(start[tensor.Offset+j])
			if a != nil {
				o, in := j/a.In, j%a.In
				for r := range 2 {
					want += 2 * float64(a.B[o*2+r]) * float64(a.A[r*a.In+in])
				}
			}
			if float64(got) != float64(float32(want)) {
				t.Fatalf("%s[%d] = %v, want %v", tensor.Name, j, got, want)
			}
		}
	}
	p.CopyFrom(q)
	if !slices.Equal(p.Theta, q.Theta) || !slices.Equal(p.LoRA.Theta, q.LoRA.Theta) {
		t.Error("CopyFrom leaves something out")
	}
	plain := New(p.Config)
	plain.CopyFrom(p)
	if plain.LoRA == nil || &plain.LoRA.Theta[0] == &p.LoRA.Theta[0] {
		t.Error("CopyFrom into a model without adapters")
	}
	before := slices.Clone(q.Theta)
	q.CopyTensor(q.LoRA.Adapters[0].Target, adapted(t))
	q.Merge()
	changed := 0
	for i, tensor := range q.Tensors() {
		if !slices.Equal(before[tensor.Offset:tensor.End()], tensor.Data) {
			changed++
			if i != q.LoRA.Adapters[0].Target {
				t.Errorf("%s changes with another tensor", tensor.Name)
			}
		}
	}
	if changed != 1 {
		t.Errorf("%d tensors change", changed)
	}
}

// The gradient of the adapters is the difference quotient of a function of the merged
// weights.
func TestLoRAGradient(t *testing.T) {
	p := adapted(t)
	for i := range p.Trained() {
		p.Trained()[i] = float32(i%5-2) / 4
	}
	p.Merge()
	f := func() (sum float64) { // of the exact sums, whose derivative at W is 2·c·W
		for i := range p.LoRA.Adapters {
			a := &p.LoRA.Adapters[i]
			base := p.LoRA.Base.Tensors()[a.Target].Data
			for o := range a.Out {
				for in := range a.In {
					w := float64(base[o*a.In+in])
					for r := range 2 {
						w += 2 * float64(a.B[o*2+r]) * float64(a.A[r*a.In+in])
					}
					sum += float64(1+(o+in)%3) * w * w
				}
			}
		}
		return sum
	}
	grad := New(p.Config)
	for i, tensor := range p.Tensors() {
		for j, w := range tensor.Data {
			in := 1
			if len(tensor.Shape) == 2 {
				in = tensor.Shape[1]
			}
			grad.Tensors()[i].Data[j] = float32(2 * float64(1+(j/in+j%in)%3) * float64(w))
		}
	}
	got := make([]float32, len(p.Trained()))
	p.LoRA.Gradient(got, grad)
	for i, x := range p.Trained() {
		const step = 1.0 / 64
		p.Trained()[i] = x + step
		above := f()
		p.Trained()[i] = x - step
		below := f()
		p.Trained()[i] = x
		if want := (above - below) / (2 * step); math.Abs(float64(got[i])-want) > 1e-4*math.Abs(want)+1e-4 {
			t.Fatalf("gradient %d is %v, the difference %v", i, got[i], want)
		}
	}
}
