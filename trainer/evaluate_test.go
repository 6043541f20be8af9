package trainer

import (
	"context"
	"slices"
	"testing"

	"driftlab/model"
	"driftlab/trainer/method/batch"
)

// TestEvaluate tries the same responses whether they come in one part or in many,
// and goes on with hard prompts as if one by one.
func TestEvaluate(t *testing.T) {
	r := loaded(t, "default")
	ck, err := model.Open("chain-base")
	if err != nil {
		t.Fatal(err)
	}
	r.Model = ck.Params.Config
	evaluate := func(a Attempts, workers int) Evaluation {
		e, err := Evaluate(context.Background(), ck.Params, r, a, Options{Workers: workers})
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	const prompts = 12
	first, few, many := evaluate(Attempts{Prompts: prompts, Samples: 1}, 1), evaluate(Attempts{Prompts: prompts, Samples: 3}, 2), evaluate(Attempts{Prompts: prompts, Samples: 16}, 1)
	dynamic := evaluate(Attempts{Prompts: prompts, Samples: 1, Most: 16, Until: 2}, 1)
	stopped, correct := 0, 0
	for i, p := range dynamic.Prompts {
		a, b, c := first.Prompts[i], few.Prompts[i], many.Prompts[i]
		if a.Samples != 1 || b.Samples != 3 || c.Samples != 16 || a.Correct > b.Correct || b.Correct > a.Correct+2 || b.Correct > c.Correct || c.Correct > b.Correct+13 {
			t.Errorf("prompt %d: %+v, then %+v, then %+v", i, a, b, c)
		}
		if p.Correct > 2 || p.Correct < 2 && p.Samples != 16 || p.Stopped != (p.Correct == 2) || p.Correct > c.Correct {
			t.Errorf("prompt %d goes on to %+v of %+v", i, p, c)
		}
		if p.Stopped {
			stopped++
		}
		correct += c.Correct
	}
	if stopped == 0 || many.Rate != float64(correct)/(16*prompts) || many.Rate == first.Rate {
		t.Errorf("%d stopped; pass rate %v of %d correct", stopped, many.Rate, correct)
	}
	e := newEvaluator(r, r.Task.New(), r.Learner.Numerics, 1)
	defer e.close()
	if whole := e.passRate(ck.Params, prompts, 16, 1, r.Seed); whole.PassRate != many.PassRate || !slices.Equal(whole.Prompts, many.Prompts) {
		t.Errorf("in one part %+v, in many %+v", whole.PassRate, many.PassRate)
	}
	defer func(n int) { mostResponses = n }(mostResponses)
	for _, mostResponses = range []int{5 * prompts, 7} { // of all prompts, and of some
		if parts := evaluate(Attempts{Prompts: prompts, Samples: 16}, 1); parts.PassRate != many.PassRate || !slices.Equal(parts.Prompts, many.Prompts) {
			t.Errorf("in parts of %d %+v, at once %+v", mostResponses, parts.PassRate, many.PassRate)
		}
	}
}

// TestPassAtKMetrics appends what the record holds of several samples.
func TestPassAtKMetrics(t *testing.T) {
	var e Evaluation
	for i, c := range []int{0, 1, 3, 6, 6, 2} {
		p := PromptTally{Difficulty: 2 + i%2, Tokens: 12 + i, Surprisal: 3}
		p.Correct, p.Samples = c, 6
		e.Prompts = append(e.Prompts, p)
	}
	got := map[string]float64{}
	var names []string
	for _, m := range e.passAtK(nil) {
		names, got[m.Name] = append(names, m.Name), m.Value
	}
	want := []string{"val/learner/pass@2", "val/learner/pass@4", "val/learner/pass@6", "val/learner/pass_beta/alpha", "val/learner/pass_beta/beta", "val/learner/pass_rate_at/2", "val/learner/response_length_at/2", "val/learner/entropy_at/2",
		"val/learner/pass_rate_at/3", "val/learner/response_length_at/3", "val/learner/entropy_at/3"}
	if !slices.Equal(names, want) || got["val/learner/pass@6"] != 5./6 || got["val/learner/pass_rate_at/2"] != 0.5 ||
		got["val/learner/response_length_at/2"] != (12.+14+16)/18 || got["val/learner/entropy_at/3"] != 9./(13+15+17) || !(got["val/learner/pass_beta/alpha"] > 0) {
		t.Errorf("%v: %v", names, got)
	}
}

// TestStrata parts prompts by what the first weights made of them.
func TestStrata(t *testing.T) {
	tally := func(correct, tokens int) (p PromptTally) {
		p.Correct, p.Samples, p.Tokens, p.Surprisal = correct, 20, tokens, float64(tokens)/4
		return p
	}
	first := []PromptTally{tally(19, 1), tally(18, 1), tally(2, 1), tally(1, 1), tally(20, 1)}
	now := Evaluation{Prompts: []PromptTally{tally(10, 100), tally(0, 7), tally(0, 7), tally(5, 60), tally(20, 140)}}
	want := []batch.Metric{{Name: "val/learner/easy/pass_rate", Value: 0.75}, {Name: "val/learner/easy/response_length", Value: 6}, {Name: "val/learner/easy/entropy", Value: 0.25},
		{Name: "val/learner/hard/pass_rate", Value: 0.25}, {Name: "val/learner/hard/response_length", Value: 3}, {Name: "val/learner/hard/entropy", Value: 0.25}}
	if got := now.strata(nil, first); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	now.Prompts = now.Prompts[1:3]
	if got := now.strata(nil, first[1:3]); got != nil {
		t.Errorf("neither easy nor hard: %v", got)
	}
}
