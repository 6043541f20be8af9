package trainer

import (
	"math"
	"testing"

	"driftlab/engine/learner"
	"driftlab/trainer/method/batch"
)

// TestUpdateIsMeasured: an evaluation says how far the step has moved the policy and the
// routers. A scorer of its own agrees, a learning rate of 0 moves nothing, and a frozen
// router does not travel.
func TestUpdateIsMeasured(t *testing.T) {
	for _, sets := range [][]string{{"learner.minibatches=2"}, {"learner.optimizer={lr: 0, warmup: 0}"}, {"routing.router=frozen", "rollout.numerics=bf16", "routing.replay=r3"}} {
		s := sessionOf(t, Options{}, sets...)
		steps(t, s, 2, func(int) { s.evaluate() })
		var now batch.Scored
		scorer := s.scorerOf(s.learner.Params())
		scorer.Score(&now, &s.batch.Sampled, learner.ScoreOptions{Policy: s.policy, Distributions: true})
		sum, largest, tokens := 0.0, 0.0, 0.0
		for n, counts := range s.batch.Mask {
			if !counts {
				continue
			}
			tv := 0.0
			for a := n * s.batch.Vocab; a < (n+1)*s.batch.Vocab; a++ {
				tv += math.Abs(math.Exp(float64(now.Dist[a]))-math.Exp(float64(s.batch.Old.Dist[a]))) / 2
			}
			sum, largest, tokens = sum+tv, max(largest, tv), tokens+1
		}
		if got := s.figure(t, "val/update_tv"); math.Abs(got-sum/tokens) > 1e-9 || (got == 0) != (s.recipe.Learner.Optimizer.LR == 0) {
			t.Errorf("%v: total variation %v, by a scorer %v", sets, got, sum/tokens)
		}
		if got := s.figure(t, "val/update_tv_max"); math.Abs(got-largest) > 1e-9 {
			t.Errorf("%v: largest total variation %v, by a scorer %v", sets, got, largest)
		}
		// All weights but the routers' have travelled the rest.
		rest := 0.0
		for i, tensor := range s.learner.Params().Tensors() {
			if !tensor.Router() {
				rest += math.Pow(distance(tensor.Data, s.initial.Tensors()[i].Data), 2)
			}
		}
		router, all := s.figure(t, "val/router_travel"), s.figure(t, "val/weight_travel")
		if math.Abs(router*router+rest-all*all) > 1e-9 {
			t.Errorf("%v: routers travelled %v, the rest %v, all %v", sets, router, math.Sqrt(rest), all)
		}
		if still := s.recipe.Routing.Router == "frozen" || all == 0; (router == 0) != still {
			t.Errorf("%v: routers travelled %v", sets, router)
		}
	}
}
