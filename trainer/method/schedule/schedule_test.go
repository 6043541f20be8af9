package schedule_test

import (
	"testing"

	"driftlab/trainer/method"
	"driftlab/trainer/method/schedule"
)

// A policy remembers nothing, and says with its defaults what bound it promises.
func TestPolicies(t *testing.T) {
	for _, e := range schedule.Systems {
		p := e.New()
		if m, ok := p.(method.Memory); ok {
			t.Errorf("%s: has a state, %v", e.Name, m)
		}
		if traits := p.Traits(); traits.Bound < schedule.Unbounded || traits.Behind > 0 && traits.Bound != traits.Behind {
			t.Errorf("%s: bound %d, %d behind", e.Name, traits.Bound, traits.Behind)
		}
	}
}

func TestLagRange(t *testing.T) {
	for _, c := range []struct {
		lag   schedule.Lag
		valid bool
	}{{schedule.Lag{K: -1}, false}, {schedule.Lag{}, false}, {schedule.Lag{K: 1}, true}, {schedule.Lag{K: 1024}, true}, {schedule.Lag{K: 1025}, false},
		{schedule.Lag{K: 1, Batches: 16}, true}, {schedule.Lag{Batches: 1025}, false}, {schedule.Lag{K: 2, Batches: 16}, false}} {
		if err := method.Check(&c.lag); (err == nil) != c.valid {
			t.Errorf("%+v: %v", c.lag, err)
		}
	}
}
