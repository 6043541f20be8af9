package trainer

import (
	"fmt"
	"slices"
	"testing"

	"driftlab/trainer/method/batch"
)

// TestFocusKeepsTheBudget: whatever it gives to whom, a step has as many responses, in
// groups of two or more of one prompt each, and uniform changes no bit.
func TestFocusKeepsTheBudget(t *testing.T) {
	plain := sessionOf(t, Options{}, "rollout.pool={prompts: 12}")
	steps(t, plain, 4, func(int) {})
	for _, how := range []string{"uniform", "knapsack", "upsample"} {
		s := sessionOf(t, Options{}, fmt.Sprintf("rollout.pool={prompts: 12, focus: %s}", how))
		f := stageOf[*promptSampler](s)
		for place := range f.right { // some never solved, some always, some half the time
			f.right[place], f.tried[place] = float64(place%3*4), 8
		}
		steps(t, s, 4, func(int) {
			b := &s.batch
			if b.Len() != s.recipe.Rollout.Responses() {
				t.Fatalf("%s: %d responses", how, b.Len())
			}
			var groups batch.Groups
			groups.Find(b.Group)
			if groups.Len() != s.recipe.Rollout.Prompts {
				t.Fatalf("%s: %d groups", how, groups.Len())
			}
			for g := range groups.Len() {
				rows := groups.Rows(g)
				if len(rows) < 2 || how != "knapsack" && len(rows) != s.recipe.Rollout.Group {
					t.Fatalf("%s: a group of %d", how, len(rows))
				}
				for _, i := range rows {
					if b.PromptID[i] != b.PromptID[rows[0]] {
						t.Fatalf("%s: two prompts in a group", how)
					}
				}
			}
		})
		if same := slices.Equal(plain.learner.Params().Theta, s.learner.Params().Theta); same != (how == "uniform") {
			t.Errorf("%s trains as without a focus: %v", how, same)
		}
		state := f.AppendState(nil)
		again := stageOf[*promptSampler](sessionOf(t, Options{}, fmt.Sprintf("rollout.pool={prompts: 12, focus: %s}", how)))
		if err := again.SetState(state); err != nil || !slices.Equal(again.right, f.right) || !slices.Equal(again.tried, f.tried) {
			t.Errorf("%s: taken up again it remembers %v, not %v (%v)", how, again.right, f.right, err)
		}
	}
}

// TestFocusPrefersHardPrompts: the knapsack gives a prompt that is solved one time in
// five more than one that always is, and its allocation is the best there is; drawn by
// weight, prompts never solved come more often.
func TestFocusPrefersHardPrompts(t *testing.T) {
	s := sessionOf(t, Options{}, "rollout.pool={prompts: 12, focus: knapsack}")
	f := stageOf[*promptSampler](s)
	rates := []float64{0, 1, 4, 8}
	prompts := f.source.Pool()[:4]
	for place := range f.right {
		f.right[place], f.tried[place] = rates[place%4], 8
	}
	f.ask(prompts, 0)
	if f.sizes[3] != 2 || f.sizes[1] <= f.sizes[2] || f.sizes[0] <= f.sizes[3] {
		t.Errorf("sizes %v for pass rates %v of 8", f.sizes, rates)
	}
	value := func(sizes [4]int) (sum float64) {
		for g, n := range sizes {
			for k := 2; k < n; k++ {
				sum += nextWorth(f.rate(g), k)
			}
		}
		return sum
	}
	ours, best, total := value([4]int(f.sizes)), 0.0, 4*f.group
	for a := 2; a <= total; a++ {
		for b := 2; a+b <= total-4; b++ {
			for c := 2; a+b+c <= total-2; c++ {
				best = max(best, value([4]int{a, b, c, total - a - b - c}))
			}
		}
	}
	if ours < best-1e-12 {
		t.Errorf("worth %v, the best is %v", ours, best)
	}
	f.how = "upsample"
	var hard, easy int
	for step := range 200 {
		for _, p := range f.ask(slices.Clone(prompts), step) {
			switch f.places[p.ID] % 4 {
			case 0:
				hard++
			case 3:
				easy++
			}
		}
	}
	if hard < easy*3/2 {
		t.Errorf("prompts never solved came %d times, those always solved %d times", hard, easy)
	}
}

// TestLearnReplies trains on what the tool wrote, where it is told to, and says so.
func TestLearnReplies(t *testing.T) {
	sets := []string{"seed=3", "checkpoint=lookup-base", "model={}", "task={name: lookup, difficulty: [4, 6], calls: [2, 4]}", "rollout.max_tokens=64", "rollout.prompts=8"}
	own := sessionOf(t, Options{}, sets...)
	all := sessionOf(t, Options{}, append(sets, "rollout.learn_replies=true")...)
	steps(t, own, 1, func(int) {})
	steps(t, all, 1, func(int) {})
	replies := 0
	for n, m := range own.batch.Mask {
		if !m {
			replies++
		}
		if !all.batch.Mask[n] {
			t.Fatalf("token %d is not learned", n)
		}
	}
	if share := all.figure(t, "turns/learned_replies"); replies == 0 || share != float64(replies)/float64(own.batch.Tokens()) {
		t.Errorf("%d replies, a share of %v", replies, share)
	}
	for _, name := range []string{"gap/exact_tv", "gap/exact_tv_max"} {
		if tv := all.figure(t, name); !(tv > 0 && tv < 1+1e-5) {
			t.Errorf("%s is %v", name, tv)
		}
	}
	if all.recipe.SameEngine() {
		t.Error("replies that the rollout engine did not draw count as drawn by the learner's policy")
	}
}
