package trainer

import (
	"math"
	"slices"
	"strings"
	"testing"

	"driftlab/engine"
	"driftlab/engine/learner"
	"driftlab/engine/rollout"
	"driftlab/model"
	"driftlab/trainer/engines"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/loss"
)

// steps makes n steps and calls see after each, with the step from 0.
func steps(t testing.TB, s *Session, n int, see func(step int)) {
	t.Helper()
	for step := range n {
		must(t, s.Step(step))
		see(step)
	}
}

// figure is a metric of the last step.
func (s *Session) figure(t testing.TB, name string) float64 {
	t.Helper()
	v, ok := s.metric(name)
	if !ok {
		t.Fatalf("no metric %s", name)
	}
	return v
}

// At learning rate 0 nothing moves: what the clip sees on the rollout engine's
// log-probs is the engines' gap alone, the published check at lr 0, and it is there at
// every gradient of a step, with weight decay too.
func TestLearningRateZero(t *testing.T) {
	s := sessionOf(t, Options{}, "learner.optimizer={lr: 0, weight_decay: 0.1}", "anchor=rollout", "rollout.numerics=bf16", "loss={name: ppo_clip, eps_low: 1e-4, eps_high: 1e-4}",
		"learner.minibatches=2")
	first := s.learner.Params().Clone()
	steps(t, s, 2, func(int) {
		if got := s.figure(t, "actor/pg_clipfrac"); got <= 0 {
			t.Errorf("clip fraction %v, want the gap's", got)
		}
		if got := s.figure(t, "gap/k3"); got <= 0 {
			t.Errorf("k3 %v, want the gap's", got)
		}
	})
	for i, x := range s.learner.Params().Theta {
		if x != first.Theta[i] {
			t.Fatalf("weight %d is %v, was %v", i, x, first.Theta[i])
		}
	}
}

// TestLag holds the responses of a lagging run against those of an engine with
// the weights of k updates ago, kept by hand.
func TestLag(t *testing.T) {
	for form, k := range map[string]int{"schedule={name: lag, k: 3}": 3, "schedule={name: lag, batches: 2}": 4} {
		t.Run(form, func(t *testing.T) { lagsBy(t, form, k) })
	}
}

// lagsBy is TestLag of a schedule that lags by k updates.
func lagsBy(t *testing.T, form string, k int) {
	s := sessionOf(t, Options{}, form, "learner.minibatches=2", "rollout.numerics=bf16")
	history := []*model.Params{s.learner.Params().Clone()}
	var before *model.Params // the weights after the first update of the step
	s.objective.loss = &spy{inner: s.objective.loss, see: func(*batch.Batch) { before = s.learner.Params().Clone() }}
	bf16, _ := engine.Preset("bf16")
	byHand := rollout.New(s.recipe.Model, bf16, 16, 1)
	defer byHand.Close()
	steps(t, s, 6, func(step int) {
		version := max(0, 2*step-k)
		for n, v := range s.batch.Version {
			if int(v) != version {
				t.Fatalf("step %d: token %d has version %d, want %d", step, n, v, version)
			}
		}
		byHand.Publish(history[version], version)
		var b batch.Sampled
		byHand.Generate(&b, s.requests, engines.Sampling(s.recipe))
		if !slices.Equal(b.Token, s.batch.Token) || !slices.Equal(b.LogpRoll, s.batch.LogpRoll) {
			t.Errorf("step %d: the responses are not those of version %d", step, version)
		}
		// Two updates per step: the second gradient saw the weights of the first.
		history = append(history, before.Clone(), s.learner.Params().Clone())
		if gap := s.figure(t, "gap/k3"); step > 1 && gap < 1e-4 {
			t.Errorf("step %d: a gap of %v with old weights", step, gap)
		}
	})
}

// spy shows every batch that the loss sees, with the log-probs of that gradient.
type spy struct {
	inner loss.Loss
	see   func(*batch.Batch)
}

