package enginetest

import "driftlab/engine/column"

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
