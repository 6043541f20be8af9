package measurements

import (
	"fmt"

	"driftlab/experiments/study/claims/claim"
	"driftlab/model"
	"driftlab/precision/elementary"
	"driftlab/results/stats"
	"driftlab/results/stats/passk"
	"driftlab/trainer"
	"driftlab/trainer/method/task"
	"driftlab/trainer/recipe"
)

// attempts asks trained weights for responses to held-out prompts of the chain task.
type attempts struct {
	Difficulty string
	// Prompts and Samples of each are the numbers at the full, the quick and the tiny size.
	Prompts, Samples []int
}

// Ask is pass@1, and pass@k of all samples.
func (q *attempts) Ask(e *claim.Env, p *model.Params) map[string]float64 {
	tallies := chainTallies(e, p, q.Difficulty, q.Prompts, q.Samples)
	return map[string]float64{"pass@1": passk.Mean(tallies, 1), "pass@all": passk.Mean(tallies, q.Samples[e.Size])}
}

// chainTallies are the responses of weights to held-out prompts of the chain task, by prompt.
func chainTallies(e *claim.Env, p *model.Params, difficulty string, prompts, samples []int) []passk.Tally {
	r := claim.Must(recipe.Load("default", fmt.Sprintf("task={name: chain, difficulty: %s}", difficulty)))
	r.Seed = e.Seed
	all := claim.Must(trainer.Evaluate(e.Context(), p, r, trainer.Attempts{Prompts: prompts[e.Size], Samples: samples[e.Size]}, trainer.Options{Cores: e.Cores}))
	return stats.Map(all.Prompts, func(p trainer.PromptTally) passk.Tally { return p.Tally })
}

// searches asks trained weights for answers to fresh prompts of the search task, whose root is found with a number of candidates in that range.
type searches struct{ Candidates task.Range }

func (q *searches) Ask(e *claim.Env, p *model.Params) map[string]float64 {
	t := task.NewSearch()
	t.Difficulty, t.Operations = q.Candidates, 2
	rng := e.Rand(promptStream)
	count := e.Pick(1024, 256, 16)
	questions := make([]task.Prompt, count)
	prompts := make([][]int32, count)
	for i := range questions {
		questions[i] = task.DrawHeldOut(t, rng)
		prompts[i] = questions[i].Tokens
	}
	b := sample(e, probe{Params: p, Rollout: numerics("fp32"), Sequences: count, Tokens: searchTokens, Stops: true, Prompts: prompts})
	answers := make([]searchAnswer, count)
	for i, q := range questions {
		from, to := b.Span(i)
		answers[i] = searchAnswer{float64(to - from), t.Verify(q, b.Token[from:to]).Correct}
	}
	return searchFigures(answers)
}

// searchTokens is the longest response to a prompt of the search task here: ten
// candidates of six tokens, the answer, and five that are checked twice.
const searchTokens = 96

// searchAnswer is what became of a fresh prompt.
type searchAnswer struct {
	tokens  float64
	correct bool
}

// searchFigures are means over responses. An empty one tries nothing: it is a mark, a digit and the end at most.
func searchFigures(responses []searchAnswer) map[string]float64 {
	var length, rate, empty float64
	var sum, number [2]float64 // of wrong and of right ones
	n := float64(len(responses))
	for _, r := range responses {
		length += r.tokens / n
		k := 0
		if r.correct {
			rate += 1 / n
			k = 1
		}
		if r.tokens <= 3 {
			empty += 1 / n
		}
		sum[k] += r.tokens
		number[k]++
	}
	wrong, right := sum[0]/number[0], sum[1]/number[1]
	return map[string]float64{"length": length, "pass rate": rate, "empty": empty,
		"length of right": right, "length of wrong": wrong, "log of wrong over right": elementary.Log(wrong / right)}
}
