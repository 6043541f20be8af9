package run

import (
	"testing"

	"driftlab/trainer/trainertest"
)

// Runs of milliseconds have snapshots here as long ones have.
func init() { snapshotEvery = 25 }

// TestSnapshotsGoByWork: twice as many tokens a step, half as many steps between snapshots, twice as many steps for twice the numbers of
// a large one, and a step at least.
func TestSnapshotsGoByWork(t *testing.T) {
	defer func(n int) { snapshotEvery = n }(snapshotEvery)
	snapshotEvery = 1 << 30
	r := trainertest.Recipe(t, "steps=60", "eval={every: 0}")
	if n := snapshotSteps(r, 0); n <= r.Steps {
		t.Errorf("a run of milliseconds writes its state after %d of %d steps", n, r.Steps)
	}
	once := snapshotSteps(r, 0)
	r.Rollout.Prompts *= 2
	if twice := snapshotSteps(r, 0); twice < once/2-1 || twice > once/2+1 {
		t.Errorf("snapshots after %d steps, and of twice the work after %d", once, twice)
	}
	if few, many := snapshotSteps(r, 1e9), snapshotSteps(r, 2e9); few <= once || many < 2*few-1 || many > 2*few+2 {
		t.Errorf("snapshots of a billion numbers after %d steps, of two after %d, small ones after %d", few, many, once)
	}
	r.Rollout.MaxTokens = 1 << 40
	if n := snapshotSteps(r, 0); n != 1 {
		t.Errorf("snapshots of enormous steps after %d", n)
	}
}
