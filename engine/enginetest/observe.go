package enginetest

import "driftlab/trainer/batch"

// Columns are the columns of a batch that one engine filled.
type Columns int

const (
	// RolloutColumns are DistRoll, RoutesRoll and PromptRoutes.
	RolloutColumns Columns = iota
	// OldColumns are DistOld, RoutesOld and PromptRoutesOld.
	OldColumns
	// CurrentColumns are Dist, with the routes of OldColumns.
	CurrentColumns
)

// Observe turns the columns of a batch into observations, one per response.
func Observe(b *batch.Batch, c Columns) []Observation {
	dist, routes, prompts := b.DistRoll, b.RoutesRoll, b.PromptRoutes
	if c != RolloutColumns {
		dist, routes, prompts = b.DistOld, b.RoutesOld, b.PromptRoutesOld
	}
	if c == CurrentColumns {
		dist = b.Dist
	}
	per := b.Layers * b.TopK
	var list []Observation
	for i := range b.Len() {
		from, to := b.Span(i)
		if from == to {
			continue
		}
		o := Observation{First: len(b.Prompt[i]) - 1}
		o.Tokens = append(append(o.Tokens, b.Prompt[i]...), b.Token[from:to]...)
		o.Routes = append(append(o.Routes, prompts[i]...), routes[from*per:to*per]...)
		for n := from; n < to; n++ {
			o.LogProbs = append(o.LogProbs, dist[n*b.Vocab:(n+1)*b.Vocab])
		}
		list = append(list, o)
	}
	return list
}
