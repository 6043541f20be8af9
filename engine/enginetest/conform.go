package enginetest

import (
	"cmp"
	_ "embed"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"driftlab/engine"
	"driftlab/engine/column"
	"driftlab/engine/reference"
	"driftlab/model"
	"driftlab/precision"
)

// Observation is one sequence as an engine saw it.
type Observation struct {
	// Tokens is the whole sequence the engine read.
	Tokens []int32
	// First is the row that the first of the distributions belongs to.
	First int
	// LogProbs are next-token log-probs of the rows from First on, [row][vocab].
	LogProbs [][]float32
	// Routes are the experts visited by all rows up to the last of the
	// distributions, in the order [row][layer][rank].
	Routes []uint8
}

// Subject is an engine under test: it runs sequences that begin with the
// prompts and reports what it saw, at the given temperature.
type Subject func(p *model.Params, n engine.Numerics, prompts [][]int32, temperature float64) []Observation

// Tolerance bounds the distance of an engine's log-probs from the reference,
// with routes replayed: the largest and the mean absolute difference in nats.
type Tolerance struct{ Max, Mean float64 }

// Tolerances are the bounds per preset for the models of this package, whose
// logits are of order one: about twice what was measured over all of them. The
// engine's mean must also exceed a quarter of its bound, so that a preset that
// computes in a finer format than it says fails too.
//
// The bounds follow the steps of the formats: a step of fp32 is 6e-8, of fp16 and tf32
// 5e-4, of bf16 4e-3, of fp8 e4m3 6e-2 and of fp4 0.25 relative to the value,
// and errors of a dozen roundings in a row add up as their root mean square.
var Tolerances = func() map[string]Tolerance {
	bounds := map[string]Tolerance{}
	for line := range strings.Lines(tolerances) {
		words := strings.Fields(line)
		var bound Tolerance
		if _, err := fmt.Sscan(line, &bound.Max, &bound.Mean); err != nil {
			continue // a comment
		}
		for _, preset := range words[2:] {
			bounds[preset] = bound
		}
	}
	return bounds
}()

//go:embed tolerances.txt
var tolerances string

// conformTemperature is not one, so that an engine that forgets it fails.
const conformTemperature = 0.8

// Conform compares the subject with the reference for every preset: on every model, or else on every other one, in turns.
func Conform(t *testing.T, all bool, subject Subject) {
	known := map[string]*reference.Pass{}
	for i, n := range engine.Presets() {
		models := Models(Small)
		if !all {
			models = slices.DeleteFunc(models, func(m Model) bool { i++; return i%2 == 0 })
		}
		t.Run(n.Name, func(t *testing.T) {
			bound, ok := Tolerances[n.Name]
			if !ok {
				t.Fatalf("no tolerance is stated for %s", n.Name)
			}
			compare(t, subject, n, bound, models, known)
		})
	}
}

// Compare compares the subject with the reference for every model, in the
// given numerics.
func Compare(t testing.TB, subject Subject, n engine.Numerics, bound Tolerance) {
	t.Helper()
	compare(t, subject, n, bound, Models(Small), map[string]*reference.Pass{})
}

// compare is Compare with what the reference is known to compute: most numerics route alike.
func compare(t testing.TB, subject Subject, n engine.Numerics, bound Tolerance, models []Model, known map[string]*reference.Pass) {
	t.Helper()
	var all distance
	for i, m := range models {
		var d distance
		r := reference.New(m.Params)
		forward := func(tokens []int32, routes []uint8) *reference.Pass {
			key := fmt.Sprint(m.Name, tokens, routes)
			trace, ok := known[key]
			if !ok {
				trace = r.Forward(tokens, routes)
				known[key] = trace
			}
			return trace
		}
		prompts := Sequences(uint64(i), 6, m.Params.Config.Vocab, 1, 14)
		for _, o := range subject(m.Params, n, prompts, conformTemperature) {
			d.add(t, forward, o, n)
		}
		if d.max > bound.Max {
			t.Errorf("%s: a log-prob is %.3g off, more than %.3g", m.Name, d.max, bound.Max)
		}
		all.sum, all.count, all.max = all.sum+d.sum, all.count+d.count, math.Max(all.max, d.max)
	}
	mean := all.sum / float64(all.count)
	if mean > bound.Mean || mean < bound.Mean/4 {
		t.Errorf("log-probs are %.3g off on average, stated is %.3g to %.3g", mean, bound.Mean/4, bound.Mean)
	}
	t.Logf("%s: max %.3g, mean %.3g over %d log-probs", n.Name, all.max, mean, all.count)
}

