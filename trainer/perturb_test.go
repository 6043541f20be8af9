package trainer

import (
	"slices"
	"testing"
)

// The numerator of the ratio has noise, its denominator none: with one update per
// step and the old policy in it the ratio is not 1, the more so the larger the noise;
// with none to speak of, the run is one without the term, to the bit. Sizes that learn
// move, each layer's by itself, and go on after a kill.
func TestLayerwisePerturbation(t *testing.T) {
	run := func(sets ...string) *ran {
		return tinyRun(t, append(sets, "model.layers=2", "eval.every=0", "anchor=old")...)
	}
	plain := run()
	nothing := run("terms=[{name: alp, sigma: 1e-30, lr: 0}]")
	if !slices.Equal(plain.Params.Theta, nothing.Params.Theta) {
		t.Error("noise of no size changes the weights")
	}
	ratio := func(r *ran) float64 {
		return slices.Max(valuesOf(t, r.Record, "actor/ppo_kl")) - slices.Min(valuesOf(t, r.Record, "actor/ppo_kl"))
	}
	small, large := run("terms=[{name: alp, sigma: 0.001, lr: 0}]"), run("terms=[{name: alp, sigma: 0.05, lr: 0}]")
	if a, b, c := ratio(plain), ratio(small), ratio(large); !(a == 0 && b > 0 && c > 4*b) {
		t.Errorf("the ratio to the old policy spreads by %v, %v, %v", a, b, c)
	}
	if first := valuesOf(t, small.Record, "alp/sigma_mean")[0]; first < 0.001*(1-1e-12) || first > 0.001*(1+1e-12) {
		t.Errorf("σ is %v", first)
	}
	learns := "terms=[{name: alp, sigma: 0.01, lr: 0.05}]"
	learning := run(learns)
	last := len(valuesOf(t, learning.Record, "alp/sigma_mean")) - 1
	if low, high := valuesOf(t, learning.Record, "alp/sigma_min")[last], valuesOf(t, learning.Record, "alp/sigma_max")[last]; low == high || low < 0.005 || high > 0.02 {
		t.Errorf("layers with a learning rate have σ from %v to %v", low, high)
	}
	goesOn(t, func(step int) int { return 1 + step%2 }, learns, "model.layers=2", "eval.every=0", "anchor=old")
}
