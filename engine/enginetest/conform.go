package enginetest

import (
	"fmt"
	"math"
	"testing"

	"driftlab/engine"
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
// The pattern is that of the formats: a step of fp32 is 6e-8, of fp16 and tf32
// 5e-4, of bf16 4e-3, of fp8 e4m3 6e-2 and of fp4 0.25 relative to the value,
// and errors of a dozen roundings in a row add up as their root mean square.
var Tolerances = map[string]Tolerance{
	"fp32":                fp32Bound,
	"fp32-unfused":        fp32Bound,
	"fp32-pairwise":       fp32Bound,
	"fp32-splitk4":        fp32Bound,
	"fp32-tp2":            fp32Bound,
	"fp32-tp4":            fp32Bound,
	"fp32-tp8":            fp32Bound,
	"fp32-flash-decoding": fp32Bound,
	"fp32-batch-variant":  fp32Bound,
	"fp32-online":         fp32Bound,
	"tf32":                {5e-3, 5e-4},
	"fp16":                {8e-3, 1e-3},
	"fp16-tp2":            {8e-3, 1e-3},
	"fp16-tp4":            {8e-3, 1e-3},
	"bf16":                bf16Bound,
	"bf16-splitk4":        bf16Bound,
	"bf16-tp2":            bf16Bound,
	"bf16-tp4":            bf16Bound,
	"bf16-tp8":            bf16Bound,
	"bf16-tp4-tree":       bf16Bound,
	"bf16-tp8-tree":       bf16Bound,
	"bf16-tp4-fp32-wire":  bf16Bound,
	"bf16-tbik-tp1":       bf16Bound,
	"bf16-tbik-tp2":       bf16Bound,
	"bf16-tbik-tp4":       bf16Bound,
	"bf16-tbik-tp8":       bf16Bound,
	"bf16-flash-decoding": bf16Bound,
	"bf16-cp8":            bf16Bound,
	"bf16-ep2":            bf16Bound,
	"bf16-ep4":            bf16Bound,
	"bf16-batch-variant":  bf16Bound,
	"bf16-fp32-head":      bf16Bound,
	"bf16-fp32-router":    bf16Bound,
	"bf16-online":         bf16Bound,
	"bf16-accumulate":     {0.1, 0.013},
	"int8-w8a8":           {0.1, 0.015},
	"fp8-w8a8":            {0.5, 0.06},
	"fp8-block":           {0.5, 0.06},
	"fp8-tensor":          {0.5, 0.06},
	"fp8-block16":         {0.5, 0.06},
	"fp8-acc14":           {0.5, 0.06},
	"fp8-acc14-promoted":  {0.5, 0.06},
	"fp8-kv8":             {0.5, 0.06},
	"fp8-all":             {0.8, 0.09},
	"fp4-w4a16":           {2, 0.2},
	"fp4-mx":              {2, 0.2},
	"fp4-all":             {2, 0.2},
	"llama-f16":           {8e-3, 1e-3},
	"llama-bf16":          {0.08, 9e-3},
	"llama-q8_0":          {0.1, 0.015},
	"llama-q4_0":          {2, 0.2},
	"onnx-int8":           {0.25, 0.02},
	"torch-bf16":          bf16Bound,
}

var (
	fp32Bound = Tolerance{2.5e-6, 3e-7}
	bf16Bound = Tolerance{0.08, 9e-3}
)

// conformTemperature is not one, so that an engine that forgets it fails.
const conformTemperature = 0.8

// Conform compares the subject with the reference for every model and preset.
func Conform(t *testing.T, subject Subject) {
	known := map[string]Trace{}
	for _, n := range engine.Presets() {
		t.Run(n.Name, func(t *testing.T) {
			bound, ok := Tolerances[n.Name]
			if !ok {
				t.Fatalf("no tolerance is stated for %s", n.Name)
			}
			compare(t, subject, n, bound, known)
		})
	}
}

// Compare compares the subject with the reference for every model, in the
// given numerics.
func Compare(t testing.TB, subject Subject, n engine.Numerics, bound Tolerance) {
	t.Helper()
	compare(t, subject, n, bound, map[string]Trace{})
}

// compare is Compare with what the reference is known to compute: most numerics route alike.
func compare(t testing.TB, subject Subject, n engine.Numerics, bound Tolerance, known map[string]Trace) {
	t.Helper()
	var all distance
	for i, m := range Models(Small) {
		var d distance
		r := NewReference(m.Params)
		forward := func(tokens []int32, routes []uint8) Trace {
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
func (d *distance) add(t testing.TB, forward func([]int32, []uint8) Trace, o Observation, n engine.Numerics) {
	t.Helper()
	rows := o.First + len(o.LogProbs)
	trace := forward(o.Tokens[:rows], o.Routes)
	if n.Activations == precision.FP32 && n.Router == precision.FP32 && n.Weights.Identity() {
		if own := forward(o.Tokens[:rows], nil); own.Margin > 1e-4 && string(own.Routes) != string(o.Routes) {
			t.Errorf("%v visits experts %v, the reference %v", o.Tokens, o.Routes, own.Routes)
		}
	}
	for i, logp := range o.LogProbs {
		for v, want := range LogSoftmax(trace.Logits[o.First+i], conformTemperature) {
			off := math.Abs(float64(logp[v]) - want)
			if math.IsNaN(off) {
				t.Fatalf("row %d: log-prob %v, reference %v", o.First+i, logp[v], want)
			}
			d.max, d.sum, d.count = math.Max(d.max, off), d.sum+off, d.count+1
		}
	}
}
