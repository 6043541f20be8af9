package model

import (
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
)

// LoRA are low-rank adapters next to frozen weights (arXiv:2106.09685). Of each target
// matrix W, [out, in], a model has
//
//	W + α/rank · B·A,   A [rank, in], B [out, rank]
//
// with W frozen. Params.Theta holds the merged weights in fp32, so whatever reads
// parameters reads the whole model; Merge brings it up to date.
type LoRA struct {
	// Rank is the rank of every adapter, Alpha the numerator of their scale.
	Rank  int
	Alpha float64
	// Theta is A and B of every adapter, in the order of Adapters. It is never reallocated.
	Theta []float32
	// Adapters are views of Theta, in the order of the layout of their targets.
	Adapters []Adapter
	// Base are the weights of the model without adapters. Copies share them: nothing
	// changes them.
	Base *Params
}

// Adapter is the low-rank part of one matrix.
type Adapter struct {
	// Target is the index of the matrix in Params.Tensors.
	Target int
	// A is [rank, In], B is [Out, rank].
	A, B    []float32
	Out, In int
}

// Scale is α/rank.
func (a *LoRA) Scale() float64 { return a.Alpha / float64(a.Rank) }

// AddLoRA puts adapters next to the matrices whose names targets selects. A is uniform
// in ±1/√in, as PEFT initialises it, and B zero: the function stays the same. The draws
// depend on the seed and on the name of the matrix alone.
func (p *Params) AddLoRA(rank int, alpha float64, targets func(name string) bool, seed uint64) {
	p.LoRA = &LoRA{Rank: rank, Alpha: alpha, Base: View(p.Config, slices.Clone(p.Theta))}
	size := 0
	for i := range p.tensors {
		if t := &p.tensors[i]; len(t.Shape) == 2 && targets(t.Name) {
			p.LoRA.Adapters = append(p.LoRA.Adapters, Adapter{Target: i, Out: t.Shape[0], In: t.Shape[1]})
			size += rank * (t.Shape[0] + t.Shape[1])
		}
	}
	p.LoRA.view(make([]float32, size))
	for _, a := range p.LoRA.Adapters {
		h := fnv.New64a()
		h.Write([]byte("lora." + p.tensors[a.Target].Name))
		rng, bound := rand.New(rand.NewPCG(seed, h.Sum64())), 1/math.Sqrt(float64(a.In))
		for i := range a.A {
			a.A[i] = float32(bound * (float64(float64(rng.Uint32())/(1<<31)) - 1))
		}
	}
}

func (a *LoRA) view(theta []float32) {
	a.Theta = theta
	for i := range a.Adapters {
		x := &a.Adapters[i]
		n := a.Rank * x.In
		m := n + a.Rank*x.Out
		x.A, x.B, theta = theta[:n:n], theta[n:m:m], theta[m:]
	}
}

// clone copies the adapters; the frozen weights are shared.
func (a *LoRA) clone() *LoRA {
	if a == nil {
		return nil
	}
	b := *a
	b.Adapters = slices.Clone(a.Adapters)
	b.view(slices.Clone(a.Theta))
	return &b
}

// Trained is what training changes: the adapters, or everything in a model without any.
// Whoever writes into it calls Merge.
func (p *Params) Trained() []float32 {
	if p.LoRA != nil {
		return p.LoRA.Theta
	}
	return p.Theta
}

// Merge brings the merged weights up to date, W + α/rank · B·A, summed in float64 and
// rounded once. Without adapters there is nothing to do.
func (p *Params) Merge() {
	if p.LoRA == nil {
		return
	}
	for i := range p.LoRA.Adapters {
		p.LoRA.merge(p, &p.LoRA.Adapters[i])
	}
}

func (a *LoRA) merge(p *Params, x *Adapter) {
	scale, sum := a.Scale(), make([]float64, x.In)
	base, merged := a.Base.tensors[x.Target].Data, p.tensors[x.Target].Data
	for o := range x.Out {
		clear(sum)
		for r, b := range x.B[o*a.Rank : (o+1)*a.Rank] {
			for i, v := range x.A[r*x.In : (r+1)*x.In] {
				sum[i] += float64(float64(b) * float64(v)) // exact, fused or not
			}
		}
		for i, s := range sum {
			merged[o*x.In+i] = float32(float64(base[o*x.In+i]) + float64(scale*s))
		}
	}
}

// CopyTensor overwrites a tensor, given by its index, with that of q, and its adapter.
func (p *Params) CopyTensor(i int, q *Params) {
	copy(p.tensors[i].Data, q.tensors[i].Data)
	if p.LoRA == nil || q.LoRA == nil {
		return
	}
	for k := range p.LoRA.Adapters {
		if x, y := &p.LoRA.Adapters[k], &q.LoRA.Adapters[k]; x.Target == i {
			copy(x.A, y.A)
			copy(x.B, y.B)
		}
	}
}

// Gradient turns the gradient of the merged weights, laid out like Params.Theta, into that of
// the adapters, laid out like LoRA.Theta:
//
//	dA = α/rank · Bᵀ·dW,   dB = α/rank · dW·Aᵀ
//
// Merged or unmerged, a product with W + α/rank·B·A has this derivative.
func (a *LoRA) Gradient(dst []float32, grad *Params) {
	at, scale := 0, a.Scale()
	row := []float64(nil)
	for i := range a.Adapters {
		x := &a.Adapters[i]
		dw := grad.tensors[x.Target].Data
		dA := dst[at : at+a.Rank*x.In]
		dB := dst[at+a.Rank*x.In : at+a.Rank*(x.In+x.Out)]
		at += a.Rank * (x.In + x.Out)
		for r := range a.Rank {
			row = append(row[:0], make([]float64, x.In)...)
			for o := range x.Out {
				b := float64(x.B[o*a.Rank+r])
				for j, g := range dw[o*x.In : (o+1)*x.In] {
					row[j] += float64(b * float64(g))
				}
			}
			for j, v := range row {
				dA[r*x.In+j] = float32(float64(scale * v))
			}
		}
		for o := range x.Out {
			g := dw[o*x.In : (o+1)*x.In]
			for r := range a.Rank {
				sum := 0.0
				for j, v := range x.A[r*x.In : (r+1)*x.In] {
					sum += float64(float64(g[j]) * float64(v))
				}
				dB[o*a.Rank+r] = float32(float64(scale * sum))
			}
		}
	}
}
