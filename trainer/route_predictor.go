package trainer

import (
	"slices"

	"driftlab/engine/learner"
	"driftlab/trainer/engines"
	"driftlab/trainer/method"
)

// routePredictor is the predictor of the routing replay pr2: the learner's scoring pass reads
// and its gradients train it.
type routePredictor struct {
	*learner.RoutePredictor
	tokens []int // of the minibatch at work
}

// newRoutePredictor is nil for other replays.
func newRoutePredictor(s *Session) *routePredictor {
	p := s.recipe.Routing.Prediction()
	if p == nil {
		return nil
	}
	w := learner.NewRoutePredictor(s.initial.Config, engines.LearnerSettings(s.recipe.Learner, s.recipe.Learner.Optimizer).AdamW)
	w.Rate, w.Differences = p.LR, p.Loss == "kl"
	return &routePredictor{RoutePredictor: w}
}

// tokensOf are the places in the batch of the tokens of the minibatch at work.
func (w *routePredictor) tokensOf(s *Session) []int {
	w.tokens = w.tokens[:0]
	for i := range s.batch.Len() {
		_, taken := slices.BinarySearch(s.rows, i)
		if !taken && s.recipe.Learner.Minibatches > 1 { // a single minibatch is the batch
			continue
		}
		for n, to := s.batch.Span(i); n < to; n++ {
			w.tokens = append(w.tokens, n)
		}
	}
	return w.tokens
}

// AppendState appends the weights, the moments of AdamW and the number of updates.
func (w *routePredictor) AppendState(dst []byte) []byte {
	weights, first, second, updates := w.State()
	return method.AppendState(dst, weights, first, second, *updates)
}

func (w *routePredictor) SetState(data []byte) error {
	weights, first, second, updates := w.State()
	return method.ReadState(data, weights, first, second, updates)
}
