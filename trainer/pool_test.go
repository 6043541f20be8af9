package trainer

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"driftlab/trainer/engines"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/trainertest"
)

// TestPoolComesBack goes through the whole pool once an epoch, every time in another
// order, and after a step through what is kept.
func TestPoolComesBack(t *testing.T) {
	r := trainertest.Recipe(t, "rollout.pool={prompts: 6}").Resolved()
	p := engines.NewPrompts(r, r.Task.New())
	const n = 4
	epoch := func(from int) (ids []int64) { // three steps are two epochs
		for step := from; step < from+3; step++ {
			for _, q := range p.Step(nil, step, n) {
				ids = append(ids, q.ID)
			}
		}
		return ids
	}
	ids := epoch(0)
	count := map[int64]int{}
	for _, id := range ids {
		count[id]++
	}
	var pool []int64
	for _, q := range p.Pool() {
		pool = append(pool, q.ID)
	}
	slices.Sort(pool)
	if got := slices.Sorted(maps.Keys(count)); !slices.Equal(got, pool) || slices.ContainsFunc(got, func(id int64) bool { return count[id] != 2 }) || slices.Equal(ids[:6], ids[6:]) {
		t.Errorf("two epochs: %v", ids)
	}
	if again := engines.NewPrompts(r, r.Task.New()); again.Step(nil, 2, n)[0].ID != ids[2*n] || again.Step(nil, 0, n)[1].ID != ids[1] {
		t.Error("the prompts of a step depend on what was asked before")
	}
	p.Keep(3, []int{1, 4})
	epochs, left := p.Epoch(4, n)
	if left != 1./3 {
		t.Errorf("%v of the pool are left", left)
	}
	if now := epoch(3); !slices.Equal(epoch(0), ids) || !slices.Equal(slices.Compact(slices.Sorted(slices.Values(now))), slices.Sorted(slices.Values([]int64{p.Pool()[1].ID, p.Pool()[4].ID}))) || epochs != 2 {
		t.Errorf("after the third step: %v", now)
	}
}

// TestPoolIsSifted keeps the prompts within the range, synchronously and on a clock,
// and says where none is.
func TestPoolIsSifted(t *testing.T) {
	for _, schedule := range []string{"schedule=sync", "schedule=areal"} {
		r := loaded(t, "default", schedule, "steps=2", "rollout.prompts=2", "rollout.group=2", "eval.every=0", "rollout.pool={prompts: 24, keep: [0, 0.7], samples: 8, from: 1}")
		s := sessionIn(t, r, Options{})
		var kept, epochs []float64
		if err := s.Run(context.Background(), 0, func(_ int, figures []batch.Metric) error {
			for _, m := range figures {
				switch m.Name {
				case "pool/kept":
					kept = append(kept, m.Value)
				case "pool/epoch":
					epochs = append(epochs, m.Value)
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if kept[0] != 1 || !(kept[1] > 0 && kept[1] < 1) || !slices.Equal(epochs, []float64{0, 0}) {
			t.Errorf("%s: kept %v, epochs %v", schedule, kept, epochs)
		}
	}
}

// TestPoolWithoutPrompts says that none is left.
func TestPoolWithoutPrompts(t *testing.T) {
	r, p := prepared(t, trainertest.Recipe(t, "rollout.pool={prompts: 3, keep: [0.9, 1], samples: 2}"))
	if _, err := NewSession(r, p, Options{}); err == nil || !strings.Contains(err.Error(), "rollout.pool: the first weights solve none of the 3 prompts between 0.9 and 1") {
		t.Errorf("nothing left: %v", err)
	}
}
