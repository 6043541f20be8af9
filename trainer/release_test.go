package trainer

import (
	"slices"
	"testing"

	"driftlab/trainer/method/batch"
)

// names of the figures that are measured twice, and of the second measurement.
var releasedNames = map[string]string{
	"gap/k1": "gap/released_k1", "gap/k3": "gap/released_k3", "gap/dlogp_mean": "gap/released_dlogp_mean",
	"gap/exact_kl": "gap/released_exact_kl", "routes/flip_token": "gap/released_flip_token",
}

// TestReleased measures the gap with the routing released beside a run that
// replays routes: at the first step, whose weights are those of a run without
// replay, it is that run's gap, bit for bit; it is larger than the visible one;
// and neither the weights nor any other figure notice.
func TestReleased(t *testing.T) {
	var plain, hidden, shown []batch.Metric
	session := func(sets ...string) *Session {
		return sessionOf(t, Options{}, append(sets, "rollout.numerics=fp4-all", "rollout.top_p=0.9", "support.replay=true", "model.layers=2",
			"correction.weights=token_tis")...)
	}
	free, replayed, both := session(), session("routing.replay=r3"), session("routing={replay: r3, released: true}")
	steps(t, free, 1, func(int) { plain = slices.Clone(free.metrics) })
	steps(t, replayed, 3, func(step int) { hidden = append(hidden, replayed.metrics...) })
	steps(t, both, 3, func(step int) {
		for visible, name := range releasedNames {
			got := both.figure(t, name)
			if step == 0 && !slices.Contains(plain, batch.Metric{Name: visible, Value: got}) {
				t.Errorf("%s is %v, not %s of a run without replay", name, got, visible)
			}
			if visible == "gap/exact_kl" && !(got > both.figure(t, visible)) {
				t.Errorf("step %d: %s is %v, with replay %v", step, name, got, both.figure(t, visible))
			}
		}
		if flips := both.figure(t, "gap/released_flip_token"); flips == 0 || both.figure(t, "routes/flip_token") != 0 {
			t.Errorf("step %d: %v flips released, %v replayed", step, flips, both.figure(t, "routes/flip_token"))
		}
		for _, m := range both.metrics {
			again := false
			for _, name := range releasedNames {
				again = again || m.Name == name
			}
			if !again {
				shown = append(shown, m)
			}
		}
	})
	if !slices.Equal(hidden, shown) {
		t.Error("the measurement changes other figures")
	}
	if !slices.Equal(replayed.learner.Params().Theta, both.learner.Params().Theta) {
		t.Error("the measurement changes the weights")
	}
}
