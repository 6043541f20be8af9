package run

import (
	"testing"

	"driftlab/trainer/trainertest"
)

// Runs of milliseconds have snapshots here as long ones have.
func init() { snapshotEvery = 25 }

// TestSnapshotsGoByWork: twice as many tokens a step, half as many steps between snapshots,
// and a step at least.
func TestSnapshotsGoByWork(t *testing.T) {
	defer func(n int) { snapshotEvery = n }(snapshotEvery)
	snapshotEvery = 1 << 30
	r := trainertest.Recipe(t, "steps=60", "eval={every: 0}")
	if n := snapshotSteps(r); n <= r.Steps {
		t.Errorf("a run of milliseconds writes its state after %d of %d steps", n, r.Steps)
	}
	once := snapshotSteps(r)
	r.Rollout.Prompts *= 2
	if twice := snapshotSteps(r); twice < once/2-1 || twice > once/2+1 {
		t.Errorf("snapshots after %d steps, and of twice the work after %d", once, twice)
	}
	r.Rollout.MaxTokens = 1 << 40
	if n := snapshotSteps(r); n != 1 {
		t.Errorf("snapshots of enormous steps after %d", n)
	}
}
