package trainer

import (
	"math"
	"slices"
	"testing"

	"driftlab/engine/learner"
	"driftlab/model"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/loss"
)

// With equal engines pi_v is mu, bit for bit, whatever the staleness of the rollouts:
// the whole gap comes from staleness. What is then not scored is what scoring finds.
func TestEqualEnginesHaveNoEngineGap(t *testing.T) {
	sets := []string{"schedule={name: lag, k: 2}", "learner.optimizer.lr=1e-2", "rollout.top_p=1"}
	s, scored := sessionOf(t, Options{}, sets...), sessionOf(t, Options{}, sets...)
	if p := stageOf[*behaviour](scored); !p.sampled {
		t.Fatal("equal engines are scored twice")
	} else {
		p.sampled = false
	}
	aged := false
	steps(t, s, 5, func(step int) {
		must(t, scored.Step(step))
		if b := &scored.batch.Behaviour; !slices.Equal(b.Logp, s.batch.LogpRoll) || !slices.Equal(b.Logp, s.batch.Behaviour.Logp) || !slices.Equal(b.Dist, s.batch.Behaviour.Dist) {
			t.Errorf("step %d: pi_v is not mu", step)
		}
		if s.figure(t, "gap/engine_k3") != 0 || s.figure(t, "gap/engine_exact_tv") != 0 {
			t.Errorf("step %d: equal engines have a gap", step)
		}
		if x := s.figure(t, "gap/lag_k3"); x != s.figure(t, "gap/k3") {
			t.Errorf("step %d: age makes %g of a gap of %g", step, x, s.figure(t, "gap/k3"))
		} else {
			aged = aged || x > 0
		}
	})
	if !aged {
		t.Error("no gap to part")
	}
}

// Every anchor is the policy that its name says, and nothing is exchanged: pi_old
// stays what the learner scored.
func TestAnchors(t *testing.T) {
	for _, anchor := range []string{"old", "behaviour", "rollout", "ewma"} {
		s := sessionOf(t, Options{}, "schedule={name: lag, k: 2}", "rollout.numerics=bf16", "learner.optimizer.lr=1e-2", "anchor="+anchor)
		twin := sessionOf(t, Options{}, "schedule={name: lag, k: 2}", "rollout.numerics=bf16", "learner.optimizer.lr=1e-2")
		var seen []float64
		s.objective.loss = &spy{inner: s.objective.loss, see: func(b *batch.Batch) { seen = slices.Clone(b.Anchor) }}
		steps(t, s, 4, func(step int) {
			b := &s.batch
			want := map[string][]float64{"old": b.Old.Logp, "behaviour": b.Behaviour.Logp, "rollout": b.LogpRoll}[anchor]
			if anchor != "ewma" && !slices.Equal(seen, want) {
				t.Errorf("%s, step %d: the loss is anchored elsewhere", anchor, step)
			}
			if step == 0 {
				steps(t, twin, 1, func(int) {})
				if !slices.Equal(b.Old.Logp, twin.batch.Old.Logp) {
					t.Errorf("%s: pi_old is not what the learner scored", anchor)
				}
				if anchor == "ewma" && !slices.Equal(seen, b.Old.Logp) {
					t.Error("the average of the first weights is another policy")
				}
			}
		})
	}
}

// Anchored on A-3PO's interpolation, decoupled PPO is the loss a3po, bit for bit: both
// mix with the policy of every gradient, not with that of the batch's start.
func TestInterpolatedAnchor(t *testing.T) {
	for _, schedule := range []string{"schedule={name: lag, k: 5}", "schedule={name: areal, eta: 3}"} {
		of := func(sets ...string) *Session {
			s := sessionOf(t, Options{}, append(sets, schedule, "rollout.numerics=bf16", "learner.minibatches=2", "learner.epochs=2", "rollout.max_tokens=24")...)
			steps(t, s, 5, func(int) {})
			return s
		}
		want, got := of("loss=a3po", "anchor=interpolated"), of("loss=decoupled_ppo", "anchor=interpolated") // a3po reads none: the clock is the same
		if !slices.Equal(got.Params().Theta, want.Params().Theta) {
			t.Errorf("%s: the anchor is another mixture than the loss's", schedule)
		}
		if start := loss.Interpolate(nil, &got.mini, got.mini.Old.Logp); slices.Equal(start, got.mini.Anchor) {
			t.Errorf("%s: the last gradient mixed with the policy of the batch's start", schedule)
		}
	}
}

