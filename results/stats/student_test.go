package stats

import (
	"math"
	"testing"
)

// TestStudent holds tails and quantiles against mpmath 1.3.0 at 40 digits.
func TestStudent(t *testing.T) {
	for _, c := range []struct{ t, n, tail float64 }{
		{0.5, 1, 0.352416382349566726}, {1, 2, 0.211324865405187118}, {2.5, 9, 0.0169309138414928696}, {-1.5, 4, 0.896},
		{12, 19, 1.29544731861109966e-10}, {3, 9999, 0.00135322442785617491}, {0.001, 30, 0.499604367883242545},
		{40, 3, 0.0000171903403945792641}, {0, 7, 0.5}, {math.Inf(1), 7, 0}, {math.Inf(-1), 7, 1}, {1e300, 7, 0},
	} {
		if got := studentTail(c.t, c.n); relative(got, c.tail) > 1e-12 {
			t.Errorf("P(t > %v) with %v degrees of freedom is %.17g, want %.17g", c.t, c.n, got, c.tail)
		}
	}
	for n, want := range map[float64]float64{
		1: 12.7062047361747046, 2: 4.30265272974946385, 3: 3.18244630528370959, 4: 2.77644510519779436, 9: 2.26215716279820554,
		19: 2.09302405440830977, 99: 1.9842169515864175, 9999: 1.96020126362135768,
	} {
		if got := StudentQuantile(n); relative(got, want) > 1e-12 {
			t.Errorf("t(0.975, %v) = %.17g, want %.17g", n, got, want)
		}
	}
}