// Eval implements loss.Loss.
func (s *spy) Eval(out *loss.Grad, b *batch.Batch) error {
	s.see(b)
	return s.inner.Eval(out, b)
}

// TestMatchedEngines finds no gap where there is no cause: every figure of it is
// exactly 0, a ratio or an effective share exactly 1.
func TestMatchedEngines(t *testing.T) {
	for _, numerics := range []string{"fp32", "bf16", "fp16", "fp8-w8a8"} {
		s := sessionOf(t, Options{}, "rollout.numerics="+numerics, "learner.numerics="+numerics, "learner.minibatches=2")
		seen := 0
		steps(t, s, 4, func(step int) {
			for _, m := range s.metrics {
				if !strings.HasPrefix(m.Name, "gap/") && !strings.HasPrefix(m.Name, "routes/") {
					continue
				}
				seen++
				want := 0.0
				if strings.HasPrefix(m.Name, "gap/ess") {
					want = 1
				}
				if m.Value != want {
					t.Errorf("%s, step %d: %s is %v, want %v exactly", numerics, step, m.Name, m.Value, want)
				}
			}
		})
		if seen < 80 {
			t.Errorf("%d figures of the gap in 4 steps", seen)
		}
	}
}

// TestModes runs bypass beside decoupled: with equal engines bypass changes no
// bit, with unequal ones the loss is anchored on mu.
func TestModes(t *testing.T) {
	for _, tc := range []struct {
		numerics string
		equal    bool
	}{{"fp32", true}, {"fp8-w8a8", false}} {
		run := func(mode string) *Session {
			s := sessionOf(t, Options{}, "rollout.numerics="+tc.numerics, "correction={mode: "+mode+", masks: [{name: token_mask, low: 0.5, high: 2}]}",
				"learner.minibatches=2")
			s.objective.loss = &spy{inner: s.objective.loss, see: func(b *batch.Batch) {
				if same := slices.Equal(b.Anchor, b.LogpRoll); same != (tc.equal || mode == "bypass") {
					t.Errorf("%s, %s: the loss is anchored on mu: %v", tc.numerics, mode, same)
				}
			}}
			steps(t, s, 4, func(step int) {
				if gap := s.figure(t, "gap/k3"); gap == 0 != tc.equal {
					t.Errorf("%s, %s: gap %v", tc.numerics, mode, gap)
				}
				if same := slices.Equal(s.batch.Old.Logp, s.batch.LogpRoll); same != tc.equal {
					t.Errorf("%s, %s: the batch ends with mu as pi_old: %v", tc.numerics, mode, same)
				}
			})
			return s
		}
		decoupled, bypass := run("decoupled"), run("bypass")
		if same := slices.Equal(decoupled.learner.Params().Theta, bypass.learner.Params().Theta); same != tc.equal {
			t.Errorf("%s: equal weights in both modes: %v", tc.numerics, same)
		}
	}
}

// TestReplay makes routes equal: R3's in both of the learner's passes are the
// rollout engine's, R2's in every gradient those of the scoring pass.
func TestReplay(t *testing.T) {
	const engines = "rollout.numerics=fp4-w4a16"
	free := sessionOf(t, Options{}, engines)
	flips := 0.0
	steps(t, free, 3, func(int) { flips += free.figure(t, "routes/flip_token") })
	if flips == 0 {
		t.Fatal("no routing flip to remove")
	}
	for replay, flipped := range map[string]bool{"r3": false, "r2": true} {
		s := sessionOf(t, Options{}, engines, "routing.replay="+replay, "learner.epochs=2", "learner.optimizer.lr=0.1")
		check := learner.NewScorer(s.recipe.Model, s.recipe.Learner.Numerics, 1)
		defer check.Close()
		moved := false
		s.objective.loss = &spy{inner: s.objective.loss, see: func(b *batch.Batch) {
			// The gradient's log-probs equal the log-probs of the current weights,
			// with the replayed routes.
			var now batch.Scored
			check.Publish(s.learner.Params(), 0)
			check.Score(&now, &b.Sampled, learner.ScoreOptions{Policy: s.policy, Earlier: &b.Old})
			if !slices.Equal(now.Logp, b.Now.Logp) {
				t.Errorf("%s: the gradient's routes are not the replayed ones", replay)
			}
			check.Score(&now, &b.Sampled, learner.ScoreOptions{Policy: learner.Policy{Temperature: 1}})
			moved = moved || !slices.Equal(now.Logp, b.Now.Logp)
		}}
		total := 0.0
		steps(t, s, 3, func(int) { total += s.figure(t, "routes/flip_token") })
		if total > 0 != flipped {
			t.Errorf("%s: flips between the engines %v", replay, total)
		}
		if !moved {
			t.Errorf("%s: a free router takes the same routes: nothing was tested", replay)
		}
	}
}