// Snapshots, a dedicated model and scoring at interrupts are three ways to the same
// bits (missing old logits, arXiv:2605.12070), at three prices; an anchor that the
// recipe chooses is charged, not the one that the system has.
func TestAnchorsOnTheClock(t *testing.T) {
	// Training takes most of the time: when a batch is whole decides nothing.
	cluster := func(behaviour string) string {
		return "cluster={behaviour: " + behaviour + ", costs: {decode_step: 10, decode_slot: 1, prefill_request: 1, prefill_token: 1, learn_token: 100000, sync: 5, push: 5, copy: 100000}}"
	}
	var weights []float32
	ticks := map[string]float64{}
	for _, sets := range [][]string{{"anchor=behaviour", "snapshots"}, {"anchor=behaviour", "dedicated"}, {"anchor=behaviour", "interrupt"}, {"anchor=rollout", "system"}} {
		s := sessionOf(t, Options{}, "schedule=one_step_off", "rollout.numerics=bf16", sets[0], cluster(sets[1]))
		steps(t, s, 4, func(int) {})
		ticks[sets[1]] = s.figure(t, "clock/ticks")
		if sets[0] == "anchor=rollout" {
			continue
		}
		if got := s.Params().Theta; weights == nil {
			weights = slices.Clone(got)
		} else if !slices.Equal(weights, got) {
			t.Errorf("%s: other bits", sets[1])
		}
	}
	if !(ticks["snapshots"] > ticks["interrupt"] && ticks["interrupt"] > ticks["dedicated"] && ticks["dedicated"] > ticks["system"]) {
		t.Errorf("ticks %v", ticks)
	}
}

// The moving average is Σ β^(t-k)·θ_k over its weights, also after it was taken up
// from its state.
func TestAverage(t *testing.T) {
	s := sessionOf(t, Options{}, "anchor=ewma", "anchor_decay=0.5", "learner.optimizer.lr=1e-2")
	a := stageOf[*average](s)
	history := []*model.Params{s.initial.Clone()}
	steps(t, s, 4, func(step int) {
		history = append(history, s.learner.Params().Clone())
		var weight, sum float64
		for k, p := range history {
			w := math.Pow(0.5, float64(len(history)-1-k))
			weight, sum = weight+w, sum+w*float64(p.Theta[7])
		}
		if want := float32(sum / weight); math.Abs(float64(a.mean.Theta[7]-want)) > 1e-7 {
			t.Errorf("step %d: average %g, want %g", step, a.mean.Theta[7], want)
		}
	})
	again := newAverage(s)
	defer again.Close()
	if err := again.SetState(a.AppendState(nil)); err != nil || !slices.Equal(again.mean.Theta, a.mean.Theta) || again.count != 5 {
		t.Errorf("taken up: %v, %d weights", err, again.count)
	}
	if err := again.SetState(a.AppendState(nil)[8:]); err == nil {
		t.Error("took a state of another size")
	}
}

// secondTeacher is an optional part such as anyone may add: another frozen policy,
// scored at every step, with scales of its own and something to release.
type secondTeacher struct {
	*learner.Scorer
	scored batch.Scored
	closed *bool
}

func (p *secondTeacher) run(s *Session) error {
	p.Score(&p.scored, &s.batch.Sampled, learner.ScoreOptions{Policy: s.policy})
	return nil
}

func (p *secondTeacher) Close() { *p.closed = true; p.Scorer.Close() }

// A further stage takes one line in the table of stages, and is calibrated and closed as the others are.
func TestFurtherStageIsOneLine(t *testing.T) {
	before, closed := stages, false
	defer func() { stages = before }()
	stages = slices.Insert(slices.Clone(stages), 6, stages[0])
	stages[6].name, stages[6].make = "second_teacher", func(s *Session) (stage, error) {
		return &secondTeacher{s.scorerOf(s.initial), batch.Scored{}, &closed}, nil
	}
	s := sessionOf(t, Options{}, "rollout.numerics={base: bf16, kv_cache: fp8_e4m3}", "learner.numerics={base: bf16, kv_cache: fp8_e4m3}", "rollout.kv_scales={prompts: 2}")
	p := stageOf[*secondTeacher](s)
	steps(t, s, 2, func(step int) {
		if step == 0 && !slices.Equal(p.scored.Logp, s.batch.Old.Logp) {
			t.Error("the same weights and scales make another policy")
		}
		if len(p.scored.Logp) != s.batch.Tokens() || p.KVScales() == nil {
			t.Errorf("step %d: scored %d tokens, scales %v", step, len(p.scored.Logp), p.KVScales())
		}
	})
	s.Close()
	if !closed {
		t.Error("the part was not released")
	}
}