// distance accumulates absolute differences.
type distance struct {
	max, sum float64
	count    int
}

// add compares one observation with the reference under the engine's routes.
// In fp32 the engine's routes must be the reference's own, unless two experts
// were within rounding of each other.
func (d *distance) add(t testing.TB, forward func([]int32, []uint8) *reference.Pass, o Observation, n engine.Numerics) {
	t.Helper()
	rows := o.First + len(o.LogProbs)
	trace := forward(o.Tokens[:rows], o.Routes)
	if n.Activations == precision.FP32 && n.Router == precision.FP32 && n.Weights.Identity() {
		if own := forward(o.Tokens[:rows], nil); own.Margin > 1e-4 && string(own.Routes) != string(o.Routes) {
			t.Errorf("%v visits experts %v, the reference %v", o.Tokens, o.Routes, own.Routes)
		}
	}
	for i, logp := range o.LogProbs {
		for v, want := range reference.LogSoftmax(trace.Logits[o.First+i], conformTemperature) {
			off := math.Abs(float64(logp[v]) - want)
			if math.IsNaN(off) {
				t.Fatalf("row %d: log-prob %v, reference %v", o.First+i, logp[v], want)
			}
			d.max, d.sum, d.count = math.Max(d.max, off), d.sum+off, d.count+1
		}
	}
}

// Responses are responses with what a learner says of them.
type Responses struct {
	column.Sampled
	// Old is its first scoring of them, Now that of its current weights.
	Old, Now column.Scored
}

// Observe turns responses, and the distributions and routes that an engine
// recorded of them, into observations, one per response.
func Observe(in *column.Sampled, engine *column.Scored) []Observation {
	per := in.Layers * in.TopK
	var list []Observation
	for i := range in.Len() {
		from, to := in.Span(i)
		if from == to {
			continue
		}
		o := Observation{First: len(in.Prompt[i]) - 1}
		o.Tokens = append(append(o.Tokens, in.Prompt[i]...), in.Token[from:to]...)
		o.Routes = append(append(o.Routes, engine.PromptRoutes[i]...), engine.Routes[from*per:to*per]...)
		for n := from; n < to; n++ {
			o.LogProbs = append(o.LogProbs, engine.Dist[n*in.Vocab:(n+1)*in.Vocab])
		}
		list = append(list, o)
	}
	return list
}

// Published returns the parameters as an engine in these numerics sees them:
// rounded or quantised, tensor by tensor. Scales must belong to rows, since
// engines quantise some tensors as one matrix.
func Published(p *model.Params, n engine.Numerics) *model.Params {
	if !n.Weights.RowLocal() {
		panic("enginetest: " + n.Weights.String() + " shares scales between rows")
	}
	p = p.Clone()
	for _, t := range p.Tensors() {
		switch {
		case t.Name == "model.embed_tokens.weight" && n.Embedding != (precision.Quantizer{}):
			n.Embedding.RoundTrip(t.Data, t.Data, t.Shape[0], t.Shape[1])
		case len(t.Shape) == 1 || strings.HasPrefix(t.Name, "model.embed_"), strings.HasSuffix(t.Name, "conv1d.weight"):
			n.Activations.RoundSlice(t.Data, t.Data)
		case t.Name == "lm_head.weight":
			cmp.Or(n.HeadWeights, precision.Unscaled(n.Head)).RoundTrip(t.Data, t.Data, t.Shape[0], t.Shape[1])
		case strings.HasSuffix(t.Name, "block_sparse_moe.gate.weight"):
			n.Router.RoundSlice(t.Data, t.Data)
		default:
			n.Weights.RoundTrip(t.Data, t.Data, t.Shape[0], t.Shape[1])
		}
	}
	return p
}

