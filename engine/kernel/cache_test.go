package kernel

import "testing"

func TestCachesArePlausible(t *testing.T) {
	if n := firstLevelCache; n < 8<<10 || n > 1<<20 {
		t.Errorf("a first-level cache of %d bytes", n)
	}
	if n := SecondLevelCache(); n < 64<<10 || n > 1<<30 {
		t.Errorf("a second-level cache of %d bytes", n)
	}
	t.Log(firstLevelCache, SecondLevelCache())
}
