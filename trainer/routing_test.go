package trainer

import (
	"slices"
	"testing"

	"driftlab/engine/learner"
)

// TestRecordedGates trains on replayed ids and gates: equal engines have no gap
// at the first step, the gap with gates is another than without, and the
// router's weights move.
func TestRecordedGates(t *testing.T) {
	for _, c := range []struct {
		rollout string
		zero    bool
	}{{"fp32", true}, {"fp4-w4a16", false}} {
		figures := map[string]float64{}
		for _, routing := range []string{"{replay: r3, gates: live}", "{replay: r3, gates: recorded}", "{replay: keep_routing, gates: recorded}"} {
			s := sessionOf(t, Options{}, "rollout.numerics="+c.rollout, "routing="+routing, "learner.minibatches=2")
			router := slices.Clone(s.learner.Params().Layer(0).Router)
			steps(t, s, 1, func(int) { figures[routing] = s.figure(t, "gap/exact_kl") })
			if s.figure(t, "routes/flip_token") != 0 {
				t.Errorf("%s, %s: routes are not replayed", c.rollout, routing)
			}
			if (figures[routing] == 0) != c.zero {
				t.Errorf("%s, %s: exact KL %g", c.rollout, routing, figures[routing])
			}
			if slices.Equal(router, s.learner.Params().Layer(0).Router) {
				t.Errorf("%s, %s: the router does not move", c.rollout, routing)
			}
			if recorded := s.policy.Gates == learner.RecordedGates; (s.batch.GatesRoll != nil) != recorded {
				t.Errorf("%s: gates recorded: %t", routing, s.batch.GatesRoll != nil)
			}
		}
		live, recorded, keep := figures["{replay: r3, gates: live}"], figures["{replay: r3, gates: recorded}"], figures["{replay: keep_routing, gates: recorded}"]
		if recorded != keep || (live == recorded) != c.zero {
			t.Errorf("%s: exact KL %g live, %g recorded, %g kept", c.rollout, live, recorded, keep)
		}
	}
}

// TestKeepRouting is R3 for the policy, bit for bit, and leaves the reference
// to its own router.
func TestKeepRouting(t *testing.T) {
	run := func(routing string) (ref, old, theta []float64) {
		s := sessionOf(t, Options{}, "rollout.numerics=fp4-w4a16", routing, "kl.name=kl", "kl.coef=0")
		steps(t, s, 1, func(int) {})
		for _, x := range s.learner.Params().Theta {
			theta = append(theta, float64(x))
		}
		return slices.Clone(s.batch.Ref.Logp), slices.Clone(s.batch.Old.Logp), theta
	}
	free, own, _ := run("routing.replay=none")
	r3, followed, moved := run("routing.replay=r3")
	keep, old, theta := run("routing.replay=keep_routing")
	if !slices.Equal(old, followed) || !slices.Equal(theta, moved) {
		t.Error("the policy is not trained as with r3")
	}
	if !slices.Equal(keep, free) || slices.Equal(keep, r3) || slices.Equal(own, old) {
		t.Error("the reference does not route natively")
	}
}

// TestRecordedGatesOfR2: before the first update the replayed pass is the
// scoring pass, so the ratio is one at the first minibatch whatever the gates.
func TestRecordedGatesOfR2(t *testing.T) {
	s := sessionOf(t, Options{}, "rollout.numerics=fp4-w4a16", "routing={replay: r2, gates: recorded}", "learner.epochs=2")
	steps(t, s, 2, func(step int) {
		if s.batch.Old.Gates == nil || s.batch.GatesRoll != nil {
			t.Errorf("step %d: gates of the learner %d, of the rollout %d", step, len(s.batch.Old.Gates), len(s.batch.GatesRoll))
		}
	})
}

// TestPr2 has the bits of r2 until its predictor has learned something, others after; it
// logs what the predictor comes to, and a session that spreads goes on with its memory.
func TestPr2(t *testing.T) {
	for _, updates := range []string{"learner.minibatches=2", "learner.epochs=2"} {
		run := func(routing string, spreadAfter int) (theta [][]float32, s *Session) {
			s = sessionOf(t, Options{}, "rollout.numerics=bf16", "routing="+routing, updates, "steps=3")
			steps(t, s, 3, func(step int) {
				theta = append(theta, slices.Clone(s.learner.Params().Theta))
				if step == spreadAfter {
					if err := s.spread(2); err != nil {
						t.Fatal(err)
					}
				}
			})
			return theta, s
		}
		pr2 := "{replay: pr2, predictor: {lr: 0.1}}"
		base, _ := run("{replay: r2}", -1)
		theta, s := run(pr2, -1)
		if !slices.Equal(theta[0], base[0]) || slices.Equal(theta[2], base[2]) {
			t.Errorf("%s: the first step is that of r2: %t, the third: %t", updates, slices.Equal(theta[0], base[0]), slices.Equal(theta[2], base[2]))
		}
		for _, name := range []string{"routes/predictor_loss", "routes/predictor_loss_without", "routes/predicted_overlap", "routes/recorded_overlap"} {
			if s.figure(t, name) <= 0 {
				t.Errorf("%s: no %s", updates, name)
			}
		}
		if again, _ := run(pr2, 1); !slices.Equal(again[2], theta[2]) {
			t.Errorf("%s: a session that spreads trains otherwise", updates)
		}
	}
}
