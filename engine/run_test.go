package engine_test

import (
	"math"
	"slices"

	"driftlab/engine"
	"driftlab/model"
)

// outcome is what a pass gave, by sequence.
type outcome struct {
	logits [][]float32 // [row][vocab], flat
	routes [][]uint8   // [row][layer][rank], flat
}

// weightsOf publishes the parameters.
func weightsOf(p *model.Params, n engine.Numerics) *engine.Weights {
	w := engine.NewWeights(p.Config, n)
	w.Publish(p, 0)
	return w
}

// packOf lays sequences end to end.
func packOf(sequences [][]int32) *engine.Pack {
	var pack engine.Pack
	pack.Reset()
	for _, s := range sequences {
		pack.Add(0, s)
	}
	return &pack
}

// run takes the sequences through one pass, all in one pack.
func run(p *model.Params, n engine.Numerics, sequences [][]int32, workers int, o engine.Options) outcome {
	pass := engine.NewPass(p.Config, workers)
	defer pass.Close()
	pack := packOf(sequences)
	pass.Begin(weightsOf(p, n), pack, o)
	pass.Forward()
	var out outcome
	out.take(pass, pack, p.Config)
	return out
}

// take appends the results of a pass whose every row is a target.
func (o *outcome) take(pass *engine.Pass, pack *engine.Pack, c model.Config) {
	per := c.Layers * c.TopK
	for s := range pack.Sequences() {
		from, to := pack.Offsets[s], pack.Offsets[s+1]
		o.logits = append(o.logits, slices.Clone(pass.Logits()[from*c.Vocab:to*c.Vocab]))
		o.routes = append(o.routes, slices.Clone(pass.Routes()[from*per:to*per]))
	}
}

// equalBits compares bit patterns, so that zeros of unlike sign differ and a NaN equals itself.
func equalBits(a, b []float32) bool {
	return slices.EqualFunc(a, b, func(x, y float32) bool { return math.Float32bits(x) == math.Float32bits(y) })
}
