package learner

import (
	"driftlab/engine"
	"driftlab/engine/column"
	"driftlab/model"
	"driftlab/moe"
	"driftlab/precision/elementary"
)

// RoutePredictor learns, update by update, how the logits of the routers move while a batch is
// trained, so that the routes of the pass that scores the next batch are those of its later
// updates (Pr2, arXiv:2606.00395). With z and h the logits and the input of a router when the
// batch was scored, z' its logits at an update, and means over tokens, its loss is
//
//	Σ_layers KL(softmax(z') ‖ softmax(z + W·h))
//
// or, of Differences, Σ_layers KL(softmax(z' − z) ‖ softmax(W·h)). Its gradient reaches W alone.
// Source: miles 3cc098668, predictive_router_loss.py.
type RoutePredictor struct {
	// Rate is the learning rate.
	Rate float64
	// Differences fits the differences of the logits, not the logits (kl in miles; the paper has kl-post).
	Differences bool

	weights *engine.Predictor
	config  model.Config
	adam    *adamW
	grad    []float32
	// of the tokens of the batch that was scored last: [token][layer][d] and [token][layer][expert]
	inputs, logits []float32
	p, expected    []float64 // of one token and layer, by expert
}

// NewRoutePredictor returns a predictor whose weights are zero, to be updated by AdamW; the norm
// of its gradient is not clipped.
func NewRoutePredictor(c model.Config, s AdamW) *RoutePredictor {
	w := engine.NewPredictor(c)
	n := len(w.Weights)
	return &RoutePredictor{weights: w, config: c, grad: make([]float32, n), p: make([]float64, c.Experts), expected: make([]float64, c.Experts),
		adam: &adamW{settings: s, runs: []run{{end: n, decayed: true}}, m: make([]float32, n), v: make([]float32, n)}}
}

// State are the weights, the moments of AdamW, which share the predictor's memory, and the
// number of updates.
func (w *RoutePredictor) State() (weights, first, second []float32, updates *int) {
	return w.weights.Weights, w.adam.m, w.adam.v, &w.adam.updates
}

// engine is what a pass needs of it.
func (w *RoutePredictor) engine() *engine.Predictor {
	if w == nil {
		return nil
	}
	return w.weights
}

// record keeps inputs and logits of the routers for the tokens of a pass.
func (w *RoutePredictor) record(s *Scorer, in *column.Sampled) {
	w.inputs, w.logits = w.inputs[:0], w.logits[:0]
	perInput, perLogits := w.config.Layers*w.config.DModel, w.config.Layers*w.config.Experts
	for i := range in.Len() {
		from, to := s.responseRows(in, i)
		w.inputs = append(w.inputs, s.pass.RouterInputs()[from*perInput:to*perInput]...)
		w.logits = append(w.logits, s.pass.Router()[from*perLogits:to*perLogits]...)
	}
}

// update makes an update with the logits of the last pass, whose responses have these of the
// recorded tokens, and returns its loss and that of no predictor, and the shares of the experts
// of the current logits that the predicted and the recorded logits rank as high.
func (w *RoutePredictor) update(l *Learner, in *column.Sampled, tokens []int) []column.Metric {
	c := &w.config
	gate := moe.Gate{Experts: c.Experts, TopK: c.TopK}
	var ids [3][moe.MaxExperts]uint8 // of the current, the predicted and the recorded logits
	gates, shifted := make([]float32, c.TopK), make([]float32, c.Experts)
	var loss, without, predicted, recorded float64
	clear(w.grad)
	k := 0
	for i := range in.Len() {
		for row, end := l.responseRows(in, i); row < end; row++ {
			for layer := range c.Layers {
				at := tokens[k]*c.Layers + layer
				x, old := w.inputs[at*c.DModel:(at+1)*c.DModel], w.logits[at*c.Experts:(at+1)*c.Experts]
				now := l.pass.Router()[(row*c.Layers+layer)*c.Experts:][:c.Experts]
				copy(shifted, old)
				w.weights.Shift(shifted, x, layer)
				for j, logits := range [...][]float32{now, shifted, old} {
					gate.Select(ids[j][:c.TopK], gates, logits, nil, 1)
				}
				predicted += overlap(ids[0][:c.TopK], ids[1][:c.TopK])
				recorded += overlap(ids[0][:c.TopK], ids[2][:c.TopK])
				loss += w.divergence(now, shifted, old)
				w.addGradient(layer, x, 1/float64(len(tokens)))
				without += w.divergence(now, old, old)
			}
			k++
		}
	}
	w.adam.step(l.pass.Team(), w.weights.Weights, w.grad, 1, w.Rate)
	n, decisions := float64(max(len(tokens), 1)), float64(max(len(tokens)*c.Layers, 1))
	return []column.Metric{{Name: "routes/predictor_loss", Value: loss / n}, {Name: "routes/predictor_loss_without", Value: without / n},
		{Name: "routes/predicted_overlap", Value: predicted / decisions}, {Name: "routes/recorded_overlap", Value: recorded / decisions}}
}

// divergence is the loss of one token and layer; it leaves both distributions in p and expected.
func (w *RoutePredictor) divergence(now, shifted, old []float32) (kl float64) {
	for e := range now {
		w.p[e], w.expected[e] = float64(now[e]), float64(shifted[e])
		if w.Differences {
			w.p[e] -= float64(old[e])
			w.expected[e] -= float64(old[e])
		}
	}
	logP, logQ := logNorm(w.p), logNorm(w.expected)
	for e, z := range w.p {
		q := w.expected[e] - logQ
		w.p[e], w.expected[e] = elementary.Exp(z-logP), elementary.Exp(q)
		kl += float64(w.p[e] * (z - logP - q))
	}
	return kl
}

// addGradient adds d loss/d W = (expected − p)·hᵀ of the token and layer of the last divergence.
func (w *RoutePredictor) addGradient(layer int, x []float32, scale float64) {
	matrix := w.weights.Matrix(layer)
	from := layer * len(matrix)
	for e := range w.p {
		g := float32((w.expected[e] - w.p[e]) * scale)
		row := w.grad[from+e*len(x):][:len(x)]
		for i, v := range x {
			row[i] += float32(g * v)
		}
	}
}

// overlap is the share of the experts of one choice that another has.
func overlap(a, b []uint8) float64 {
	n := 0
	for _, x := range a {
		for _, y := range b {
			if x == y {
				n++
			}
		}
	}
	return float64(n) / float64(len(a))
}
