package rollout

import "testing"

// Sizes that were timed, with a cache of 2 MiB: a dense model of width 64 is faster with
// few long responses at a time, and one with experts, whose weights do not fit, with many.
func TestSideBySide(t *testing.T) {
	const kib = 1 << 10
	bench := decodeSize{keys: 40 * kib, shared: 143 * kib, expert: 192 * kib, experts: 8, top: 2, cache: 2 << 20}
	long, dense, large := bench, bench, bench
	long.keys = 516 * kib
	dense.keys, dense.experts, dense.top = 136*kib, 1, 1
	large.keys, large.shared, large.expert = 320*kib, 4200*kib, 6144*kib
	for _, c := range []struct {
		name string
		size decodeSize
		want int
	}{{"bench", bench, 64}, {"1000 tokens", long, 16}, {"dense, 240 tokens", dense, 8}, {"width 256", large, 64}} {
		if got := c.size.best(64); got != c.want {
			t.Errorf("%s: %d slots side by side, want %d", c.name, got, c.want)
		}
	}
	if got := dense.best(1); got != 1 {
		t.Errorf("%d slots of 1", got)
	}
}
