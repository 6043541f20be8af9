package lab

import (
	"slices"
	"testing"
)

// TestAssignments: a pair of engines stands for both, and a value that looks like YAML stays.
func TestAssignments(t *testing.T) {
	l := Lesson{Live: &Live{Set: []string{"rollout.numerics={rollout}", "learner.numerics={learner}", "schedule={schedule}"}}}
	got := l.Assignments(map[string]string{"pair": "bf16/fp32", "schedule": "{name: lag, k: 4}"})
	if want := []string{"rollout.numerics=bf16", "learner.numerics=fp32", "schedule={name: lag, k: 4}"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
