package episode

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"driftlab/engine/learner"
	"driftlab/engine/rollout"
	"driftlab/model"
	"driftlab/precision/must"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/task"
	"driftlab/trainer/recipe"
)

// TestCut: markers open episodes, a long one ends without, and the answer is one.
func TestCut(t *testing.T) {
	vocab := task.NewSearch().Vocab()
	opens := []int32{int32(slices.Index(vocab, "?"))}
	for _, c := range []struct {
		response string
		longest  int
		want     []int32
	}{
		{"? 0 b 3 ? 1 b 4 # 1 <eos>", 16, []int32{0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2}},
		{"? 0 b 3 ? 1 b 4 # 1 <eos>", 3, []int32{0, 0, 0, 1, 2, 2, 2, 3, 4, 4, 4}},
		{"b 3 ? 1", 16, []int32{0, 0, 1, 1}},
		{"# 1 ? # 2 3 4 <eos>", 2, []int32{0, 0, 0, 0, 0, 0, 0, 0}},
		{"", 4, nil},
	} {
		response := must.Get(task.Parse(vocab, c.response))(t)
		if got := cut(nil, response, opens, task.AnswerMark, c.longest); !slices.Equal(got, c.want) {
			t.Errorf("%q by %d: %v, want %v", c.response, c.longest, got, c.want)
		}
	}
	// A model may have more tokens than the task has words.
	if got := cut(nil, []int32{1, int32(len(vocab)), opens[0]}, opens, task.AnswerMark, 16); !slices.Equal(got, []int32{0, 0, 1}) {
		t.Errorf("with a token that is no word: %v", got)
	}
}

// sampled are responses of the shipped chain model to two prompts, four each.
func sampled(t *testing.T, set ...string) (recipe.Recipe, *batch.Batch, []task.Prompt, *rollout.Engine) {
	t.Helper()
	r, err := recipe.Load("default", append([]string{"task={name: chain, difficulty: [3, 5]}", "reward=[exact, marginal_utility]"}, set...)...)
	if err != nil {
		t.Fatal(err)
	}
	c := must.Get(model.Open("chain-base"))(t)
	e := rollout.New(c.Params.Config, r.Rollout.Numerics, 8, 1)
	t.Cleanup(e.Close)
	e.Publish(c.Params, 0)
	var requests []rollout.Request
	var prompts []task.Prompt
	rng := rand.New(rand.NewPCG(1, 2))
	for g := range 2 {
		p := task.Draw(r.Task.New(), rng)
		for k := range 4 {
			prompts = append(prompts, p)
			requests = append(requests, rollout.Request{Prompt: p.Tokens, Group: g, Seed: 3, Stream: uint64(10*g + k)})
		}
	}
	b := new(batch.Batch)
	e.Generate(&b.Sampled, requests, rollout.Sampling{Temperature: 1, TopP: 1, MaxTokens: r.Rollout.MaxTokens, Stop: task.EOS})
	return r, b, prompts, e
}

// TestLikelihood compares every value with that of a learner which reads the whole
// sequence at once, and counts the tokens.
func TestLikelihood(t *testing.T) {
	r, b, prompts, e := sampled(t, "prefix_values={}")
	cost := NewValuer(r).Fill(b, prompts, e, 1)
	c := must.Get(model.Open("chain-base"))(t)
	scorer := learner.NewScorer(c.Params.Config, r.Learner.Numerics, 1)
	defer scorer.Close()
	scorer.Publish(c.Params, 0)
	want := Cost{Prefixes: 2}
	for i := range b.Len() {
		from, to := b.Span(i)
		for n := from; n < to; n++ {
			begins := n == from || b.Episode[n] != b.Episode[n-1]
			if !begins {
				if b.PrefixValue[n] != b.PrefixValue[n-1] {
					t.Fatalf("response %d: the value changes within an episode", i)
				}
				continue
			}
			var out batch.Scored
			whole := slices.Concat(b.Prompt[i], b.Token[from:n], []int32{task.AnswerMark})
			scorer.Score(&out, &batch.Sampled{Offsets: []int{0, 1}, Prompt: [][]int32{whole}, Token: prompts[i].Answer, Mask: []bool{true}}, learner.ScoreOptions{Policy: learner.Policy{Temperature: 1}, WithoutRoutes: true})
			if math.Abs(out.Logp[0]-b.PrefixValue[n]) > 1e-5 {
				t.Errorf("response %d, %d tokens: %v, want %v", i, n-from, b.PrefixValue[n], out.Logp[0])
			}
			if n > from {
				want.Prefixes++
				want.Read += len(b.Prompt[i]) + n - from
			}
		}
		if i%4 == 0 {
			want.Read += len(b.Prompt[i]) // once per group
		}
	}
	want.New = 2 * want.Prefixes // the mark and one digit
	if cost != want {
		t.Errorf("cost %+v, want %+v", cost, want)
	}
	was := slices.Clone(b.PrefixValue)
	r.PrefixValues.By = recipe.ByProbability
	NewValuer(r).Fill(b, prompts, e, 1)
	for n, v := range was {
		if math.Abs(b.PrefixValue[n]-math.Exp(v)) > 1e-12 {
			t.Fatalf("probability %v of log-prob %v", b.PrefixValue[n], v)
		}
	}
}

// TestCompletions: a whole working is worth whether its answer will be right, the
// same completions come again, and a prompt is worth the share of it.
func TestCompletions(t *testing.T) {
	r, b, prompts, e := sampled(t, "prefix_values={by: completions, completions: 16}")
	v := NewValuer(r)
	v.Fill(b, prompts, e, 1)
	k, kinds := r.Task.New(), map[bool]int{}
	for i := range b.Len() {
		from, to := b.Span(i)
		right := k.Verify(prompts[i], b.Token[from:to]).Correct
		kinds[right]++
		if end := b.PrefixValue[to-1]; right != (end > 0.5) {
			t.Errorf("response %d is right: %v, and its working is worth %v", i, right, end)
		}
		if i%4 != 0 && b.PrefixValue[from] != b.PrefixValue[b.Offsets[i-1]] {
			t.Errorf("response %d: its prompt is worth %v, its sibling's %v", i, b.PrefixValue[from], b.PrefixValue[b.Offsets[i-1]])
		}
	}
	if len(kinds) < 2 {
		t.Fatalf("all responses are alike: %v", kinds)
	}
	was := slices.Clone(b.PrefixValue)
	v.Fill(b, prompts, e, 1)
	if !slices.Equal(was, b.PrefixValue) {
		t.Error("another time, other values")
	}
	v.longest = 1
	v.Fill(b, prompts, e, 1)
	if slices.Max(b.PrefixValue) != 0 {
		t.Error("completions beyond the limit count")
	}
}
