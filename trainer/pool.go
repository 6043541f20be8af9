package trainer

import (
	"context"
	"fmt"

	"driftlab/trainer/method/stream"
)

// filterPool leaves out of the pool what the first weights solve too seldom or too often.
func (s *Session) filterPool() error {
	o := s.recipe.Rollout.Pool
	if o == nil || !o.Sifts() {
		return nil
	}
	e := newEvaluator(s.recipe, s.task, s.recipe.Learner.Numerics, s.options.Workers)
	defer e.close()
	e.begin(s.initial, s.source.Pool(), 1, s.recipe.Seed, stream.Pool)
	_ = e.tryAll(context.Background(), o.Samples)
	var kept []int
	for i, p := range e.end().Prompts {
		if rate := float64(p.Correct) / float64(p.Samples); rate >= o.Keep[0] && rate <= o.Keep[1] {
			kept = append(kept, i)
		}
	}
	if len(kept) == 0 {
		return fmt.Errorf("rollout.pool: the first weights solve none of the %d prompts between %v and %v of the time: widen keep, or take other prompts", o.Prompts, o.Keep[0], o.Keep[1])
	}
	s.source.Keep(o.From, kept)
	return nil
}

// observePool appends how often the pool has been gone through, and what is left of it.
func (s *Session) observePool(step, prompts int) {
	if s.source.Pool() == nil {
		return
	}
	epoch, left := s.source.Epoch(step, prompts)
	s.log("pool/epoch", epoch)
	s.log("pool/kept", left)
}

// indices are 0 to n-1.
func indices(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}
