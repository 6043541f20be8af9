package trainer

import (
	"math"
	"slices"
	"strings"
	"testing"

	"driftlab/engine/column"
	"driftlab/engine/learner"
	"driftlab/trainer/method/batch"
)

// names of the figures that are measured twice, and of the second measurement.
var releasedNames = map[string]string{
	"gap/k1": "gap/released_k1", "gap/k3": "gap/released_k3", "gap/dlogp_mean": "gap/released_dlogp_mean",
	"gap/exact_kl": "gap/released_exact_kl", "routes/flip_token": "gap/released_flip_token",
}

// TestReleased measures the gap with the routing released beside a run that
// replays routes: at the first step, whose weights equal those of a run without
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
				again = again || m.Name == name || strings.HasPrefix(m.Name, "gradient/")
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

// TestGradientVariance computes the variance of the gradient entry by entry, from a gradient
// for each response, with replay and without. Equal engines have no difference.
func TestGradientVariance(t *testing.T) {
	for _, rollout := range []string{"fp4-all", "fp32"} {
		s := sessionOf(t, Options{}, "rollout.numerics="+rollout, "model.layers=2", "routing={replay: r3, released: true}")
		// The weights before the updates are gone afterwards: the stages up to these are run.
		for _, m := range s.stages {
			if m.name == "learn" {
				break
			}
			must(t, m.stage.run(s))
		}
		b, variances := &s.batch, map[string]float64{}
		for _, name := range []string{"gradient/", "gradient/released_"} {
			policy := s.policy
			if name != "gradient/" {
				policy.Replay = learner.ReplayNone
			}
			var sum, squares []float64
			for i := range b.Len() {
				one := new(batch.Batch)
				b.Select(one, []int{i})
				gradient(t, s, one, policy)
				for j, x := range s.learner.Grad() {
					if i == 0 {
						sum, squares = append(sum, 0), append(squares, 0)
					}
					sum[j] += float64(x)
					squares[j] += float64(x) * float64(x)
				}
			}
			signal, variance, n := 0.0, 0.0, float64(b.Len())
			for j := range sum {
				signal += sum[j] * sum[j] / n / n
				variance += (squares[j] - sum[j]*sum[j]/n) / (n - 1) / n
			}
			if got := s.figure(t, name+"signal"); math.Abs(got-signal) > 1e-4*signal || signal == 0 {
				t.Errorf("%s: %ssignal is %v, want %v", rollout, name, got, signal)
			}
			if got := s.figure(t, name+"variance"); math.Abs(got-variance) > 1e-4*variance {
				t.Errorf("%s: %svariance is %v, want %v", rollout, name, got, variance)
			}
			variances[name] = variance
		}
		if same := variances["gradient/"] == variances["gradient/released_"]; same != (rollout == "fp32") {
			t.Errorf("%s: the variances are %v", rollout, variances)
		}
	}
}

// gradient leaves that of Σ ρ·A of a response in the learner. With ρ = π/mu the derivative
// by log π is ρ·A.
func gradient(t *testing.T, s *Session, b *batch.Batch, policy learner.Policy) {
	t.Helper()
	objective := objectiveFunc(func(out *column.Grad, now *column.Scored) error {
		out.Reset(b.Tokens())
		for n, counts := range b.Mask {
			if counts {
				out.DLogp[n] = math.Exp(now.Logp[n]-b.LogpRoll[n]) * b.Advantage[n]
			}
		}
		return nil
	})
	if _, err := s.learner.Gradient(&b.Now, &b.Sampled, objective, learner.StepOptions{Policy: policy, Earlier: &b.Old}); err != nil {
		t.Fatal(err)
	}
}

// objectiveFunc is an objective without state.
type objectiveFunc func(*column.Grad, *column.Scored) error

func (f objectiveFunc) Eval(out *column.Grad, now *column.Scored) error { return f(out, now) }
