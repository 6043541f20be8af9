package claim

import "testing"

// TestWarmSeeds: ten replications have a warm start of their own, and no base
// shares one with another.
func TestWarmSeeds(t *testing.T) {
	for _, k := range []struct{ seed, want uint64 }{{1, 1}, {10, 10}, {11, 1}, {20, 10}, {1001, 1001}, {1010, 1010}, {1011, 1001}, {9003, 9003}} {
		if got := warmStart(k.seed); got != k.want {
			t.Errorf("seed %d starts from warm start %d, want %d", k.seed, got, k.want)
		}
	}
}