// CompareGradients fails for the first entry of every tensor of p whose gradient is further
// from that of the reference, want, than 1e-4 of it plus floor times the tensor's largest, where
// terms cancel. Entries that are NaN in want count as equal.
func CompareGradients(t testing.TB, what string, p *model.Params, grad []float32, want []float64, floor float64) {
	t.Helper()
	for _, tensor := range p.Tensors() {
		largest := 0.0
		for _, g := range grad[tensor.Offset:tensor.End()] {
			largest = max(largest, math.Abs(float64(g)))
		}
		for i := tensor.Offset; i < tensor.End(); i++ {
			g, w := float64(grad[i]), want[i]
			if !math.IsNaN(w) && !(math.Abs(g-w) <= float64(1e-4*math.Abs(w))+float64(floor*largest)) {
				t.Errorf("%s: %s[%d]: gradient %g, reference %g", what, tensor.Name, i-tensor.Offset, g, w)
				break
			}
		}
	}
}

// Balance is the load-balancing loss of one layer over the rows of several
// sequences, E·Σ_e f_e·P_e with f_e the share of assignments to expert e and
// P_e the mean router probability (arXiv:2101.03961, equation 4, divided by
// the top-k).
func Balance(c model.Config, traces []*reference.Pass, layer int) float64 {
	share, mean := make([]float64, c.Experts), make([]float64, c.Experts)
	rows := 0
	for _, t := range traces {
		for i, probs := range t.Router {
			rows++
			for e, p := range probs[layer] {
				mean[e] += p
			}
			for _, e := range t.Routes[(i*c.Layers+layer)*c.TopK:][:c.TopK] {
				share[e]++
			}
		}
	}
	var sum float64
	for e := range share {
		sum += share[e] / float64(rows*c.TopK) * mean[e] / float64(rows)
	}
	return float64(c.Experts) * sum
}

// Backward adds to m.Grad the gradient of a function of the logits of several sequences that is linear, plus
// the load-balancing loss of every layer:
//
//	Σ_rv C_rv·logits_rv + balance·Σ_layers Balance
//
// c is [rows, vocab] over all sequences. A choice of experts has no gradient.
func Backward(m *reference.Model, passes []*reference.Pass, c []float32, balance float64) {
	config, rows := m.Config, 0
	share := make([]float64, config.Layers*config.Experts)
	for _, p := range passes {
		rows += len(p.Logits)
		for at, e := range p.Routes {
			share[at/config.TopK%config.Layers*config.Experts+int(e)]++
		}
	}
	perRow := balance * float64(config.Experts) / float64(rows*config.TopK) / float64(rows)
	for _, p := range passes {
		var logits [][]float64
		var router [][][]float64
		for _, z := range p.Logits {
			d := make([]float64, len(z))
			for v := range d {
				d[v] = float64(c[v])
			}
			c = c[len(z):]
			layers := make([][]float64, config.Layers)
			for l := range layers {
				for _, n := range share[l*config.Experts : (l+1)*config.Experts] {
					layers[l] = append(layers[l], float64(perRow*n))
				}
			}
			logits, router = append(logits, d), append(router, layers)
		}
		p.Backward(logits, router)
	}
}

// Model is one shape the suites run, with its parameters.
type Model struct {
	// Name says what is special about it.
	Name string
	// Params are drawn from a fixed seed, norms included.
	Params *model.Params
}

// Small is the size for comparing engines with each other, Tiny the one for
// differentiating the reference by every parameter. Their widths are no
// multiples of a vector, 16.
var (
	Small = model.Config{Layers: 2, DModel: 24, Heads: 4, DFF: 20, Context: 48, Vocab: 13}
	Tiny  = model.Config{Layers: 2, DModel: 8, Heads: 4, DFF: 6, Context: 8, Vocab: 7}
)

