package learner

import (
	"math"
	"slices"
	"testing"

	"driftlab/engine"
	"driftlab/engine/column"
	"driftlab/engine/enginetest"
)

// predicting is a learner, a predictor that has recorded a pass of two responses, and their
// tokens; the weights of the learner have moved since.
func predicting(t *testing.T) (*Learner, *RoutePredictor, *column.Sampled) {
	t.Helper()
	p := enginetest.Named("moe").Params.Clone()
	fp32, _ := engine.Preset("fp32")
	l := New(p, Settings{Numerics: fp32}, 1)
	t.Cleanup(l.Close)
	in := &column.Sampled{Prompt: [][]int32{{1, 2}, {3}}, Token: []int32{4, 5, 6, 7, 8}, Offsets: []int{0, 3, 5}, Layers: p.Config.Layers, TopK: p.Config.TopK, Vocab: p.Config.Vocab}
	w := NewRoutePredictor(p.Config, AdamW{Beta1: 0.9, Beta2: 0.99, Eps: 1e-8})
	var old column.Scored
	l.Score(&old, in, ScoreOptions{Policy: Policy{Temperature: 1}, Predictor: w})
	for i := range p.Theta {
		p.Theta[i] *= 1 + 0.2*float32(i%3)
	}
	l.Republish()
	l.publish()
	l.layOut(in, replay{})
	l.begin(in, Policy{Temperature: 1}, nil, engine.Options{KeepRouter: true})
	l.pass.Forward()
	return l, w, in
}

var fiveTokens = []int{0, 1, 2, 3, 4}

func TestRoutePredictorGradient(t *testing.T) {
	for _, differences := range []bool{false, true} {
		l, w, in := predicting(t)
		w.Differences = differences
		weights := w.weights.Weights
		for i := range weights {
			weights[i] = 0.3 * float32(math.Sin(float64(i)))
		}
		loss := func() float64 { return w.update(l, in, fiveTokens)[0].Value }
		loss()
		grad := slices.Clone(w.grad)
		for i := 0; i < len(weights); i += 37 {
			const h = 1.0 / 256
			at := weights[i]
			weights[i] = at + h
			up := loss()
			weights[i] = at - h
			down := loss()
			weights[i] = at
			if got, want := float64(grad[i]), (up-down)/(2*h); math.Abs(got-want) > 1e-4*(1+math.Abs(want)) {
				t.Fatalf("differences %t: d loss/d W[%d] = %g, finite differences %g", differences, i, got, want)
			}
		}
	}
}

// A predictor of zero changes no bit; updates lower its loss below that without one, and its
// ranking moves towards the current router's.
func TestRoutePredictorLearns(t *testing.T) {
	l, w, in := predicting(t)
	first := w.update(l, in, fiveTokens)
	if first[0].Value != first[1].Value || first[2] != (column.Metric{Name: "routes/predicted_overlap", Value: first[3].Value}) || first[3].Value == 1 {
		t.Errorf("a predictor of zero: %v", first)
	}
	w.Rate = 1e-2
	last := first
	for range 200 {
		last = w.update(l, in, fiveTokens)
	}
	if last[0].Value > last[1].Value/2 || last[2].Value <= last[3].Value {
		t.Errorf("after 200 updates: %v", last)
	}
	// The next scoring pass visits the experts that the predictor ranks highest.
	var routes [2][]uint8
	for i, predictor := range []*RoutePredictor{nil, w} {
		var scored column.Scored
		l.Score(&scored, in, ScoreOptions{Policy: Policy{Temperature: 1}, Predictor: predictor})
		routes[i] = slices.Clone(scored.Routes)
	}
	if slices.Equal(routes[0], routes[1]) {
		t.Error("the predictor moves no route")
	}
	var zero, none column.Scored
	l.Score(&zero, in, ScoreOptions{Policy: Policy{Temperature: 1}, Predictor: NewRoutePredictor(l.config, AdamW{})})
	l.Score(&none, in, ScoreOptions{Policy: Policy{Temperature: 1}})
	if !slices.Equal(zero.Logp, none.Logp) || !slices.Equal(zero.Routes, none.Routes) {
		t.Error("a predictor of zero changes the pass")
	}
}
