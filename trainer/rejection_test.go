package trainer

import (
	"math"
	"testing"

	"driftlab/trainer/method/batch"
)

// correction/masked_fraction counts every mask that acts: in bypass mode, at
// each gradient step, by a term of the loss, over all minibatches and epochs.
func TestMaskedFractionCountsEveryMask(t *testing.T) {
	for _, sets := range [][]string{
		{"correction={mode: bypass, masks: [{name: token_mask, low: 0.999, high: 1.001}]}"},
		{"correction={mode: bypass, masks: [{name: token_mask, low: 0.999, high: 1.001}], denominator: pre}"},
		{"correction={masks: [{name: opsm, delta: 0}]}", "learner.epochs=2"},
		{"correction={masks: [{name: opsm, delta: 0}, {name: token_mask, low: 0.999, high: 1.001}]}"},
		{"terms=[{name: top_entropy, share: 0.5}]"},
		{"correction={weights: {name: icepop, low: 0.999, high: 1.001}}"},
	} {
		s := sessionOf(t, Options{}, append(sets, "learner.minibatches=2", "rollout.numerics=bf16")...)
		tokens, out := 0, 0
		s.objective.loss = &spy{inner: s.objective.loss, see: func(b *batch.Batch) {
			for n, m := range b.Mask {
				if m {
					tokens++
					if !b.LossMask[n] || b.Gate != nil && !b.Gate[n] || b.Weight != nil && b.Weight[n] == 0 {
						out++
					}
				}
			}
		}}
		seen := false
		steps(t, s, 3, func(int) {
			if got, want := s.figure(t, "correction/masked_fraction"), float64(out)/float64(tokens); got != want {
				t.Errorf("%v: masked_fraction is %v, the loss saw %v", sets, got, want)
			}
			if out > 0 && s.figure(t, "correction/seq_masked_fraction") > s.figure(t, "correction/masked_fraction")*16 {
				t.Errorf("%v: more responses than tokens are gone", sets)
			}
			seen = seen || out > 0
			tokens, out = 0, 0
		})
		if !seen {
			t.Errorf("%v: nothing is masked", sets)
		}
	}
}

// A loss that rejects by itself counts as a correction that does: responses under trm,
// tokens under the masks of the others.
func TestMaskedFractionCountsTheLoss(t *testing.T) {
	for _, c := range []struct{ loss, figure string }{
		{"loss={name: trm, delta: 1e-5}", ""}, {"loss={name: m2_mask, threshold: 1e-7}", "m2po/masked"},
		{"loss={name: prime_masked, low: 0.999, high: 1.001}", "is_masked"}, {"loss={name: prime_geo, low: 0.999, high: 1.001}", "is_masked"},
	} {
		s := sessionOf(t, Options{}, c.loss, "rollout.numerics=bf16")
		seen := false
		steps(t, s, 3, func(int) {
			got, responses := s.figure(t, "correction/masked_fraction"), s.figure(t, "correction/seq_masked_fraction")
			if c.figure == "" {
				if want := 1 - s.figure(t, "trm/admitted"); math.Abs(responses-want) > 1e-12 || got > 0 != (want > 0) {
					t.Errorf("%s: %v of the tokens, %v of the responses, the loss rejects %v", c.loss, got, responses, want)
				}
			} else if want := s.figure(t, c.figure); math.Abs(got-want) > 1e-9 {
				t.Errorf("%s: masked_fraction is %v, %s %v", c.loss, got, c.figure, want)
			}
			seen = seen || got > 0 && got < 1
		})
		if !seen {
			t.Errorf("%s: nothing is masked, or everything", c.loss)
		}
	}
}

// Every run logs the variance proxies: from the learner's own distributions,
// with the gradient's norm.
func TestVarianceProxyIsLogged(t *testing.T) {
	for _, sets := range [][]string{nil, {"correction=decoupled_token_is", "rollout.numerics=bf16"}, {"correction.mode=bypass"}} {
		s := sessionOf(t, Options{}, sets...)
		steps(t, s, 2, func(int) {
			b, score := &s.batch, 0.0
			for i := range b.Len() {
				from, to := b.Span(i)
				for n := from; n < to; n++ {
					if !b.Mask[n] {
						continue
					}
					w := 1 - 2*math.Exp(b.Old.Logp[n])
					for _, logp := range b.Old.Dist[n*b.Vocab : (n+1)*b.Vocab] {
						w += math.Exp(2 * float64(logp))
					}
					if b.BatchWeight != nil {
						w *= b.BatchWeight[n] * b.BatchWeight[n]
					}
					score += w / float64(b.Len())
				}
			}
			if got := s.figure(t, "variance_proxy/expected_w"); math.Abs(got-score) > 1e-5*score || score <= 0 {
				t.Errorf("%v: expected_w is %v, want %v", sets, got, score)
			}
			norm := s.figure(t, "actor/grad_norm")
			if got := s.figure(t, "variance_proxy/proxy1_signal_strength"); got != norm*norm {
				t.Errorf("%v: proxy1 is %v, the norm squared %v", sets, got, norm*norm)
			}
		})
	}
}

// With length_surge's reject the masks act from the step after the surge on, and not before.
func TestMasksWaitForTheSurge(t *testing.T) {
	s := sessionOf(t, Options{}, "rollout.numerics=bf16", "correction.masks=[{name: token_mask, low: 0.999, high: 1.001}]",
		"guards=[{name: length_surge, rule: ratio, factor: 1.01, warmup: 1, reject: true}]")
	surged, before, after := false, 0, 0
	steps(t, s, 12, func(step int) {
		masked := s.figure(t, "correction/masked_fraction")
		switch {
		case !surged && masked > 0:
			t.Errorf("step %d: %v of the tokens are masked, and no surge has been seen", step, masked)
		case surged && masked > 0:
			after++
		case !surged:
			before++
		}
		surged = s.figure(t, "guard/length_surge") > 0
	})
	if before == 0 || after == 0 {
		t.Errorf("%d steps without a mask, %d with one: both must occur", before, after)
	}
}
