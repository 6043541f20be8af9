package trainer

import (
	"slices"
	"testing"

	"driftlab/trainer/method/batch"
	"driftlab/trainer/recipe"
)

// TestAdaptive: a group is the beginning of the one that would have been asked for whole,
// as far as the stage that solves it; one without a right response is lent the last right
// one, in the place of its own last; and what it remembers survives.
func TestAdaptive(t *testing.T) {
	open := func(how string) *Session {
		r := loaded(t, "knapsack", "rollout.prompts=4", "rollout.pool={prompts: 4, focus: "+how+"}")
		return sessionIn(t, r, Options{})
	}
	s, whole := open("adaptive"), open("uniform")
	f, part := stageOf[*promptSampler](s), s.recipe.Rollout.Group/recipe.AdaptiveStages
	runTo(t, s, 0, "reward")
	runTo(t, whole, 0, "reward")
	b, all := &s.batch, &whole.batch
	var groups, full batch.Groups
	groups.Find(b.Group)
	full.Find(all.Group)
	early := 0
	for g := range full.Len() {
		rows, want := groups.Rows(g), full.Rows(g)
		right := slices.IndexFunc(want, func(i int) bool { return all.Correct[i] })
		size := len(want)
		if right >= 0 {
			size = (right/part + 1) * part
		}
		if len(rows) != size {
			t.Errorf("group %d has %d responses, and its right one is %d", g, len(rows), right)
		}
		if size < len(want) {
			early++
		}
		for k, i := range rows {
			if !slices.Equal(tokensOf(b, i), tokensOf(all, want[k])) {
				t.Errorf("response %d of group %d is another one", k, g)
			}
		}
	}
	if early == 0 {
		t.Error("no group ended early")
	}

	// What was not solved is lent an answer, which its prompt's rate does not count.
	steps(t, s, 3, func(int) {})
	lent := -1
	for step := 3; step < 20 && lent < 0; step++ {
		for place := range f.answers { // as if each had been solved before
			if f.answers[place] == nil {
				f.answers[place] = new(batch.Sampled)
				b.Sampled.Select(f.answers[place], []int{0})
			}
		}
		must(t, s.Step(step))
		lent = slices.Index(f.reused, true)
	}
	if lent < 0 {
		t.Fatal("every group was solved")
	}
	groups.Find(b.Group)
	rows := groups.Rows(lent)
	answer := f.answers[f.places[b.PromptID[rows[0]]]]
	last := rows[len(rows)-1]
	from, to := b.Span(last)
	if len(rows) != s.recipe.Rollout.Group || !slices.Equal(tokensOf(b, last), answer.Token) || !slices.Equal(b.LogpRoll[from:to], answer.LogpRoll) || f.reusedTokens() < len(answer.Token) {
		t.Errorf("group %d of %d responses ends in %v, and was lent %v", lent, len(rows), tokensOf(b, last), answer.Token)
	}
	if f.tried[f.places[b.PromptID[rows[0]]]] != float64(len(rows)-1) {
		t.Error("the answer that was lent counts as an attempt")
	}

	again := stageOf[*promptSampler](open("adaptive"))
	must(t, again.SetState(f.AppendState(nil)))
	for place, a := range f.answers {
		if b := again.answers[place]; (a == nil) != (b == nil) || a != nil && !slices.Equal(a.AppendState(nil), b.AppendState(nil)) {
			t.Errorf("the answer to prompt %d is another one", place)
		}
	}
	if err := again.SetState([]byte("broken")); err == nil {
		t.Error("a broken state is taken")
	}
}

// TestAdaptiveTwice: a prompt that a step asks for twice is lent its answer in both
// groups, each with its own number.
func TestAdaptiveTwice(t *testing.T) {
	r := loaded(t, "knapsack", "rollout.prompts=4", "rollout.pool={prompts: 2, focus: adaptive}")
	s := sessionIn(t, r, Options{})
	f := stageOf[*promptSampler](s)
	twice := false
	for step := 0; step < 20 && !twice; step++ {
		must(t, s.Step(step))
		for i, q := range s.requests {
			if s.batch.Group[i] != q.Group {
				t.Fatalf("step %d: response %d is of group %d and says %d", step, i, q.Group, s.batch.Group[i])
			}
		}
		lent := map[int64]int{}
		for g, p := range s.asked {
			if f.reused[g] {
				lent[p.ID]++
				twice = twice || lent[p.ID] == 2
			}
		}
		for place := range f.answers { // as if each had been solved before
			if f.answers[place] == nil {
				f.answers[place] = new(batch.Sampled)
				s.batch.Sampled.Select(f.answers[place], []int{0})
			}
		}
	}
	if !twice {
		t.Fatal("no prompt was lent an answer twice in a step")
	}
}

// tokensOf are the tokens of a response.
func tokensOf(b *batch.Batch, i int) []int32 {
	from, to := b.Span(i)
	return b.Token[from:to]
}
