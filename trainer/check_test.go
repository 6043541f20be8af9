package trainer

import (
	"strings"
	"testing"

	"driftlab/trainer/trainertest"
)

// TestCheck finds what is wrong with the models that a recipe names beside its own.
func TestCheck(t *testing.T) {
	if err := Check(trainertest.Recipe(t).Resolved()); err != nil {
		t.Errorf("no other model: %v", err)
	}
	for _, c := range []struct {
		sets []string
		want string
	}{
		{[]string{"teacher=nosuch", "loss={name: prime_geo, teacher_tau: 0.1}"}, `teacher: checkpoint "nosuch"`},
		{[]string{"rollout.speculative={drafter: nosuch}"}, `rollout.speculative.drafter: checkpoint "nosuch"`},
	} {
		if err := Check(trainertest.Recipe(t, c.sets...).Resolved()); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%q: %v, want %s", c.sets, err, c.want)
		}
	}
}
