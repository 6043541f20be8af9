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
	for k, valid := range map[int]bool{-1: false, 0: false, 1: true, 32: true, 1024: true, 1025: false} {
		if err := method.Check(&schedule.Lag{K: k}); (err == nil) != valid {
			t.Errorf("k %d: %v", k, err)
		}
	}
}