// Models returns models of that size that together use every choice of the
// architecture: dense and with experts, rotary and learned positions, full,
// grouped and single key heads, each gate order, top-1, a router bias.
func Models(base model.Config) []Model {
	shapes := []struct {
		name   string
		change func(*model.Config)
	}{
		{"dense", func(*model.Config) {}},
		{"dense-learned-grouped", func(c *model.Config) { c.Positions, c.KVHeads = model.Learned, 2 }},
		{"moe", func(c *model.Config) { c.Experts = 5 }},
		{"moe-grouped-softmax-first", func(c *model.Config) {
			c.Experts, c.KVHeads, c.GateOrder = 4, 2, model.SoftmaxThenTopK
		}},
		{"moe-learned-renormalised", func(c *model.Config) {
			c.Experts, c.TopK, c.KVHeads, c.Positions = 4, 3, 1, model.Learned
			c.GateOrder, c.Renormalise = model.SoftmaxThenTopK, true
		}},
		{"moe-top1", func(c *model.Config) { c.Experts, c.TopK, c.GateOrder = 3, 1, model.SoftmaxThenTopK }},
		{"moe-biased", func(c *model.Config) { c.Experts = 3 }},
	}
	var models []Model
	for i, s := range shapes {
		c := base
		s.change(&c)
		m := Model{s.name, NewParams(c, uint64(i+1))}
		if s.name == "moe-biased" {
			m.Params.RouterBias = []float32{0.8, -0.8, 0, -0.5, 0.9, 0.1}
		}
		models = append(models, m)
	}
	return models
}

// Hybrids returns models of that size whose layers are not all of the same type: a layer with a
// state in place of keys cannot do all that the layers of Models can.
func Hybrids(base model.Config) []Model {
	linear, mixed := base, base
	linear.LayerTypes = model.LinearAttention
	mixed.Experts, mixed.KVHeads, mixed.LayerTypes = 3, 2, model.NewLayerTypes(model.LinearAttention, model.FullAttention)
	return []Model{{"linear-attention", NewParams(linear, 31)}, {"moe-hybrid", NewParams(mixed, 32)}}
}

// Sparse returns models of that size with sparse-attention layers, whose rows attend to few
// positions: all of them sparse, and one layer in two.
func Sparse(base model.Config) []Model {
	all, mixed := base, base
	all.LayerTypes, all.IndexTopK, all.IndexHeads = model.SparseAttention, 3, 2
	mixed.Experts, mixed.KVHeads, mixed.IndexTopK, mixed.IndexHeads = 3, 2, 4, 3
	mixed.LayerTypes = model.NewLayerTypes(model.FullAttention, model.SparseAttention)
	return []Model{{"sparse-attention", NewParams(all, 41)}, {"moe-sparse", NewParams(mixed, 42)}}
}

// Named returns the small model of that name, and panics if there is none.
func Named(name string) Model {
	for _, m := range Models(Small) {
		if m.Name == name {
			return m
		}
	}
	panic("enginetest: no model " + name)
}

// NewParams draws parameters. Norms, which start at one in training, are drawn
// too, so that a gain left out shows.
func NewParams(c model.Config, seed uint64) *model.Params {
	p := model.New(c)
	p.Init(seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	for _, t := range p.Tensors() {
		if len(t.Shape) == 1 && strings.HasSuffix(t.Name, "norm.weight") {
			for i := range t.Data {
				t.Data[i] = float32(0.5 + float64(rng.Float64()))
			}
		}
	}
	return p
}

// Sequences draws n token sequences of lengths between least and most.
func Sequences(seed uint64, n, vocab, least, most int) [][]int32 {
	rng := rand.New(rand.NewPCG(seed, 2))
	list := make([][]int32, n)
	for i := range list {
		for range least + rng.IntN(most-least+1) {
			list[i] = append(list[i], int32(rng.IntN(vocab)))
		}
	}
	return list
}