// TestHeldOut keeps the prompts of evaluation and training disjoint, by number and by text.
func TestHeldOut(t *testing.T) {
	s := sessionOf(t, Options{}, "task.difficulty=[1, 1]", "eval.prompts=40")
	ids, texts := map[int64]bool{}, map[string]bool{}
	steps(t, s, 20, func(int) {
		for _, p := range s.prompts {
			ids[p.ID], texts[string(bytesOf(p.Tokens))] = true, true
		}
	})
	s.evaluate()
	first := slices.Clone(s.inLearner.prompts)
	for _, p := range first {
		if ids[p.ID] || texts[string(bytesOf(p.Tokens))] {
			t.Errorf("held-out prompt %d was trained on", p.ID)
		}
	}
	s.evaluate()
	for i, p := range s.inLearner.prompts {
		if p.ID != first[i].ID {
			t.Errorf("prompt %d of the evaluation changed", i)
		}
	}
	if len(texts) < 20 || len(first) != 40 {
		t.Errorf("%d texts, %d held out", len(texts), len(first))
	}
}

func bytesOf(tokens []int32) []byte {
	var b []byte
	for _, id := range tokens {
		b = append(b, byte(id))
	}
	return b
}

// TestMinibatches covers every response once per epoch and keeps groups whole.
func TestMinibatches(t *testing.T) {
	for _, tc := range []struct {
		minibatches string
		whole       bool
	}{{"2", true}, {"3", true}, {"4", true}, {"5", false}, {"16", false}} {
		s := sessionOf(t, Options{}, "learner.minibatches="+tc.minibatches, "learner.epochs=2")
		seen, together := map[[2]int]int{}, true
		epochs := map[string]bool{}
		order := ""
		s.objective.loss = &spy{inner: s.objective.loss, see: func(b *batch.Batch) {
			size := map[int]int{}
			for i, g := range b.Group {
				size[g]++
				seen[[2]int{g, int(b.Offsets[i+1] - b.Offsets[i])}]++
				order += string(rune('a' + g))
				if i > 0 && b.Group[i-1] > g {
					t.Errorf("%s minibatches: groups out of order %v", tc.minibatches, b.Group)
				}
			}
			for _, n := range size {
				together = together && n == 4
			}
			if len(order) == 16 {
				epochs[order], order = true, ""
			}
		}}
		steps(t, s, 3, func(int) {})
		if together != tc.whole || order != "" {
			t.Errorf("%s minibatches: whole groups %v, left over %q", tc.minibatches, together, order)
		}
		if len(epochs) < 4 {
			t.Errorf("%s minibatches: %d orders in 6 epochs", tc.minibatches, len(epochs))
		}
		for key, n := range seen {
			if n%2 != 0 {
				t.Errorf("%s minibatches: response %v was seen %d times in two epochs a step", tc.minibatches, key, n)
			}
		}
	}
}

// TestDistance is the Euclidean one.
func TestDistance(t *testing.T) {
	if d := distance([]float32{1, 2, 2}, []float32{0, 0, 0}); math.Abs(d-3) > 1e-15 {
		t.Errorf("distance %v, want 3", d)
	}
}
