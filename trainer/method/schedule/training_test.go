package schedule_test

import (
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"testing"

	"driftlab/engine/column"
	"driftlab/engine/rollout"
	"driftlab/model"
	"driftlab/precision/must"
	"driftlab/trainer/cluster"
	"driftlab/trainer/engines"
	"driftlab/trainer/method/schedule"
	"driftlab/trainer/trainertest"
)

// Reference: systems.md, section 6: the numbers of the workers change nothing in
// what is trained, to the bit, where real engines sample and the weights follow
// from what they sampled.
func TestWorkerNumbersInTraining(t *testing.T) {
	const steps = 4
	for _, e := range schedule.Systems {
		r := trainertest.Recipe(t, "schedule="+e.Name, "steps=4", "rollout.max_tokens=20", "rollout.slots=2").Resolved()
		if !r.OnClock() {
			continue
		}
		batches := func(order []int) (all []uint64) {
			p := model.New(r.Model)
			p.Init(r.Seed)
			beside := rollout.New(r.Model, r.Rollout.Numerics, 1, 1)
			defer beside.Close()
			c := must.Get(cluster.New(r, engines.NewPrompts(r, r.Task.New()), beside, p, nil))(t)
			c.Core.Arrange(order)
			var b column.Sampled
			for step := range steps {
				if _, err := c.Next(&b, p, step); err != nil {
					t.Fatalf("%s: %v", e.Name, err)
				}
				h := fnv.New64()
				h.Write(b.AppendState(nil))
				all = append(all, h.Sum64())
				rng := rand.New(rand.NewPCG(h.Sum64(), 1)) // another bit, and all that follows is another
				for i := range p.Theta {
					p.Theta[i] += 0.01 * (rng.Float32() - 0.5)
				}
			}
			return all
		}
		want := batches([]int{0, 1, 2})
		for _, order := range [][]int{{2, 1, 0}, {1, 2, 0}}[:schedule.FewOrders()] {
			if got := batches(order); !slices.Equal(got, want) {
				t.Errorf("%s: with workers in the order %v other responses are trained", e.Name, order)
			}
		}
	}
}
