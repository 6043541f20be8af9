package measure

import (
	"math"
	"slices"

	"driftlab/engine"
	"driftlab/model"
	"driftlab/trainer/method/batch"
)

// States runs the responses through one engine and hands the pass to visit: the
// residual stream of every layer is then at hand. rows[n] is the row of the
// pass that predicts response token n. replay follows the rollout's routes.
func States(b *batch.Batch, p *model.Params, n engine.Numerics, replay bool, visit func(pass *engine.Pass, rows []int)) {
	w := engine.NewForwardWeights(p.Config, n)
	w.Publish(p, 0)
	pass := engine.NewPass(p.Config, 1)
	defer pass.Close()
	var pack engine.Pack
	var rows []int
	var routes []uint8
	per := p.Config.Layers * p.Config.TopK
	for i := range b.Len() {
		from, to := b.Span(i)
		first := pack.Rows() + len(b.Prompt[i]) - 1
		pack.Add(0, b.Prompt[i], b.Token[from:to-1])
		for t := range to - from {
			rows = append(rows, first+t)
		}
		routes = append(append(routes, b.PromptRoutes[i]...), b.RoutesRoll[from*per:to*per]...)
	}
	o := engine.Options{Save: true}
	if replay {
		o.Replay = routes
	}
	pass.Begin(w, &pack, o)
	pass.Forward()
	visit(pass, rows)
}

// RouterMargins returns, for every response token and layer, by how much the
// last chosen expert beats the first one left out, in the logits of a router
// computed in float64 from the pass's residual stream: [token][layer].
func RouterMargins(pass *engine.Pass, p *model.Params, rows []int) []float64 {
	c := p.Config
	logits := RouterLogits(pass, p, rows)
	out := make([]float64, len(rows)*c.Layers)
	for i := range out {
		logit := logits[i*c.Experts : (i+1)*c.Experts]
		slices.Sort(logit)
		k := c.Experts - c.TopK
		out[i] = logit[k] - logit[k-1]
	}
	return out
}

// RouterLogits returns the logits of a router computed in float64 from the
// pass's residual stream: [token][layer][expert].
func RouterLogits(pass *engine.Pass, p *model.Params, rows []int) []float64 {
	c := p.Config
	out := make([]float64, len(rows)*c.Layers*c.Experts)
	h := make([]float64, c.DModel)
	for l := range c.Layers {
		layer, middle := p.Layer(l), pass.Middle(l)
		for n, row := range rows {
			x := middle[row*c.DModel : (row+1)*c.DModel]
			square := 0.0
			for _, v := range x {
				square += float64(float64(v) * float64(v))
			}
			scale := 1 / math.Sqrt(square/float64(c.DModel)+c.NormEps)
			for i, v := range x {
				h[i] = float64(v) * scale * float64(layer.PostNorm[i])
			}
			logit := out[(n*c.Layers+l)*c.Experts:][:c.Experts]
			for e := range logit {
				for i, v := range h {
					logit[e] += float64(v * float64(layer.Router[e*c.DModel+i]))
				}
			}
		}
	}
	return out
}
