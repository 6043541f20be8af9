package engine

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"driftlab/engine/kernel"
	"driftlab/model"
	"driftlab/precision"
)

// Adapters says how the low-rank adapters of a model (LoRA, arXiv:2106.09685) act in an
// engine. The zero value merges them: W + α/r·B·A is rounded to the format of the weights
// once, at the weight sync. Unmerged, the engine has W in the format of the weights, and A
// and B in one of their own, as PEFT trains and vLLM serves an adapter:
//
//	h = A·x,  z = B·h,  y = W·x + (α/r)·z
//
// with h, z and the scaled z rounded to that format, and y to the activations' after each
// term. It is comparable, and without adapters decides nothing.
type Adapters struct {
	// Unmerged keeps A and B separate from W.
	Unmerged bool
	// Format is the format of A, B and their products; the zero value is the activations'.
	Format precision.Format
}

// The words of Adapters.
const (
	mergedAdapters   = "merged"
	unmergedAdapters = "unmerged"
)

// ParseAdapters reads merged, unmerged, or unmerged with a format, such as unmerged:fp32.
func ParseAdapters(text string) (Adapters, error) {
	word, format, apart := strings.Cut(text, ":")
	switch {
	case text == mergedAdapters:
		return Adapters{}, nil
	case text == unmergedAdapters:
		return Adapters{Unmerged: true}, nil
	case word != unmergedAdapters || !apart:
		return Adapters{}, fmt.Errorf("engine: adapters %q: use %s, %s, or %s:FORMAT", text, mergedAdapters, unmergedAdapters, unmergedAdapters)
	}
	f, err := precision.ParseFormat(format)
	return Adapters{Unmerged: true, Format: f}, err
}

// String is the text that ParseAdapters reads.
func (a Adapters) String() string {
	switch {
	case !a.Unmerged:
		return mergedAdapters
	case a.Format == (precision.Format{}):
		return unmergedAdapters
	}
	return unmergedAdapters + ":" + a.Format.String()
}

// MarshalText implements encoding.TextMarshaler.
func (a Adapters) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (a *Adapters) UnmarshalText(text []byte) (err error) {
	*a, err = ParseAdapters(string(text))
	return err
}

// AdaptersField is the name of the field of Numerics.
const AdaptersField = "adapters"

func (n *Numerics) adapterFormat() precision.Format { return cmp.Or(n.Adapters.Format, n.Activations) }

// adapter is the low-rank part of a fused projection: of the outputs from at on.
type adapter struct {
	down, up kernel.Weight // A [rank, in], B [out, rank]
	at       int
	scale    float32
}

// packAdapted packs a fused projection, [out, in], with the adapters of the tensors that form it, and
// prepares it for the gradient of its input. part is a part of the frozen weights where adapters
// are unmerged; else there are none.
func (w *Weights) packAdapted(to *projection, p *model.Params, part []float32, out, in int) {
	w.pack(&to.Weight, part, out, in, w.Numerics.Weights)
	to.adapters = to.adapters[:0]
	if p.LoRA == nil || !w.Numerics.Adapters.Unmerged {
		return
	}
	f, tensors, first := w.Numerics.adapterFormat(), p.LoRA.Base.Tensors(), 0
	for i := range tensors {
		if &tensors[i].Data[0] == &part[0] {
			first = tensors[i].Offset
		}
	}
	for i := range p.LoRA.Adapters {
		a := &p.LoRA.Adapters[i]
		at := tensors[a.Target].Offset - first
		if at < 0 || at >= len(part) {
			continue
		}
		n := len(to.adapters)
		to.adapters = slices.Grow(to.adapters, 1)[:n+1] // with the memory of earlier ones
		x := &to.adapters[n]
		x.at, x.scale = at/a.In, float32(p.LoRA.Scale())
		w.pack(&x.down, a.A, p.LoRA.Rank, a.In, precision.Unscaled(f))
		w.pack(&x.up, a.B, a.Out, p.LoRA.Rank, precision.Unscaled(f))
		to.AddToGradient(x.at, &x.up, &x.down, x.scale)
	}
}

// project sets y = W·x for the rows from..to of x, which a kernel has just written and which it
// quantises, with the products of the adapters.
func (p *Pass) project(k *worker, y []float32, w *projection, x *quantized, from, to int, num kernel.Numerics) {
	p.lowRank(k, w.adapters, x.dense[from*w.In:to*w.In], to-from)
	x.store(from, to, w.In)
	values, scales := x.rows(from, to, w.In)
	kernel.Linear(y, values, scales, &w.Weight, to-from, num, &k.scratch)
	p.addLowRank(k, w.adapters, y, w.Out, to-from)
}

// lowRank computes the adapters' products with the rows x, [rows, in], as the engine has
// them before they are quantised. They wait for addLowRank.
func (p *Pass) lowRank(k *worker, list []adapter, x []float32, rows int) {
	k.products = k.products[:0]
	for i := range list {
		a := &list[i]
		rank, out := a.down.Out, a.up.Out
		k.hidden = grown(k.hidden, rows*rank)
		kernel.Linear(k.hidden, x[:rows*a.down.In], nil, &a.down, rows, p.num.adapters, &k.scratch)
		from := len(k.products)
		k.products = slices.Grow(k.products, rows*out)[:from+rows*out]
		kernel.Linear(k.products[from:], k.hidden, nil, &a.up, rows, p.num.adapters, &k.scratch)
	}
}

func (p *Pass) addLowRank(k *worker, list []adapter, y []float32, width, rows int) {
	z := k.products
	for i := range list {
		a := &list[i]
		out := a.up.Out
		for j := range z[:rows*out] {
			z[j] *= a.scale
		}
		round(p.num.adapters.Output, z[:rows*out])
		for r := range rows {
			row := y[r*width+a.at:][:out]
			kernel.Add(row, row, z[r*out:(r+1)*out])
			round(p.num.activations, row)
		}
		z = z[rows*out:]
	}
}
