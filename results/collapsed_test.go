package results

import "testing"

// TestCollapsed pins the convention at its edges: a loss of exactly the share
// counts, and a curve that never rose has not fallen.
func TestCollapsed(t *testing.T) {
	for _, c := range []struct {
		peak, final float64
		want        bool
	}{{1, 0.71, false}, {1, 0.7, true}, {1, 0, true}, {0, 0, false}, {0.5, 0.5, false}} {
		if got := Collapsed(c.peak, c.final); got != c.want {
			t.Errorf("Collapsed(%v, %v) = %v, want %v", c.peak, c.final, got, c.want)
		}
	}
}
