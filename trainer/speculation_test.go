package trainer

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"driftlab/engine/rollout"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/loss"
	"driftlab/trainer/method/stream"
)

// TestStaleDrafter never refreshes a drafter: it is the policy at the first step,
// always accepted, and is accepted less as the policy leaves it. Exact
// verification leaves no gap and no shift; refreshing brings the acceptance back.
func TestStaleDrafter(t *testing.T) {
	run := func(refresh int) (accepted, tv, age []float64) {
		s := sessionOf(t, Options{}, fmt.Sprintf("rollout.speculative={draft: 3, refresh: %d}", refresh), "learner.optimizer.lr=3e-2", "rollout.group=8")
		steps(t, s, 6, func(step int) {
			for _, name := range []string{"gap/k3", "gap/unequal", "gap/exact_tv", "speculative/law_tv", "speculative/mislabelled"} {
				if x := s.figure(t, name); x != 0 {
					t.Errorf("step %d: %s is %g", step, name, x)
				}
			}
			accepted, tv = append(accepted, s.figure(t, "speculative/acceptance")), append(tv, s.figure(t, "speculative/tv"))
			age = append(age, s.figure(t, "speculative/drafter_age"))
			if k := s.figure(t, "speculative/draft"); k != 3 {
				t.Errorf("step %d: %g drafts", step, k)
			}
			if n := s.figure(t, "speculative/tokens_per_pass"); n < 1.2 || n > 4 {
				t.Errorf("step %d: %g tokens per pass", step, n)
			}
		})
		return accepted, tv, age
	}
	accepted, tv, age := run(0)
	t.Logf("never refreshed: acceptance %.3f, TV %.3f", accepted, tv)
	if accepted[0] != 1 || tv[0] != 0 || !slices.Equal(age, []float64{0, 1, 2, 3, 4, 5}) {
		t.Errorf("a drafter that is the policy: acceptance %v, TV %v, age %v", accepted, tv, age)
	}
	if !(tv[1] > 0 && tv[5] > 2*tv[1] && accepted[5] < accepted[1]) {
		t.Errorf("age does not show: acceptance %v, TV %v", accepted, tv)
	}
	accepted, tv, age = run(2)
	if !slices.Equal(age, []float64{0, 1, 0, 1, 0, 1}) || accepted[2] != 1 || accepted[4] != 1 || tv[4] != 0 || tv[5] == 0 {
		t.Errorf("refreshed at every other step: acceptance %v, TV %v, age %v", accepted, tv, age)
	}
}

// TestInexactVerification shifts the sampling distribution, or the recorded log-prob.
// Recording the log-prob of the distribution makes the gap to the learner the gap of
// the shift, the verifier's hides it, the drafter's adds to it.
func TestInexactVerification(t *testing.T) {
	for _, c := range []struct {
		set                    string
		gap, shift, mislabeled bool
	}{
		{"verify: exact", false, false, false},
		{"verify: exact, log_probs: law", false, false, false},
		{"verify: exact, log_probs: drafter", true, false, true},
		{"verify: lossy, tau: 1", false, true, true},
		{"verify: lossy, tau: 1, log_probs: law", true, true, false},
		{"verify: greedy", false, true, true},
		{"verify: greedy, log_probs: law", true, true, false},
	} {
		s := sessionOf(t, Options{}, "rollout.speculative={draft: 3, numerics: fp4-all, "+c.set+"}")
		steps(t, s, 2, func(step int) {
			for name, want := range map[string]bool{"gap/k3": c.gap, "gap/exact_kl": c.gap, "speculative/law_tv": c.shift, "speculative/mislabelled": c.mislabeled} {
				if x := s.figure(t, name); (x != 0) != want {
					t.Errorf("%s, step %d: %s is %g", c.set, step, name, x)
				}
			}
		})
	}
}

// TestAdaptiveDrafts drafts as many tokens as are predicted to be fastest, none
// where none is faster, and tries again when the drafter is another.
func TestAdaptiveDrafts(t *testing.T) {
	for _, c := range []struct {
		acceptance, cost float64
		want             int
	}{{1, 0.1, 8}, {0.9, 0.05, 8}, {0.5, 0.1, 2}, {0.2, 0.5, 0}, {0, 0.1, 0}, {1, 1, 0}} {
		if k := fastest(c.acceptance, c.cost, 8); k != c.want {
			t.Errorf("acceptance %g at cost %g: %d drafts", c.acceptance, c.cost, k)
		}
		for k := range 9 {
			if rollout.Speedup(c.acceptance, c.cost, k) > rollout.Speedup(c.acceptance, c.cost, fastest(c.acceptance, c.cost, 8))+1e-12 {
				t.Errorf("acceptance %g at cost %g: %d drafts are faster", c.acceptance, c.cost, k)
			}
		}
	}
	// A drafter as dear as the verifier never pays: it is off but for the trials.
	s := sessionOf(t, Options{}, "rollout.speculative={draft: 3, refresh: 3, adaptive: true, numerics: fp4-all, cost: 1}")
	var drafts, speed []float64
	steps(t, s, 6, func(step int) {
		drafts, speed = append(drafts, s.figure(t, "speculative/draft")), append(speed, s.figure(t, "speculative/speedup"))
		if _, recorded := s.metric("speculative/acceptance"); recorded != (step%3 == 0) {
			t.Errorf("step %d: acceptance recorded: %t", step, recorded)
		}
	})
	if !slices.Equal(drafts, []float64{3, 0, 0, 3, 0, 0}) || speed[0] >= 1 || speed[1] != 1 {
		t.Errorf("drafts %v, speed %v", drafts, speed)
	}
	s = sessionOf(t, Options{}, "rollout.speculative={draft: 6, adaptive: true, numerics: fp4-all}")
	steps(t, s, 4, func(step int) {
		k, a := s.figure(t, "speculative/draft"), s.figure(t, "speculative/acceptance")
		if step == 0 && k != 6 || k == 0 {
			t.Errorf("step %d: %g drafts", step, k)
		}
		if next := fastest(a, 0.125, 6); s.speculation.acceptance != a || s.speculation.cost != 0.125 || next < 1 {
			t.Errorf("step %d: acceptance %g at cost %g", step, s.speculation.acceptance, s.speculation.cost)
		}
	})
}

