package schedule_test

import (
	"fmt"
	"testing"

	"driftlab/trainer/method"
	"driftlab/trainer/method/schedule"
)

func TestRegistry(t *testing.T) {
	for _, e := range schedule.Registry {
		s := e.New()
		if err := method.Check(s); err != nil {
			t.Errorf("%s: defaults are not valid: %v", e.Name, err)
		}
		if e.Unit != method.System || e.Group != "schedule" || e.Formula == "" || e.Source == "" || e.Example == "" {
			t.Errorf("%s: incomplete entry %+v", e.Name, e.Spec)
		}
		if s == e.New() && s.MaxLag() > 0 {
			t.Errorf("%s: New returns a shared value", e.Name)
		}
		for step := range 100 {
			if lag := s.Lag(step); lag < 0 || lag > s.MaxLag() {
				t.Errorf("%s: lag %d at step %d is outside [0, %d]", e.Name, lag, step, s.MaxLag())
			}
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

func Example() {
	for _, name := range []string{"sync", "lag"} {
		e, _ := schedule.Registry.Lookup(name)
		fmt.Println(name, e.New().Lag(10))
	}
	// The delay of the weights that sample step 3, k = 2, one update per step.
	version := 3
	fmt.Println("from version", max(0, version-(&schedule.Lag{K: 2}).Lag(3)))
	// Output:
	// sync 0
	// lag 1
	// from version 1
}
