package kernel

import "testing"

func TestSecondLevelCacheIsPlausible(t *testing.T) {
	if n := SecondLevelCache(); n < 64<<10 || n > 1<<30 {
		t.Errorf("a second-level cache of %d bytes", n)
	}
	t.Log(SecondLevelCache())
}