// TestDistilledDrafter trains a drafter that is far from a policy at rest on the
// policy's rollouts: it comes closer, and does not without.
func TestDistilledDrafter(t *testing.T) {
	first, last := map[int]float64{}, map[int]float64{}
	for _, every := range []int{0, 1, 2} {
		r := loaded(t, "default", "task.difficulty=[3, 4]", "rollout.prompts=6", "rollout.group=4", "rollout.max_tokens=24", "eval.every=0",
			"learner.optimizer.lr=1e-12", fmt.Sprintf("rollout.speculative={draft: 3, distill: {every: %d, lr: 1e-3}}", every))
		s := sessionIn(t, r, Options{})
		rng := stream.New(1, stream.Demonstrations, 0)
		for i := range s.speculation.params.Theta {
			s.speculation.params.Theta[i] += 0.03 * float32(rng.NormFloat64())
		}
		steps(t, s, 24, func(step int) {
			x, ok := s.metric("speculative/distill_loss")
			if due := every > 0 && (step+1)%every == 0; ok != due || ok && !(x > 0) {
				t.Errorf("every %d, step %d: loss %g", every, step, x)
			}
			tv := s.figure(t, "speculative/tv")
			if step == 0 {
				first[every] = tv
			}
			if step >= 14 { // prompts differ: a mean over some steps
				last[every] += tv / 10
			}
		})
	}
	t.Logf("TV %.3f, later %.3f; distilled at every step %.3f, at every other %.3f", first[0], last[0], last[1], last[2])
	if first[0] != first[1] || !(last[1] < 0.6*last[0] && last[2] < 0.7*last[0]) {
		t.Errorf("TV %v at first, %v at last", first, last)
	}
}

// TestDrafterLossIsADifference holds the drafter's gradient by logits against
// central differences; responses without reward have none.
func TestDrafterLossIsADifference(t *testing.T) {
	const v = 4
	logits := []float64{0.3, -1, 0.7, 0.1, 1, 0.2, -0.4, 0.9, 0.5, 0.5, -2, 0}
	target := []float64{-1, 0.5, 0.2, 0, 0.1, 0.2, 0.3, 0.4, 2, 0, 0, 1}
	softmax := func(z []float64) []float32 {
		logp := make([]float32, len(z))
		for r := 0; r < len(z); r += v {
			sum := 0.0
			for _, x := range z[r : r+v] {
				sum += math.Exp(x)
			}
			for i, x := range z[r : r+v] {
				logp[r+i] = float32(x - math.Log(sum))
			}
		}
		return logp
	}
	b := &batch.Batch{
		Sampled: batch.Sampled{Offsets: []int{0, 1, 3}, Mask: []bool{true, false, true}, Vocab: v, DistRoll: softmax(target)},
		Graded:  batch.Graded{Reward: []float64{0.5, 2}},
	}
	var out loss.Grad
	value := func() float64 {
		b.Now.Dist = softmax(logits)
		must(t, (drafterLoss{}).Eval(&out, b))
		return out.Loss
	}
	value()
	grad := slices.Clone(out.DLogits)
	for i, x := range logits {
		const step = 1e-2 // the columns are float32
		logits[i] = x + step
		above := value()
		logits[i] = x - step
		below := value()
		logits[i] = x
		if want := (above - below) / (2 * step); math.Abs(grad[i]-want) > 1e-4 || i/v == 1 && grad[i] != 0 {
			t.Errorf("logit %d: %g, difference %g", i, grad[i], want)
		}
	}
	b.Reward = []float64{0, -1}
	if x := value(); x != 0 || slices.ContainsFunc(out.DLogits, func(g float64) bool { return g != 0 }) {
		t.Errorf("without reward the loss is %g", x)
	}
}

// TestOtherDrafter drafts with another model, or says why not.
func TestOtherDrafter(t *testing.T) {
	r := small(t)
	must(t, r.Set("rollout.speculative={drafter: chain-base, numerics: bf16}", "steps=2", "eval.every=0"))
	c := mustRun(t, r, Options{}).Record.Column("speculative/acceptance")
	if c == nil || !(c.Value[0] > 0.9) {
		t.Errorf("a checkpoint that drafts for itself: acceptance %v", c)
	}
	for _, name := range []string{"nowhere", "filler-base"} {
		must(t, r.Set("rollout.speculative.drafter="+name))
		if _, err := run(context.Background(), r, Options{}); err == nil || !strings.Contains(err.Error(), "rollout.speculative.drafter") {
			t.Errorf("drafter %s: %v", name, err)
		}
	}
}

// TestFleetDrafts drafts in every engine of a mixed fleet, and forgets the
// columns of a step whose drafts are switched off.
func TestFleetDrafts(t *testing.T) {
	s := sessionOf(t, Options{}, "rollout.speculative={draft: 3, adaptive: true, cost: 1, numerics: bf16}", "rollout.fleet=[{numerics: bf16, share: 0.5}]")
	steps(t, s, 2, func(step int) {
		if drafted := s.batch.Require(batch.Draft) == nil; drafted != (step == 0) || step > 0 && s.batch.Draft != nil {
			t.Errorf("step %d: drafted %t", step, drafted)
		}
	})
}
