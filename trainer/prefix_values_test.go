package trainer

import (
	"math"
	"slices"
	"testing"

	"driftlab/trainer/method/batch"
)

// TestPrefixValuesAct: the section's values reach the reward and the estimator, at
// generation and in training, and cost what the tokens say.
func TestPrefixValuesAct(t *testing.T) {
	for _, tc := range []struct {
		sets  []string
		reads bool // every prefix is read again
	}{
		{[]string{"prefix_values={longest: 3}", "reward=[exact, marginal_utility]", "advantage={name: process, credit: step}"}, false},
		{[]string{"prefix_values={longest: 3, at: training}", "reward=[exact, marginal_utility]", "advantage=process"}, true},
		{[]string{"prefix_values={longest: 3, by: completions, completions: 2}", "reward=[length_uniform]", "advantage=vine"}, false},
	} {
		s := sessionOf(t, Options{}, tc.sets...)
		steps(t, s, 2, func(int) {})
		b := &s.batch
		if err := b.Require(batch.Episode, batch.PrefixValue, batch.Advantage); err != nil {
			t.Fatalf("%v: %v", tc.sets, err)
		}
		sum := 0.0
		for i := range b.Len() {
			from, to := b.Span(i)
			sum += b.PrefixValue[to-1] - b.PrefixValue[from]
		}
		if b.StepReward != nil {
			mean, _ := s.metric("reward/marginal_utility/mean")
			if math.Abs(mean-sum/float64(b.Len())) > 1e-9 || mean == 0 {
				t.Errorf("%v: utilities of %v a response, values rise by %v", tc.sets, mean, sum/float64(b.Len()))
			}
		}
		if slices.Max(b.Advantage) == slices.Min(b.Advantage) {
			t.Errorf("%v: no advantage", tc.sets)
		}
		tokens, _ := s.metric("prefix_values/tokens")
		prefixes, _ := s.metric("prefix_values/episodes")
		if read := tokens > 3*prefixes*float64(b.Len()); tc.reads && !read || tokens == 0 {
			t.Errorf("%v: %v tokens for %v prefixes a response", tc.sets, tokens, prefixes)
		}
	}
}

// TestPartsOfTheReward: a part that does nothing is seen to do nothing.
func TestPartsOfTheReward(t *testing.T) {
	s := sessionOf(t, Options{}, "reward=[length_uniform, {name: length_uniform, coef: 0.1, from: 1}, {name: length_step, target: 1}]")
	steps(t, s, 1, func(int) {})
	share, _ := s.metric("reward/length_step/share")
	mean, ok := s.metric("reward/length_uniform/mean")
	spread, _ := s.metric("reward/length_uniform/spread")
	length, _ := s.metric("response_length/mean")
	if !ok || share != 0 || math.Abs(mean+0.005*length) > 1e-12 || spread <= 0 {
		t.Errorf("share %v, mean %v for %v tokens, spread %v", share, mean, length, spread)
	}
	alone := sessionOf(t, Options{}, "reward=length_uniform")
	steps(t, alone, 1, func(int) {})
	if _, ok := alone.metric("reward/length_uniform/mean"); ok {
		t.Error("one part alone is the reward, and has no figures of its own")
	}
}
