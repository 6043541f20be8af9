package length

import (
	"context"

	"driftlab/experiments/claims/claim"
	"driftlab/model"
	"driftlab/trainer/method/task"
)

// searchTokens is the longest response to a prompt of the search task here: ten
// candidates of six tokens, the answer, and five that are checked twice.
const searchTokens = 96

// wasteful is the warm start of the claims about growth and penalties: searchers who
// give up early and look again now and then at what seemed to be the root.
var wasteful = []string{"pretrain.steps=1500", "task.patience=0.8", "task.recheck=0.25"}

// searchWarm is the checkpoint that a run on the search task starts from.
func searchWarm(ctx context.Context, e *claim.Env, set ...string) (string, error) {
	if e.Size != claim.Full {
		return "search-base", nil
	}
	return e.Warm(ctx, "search-base", set...)
}

// searchStart is the policy of the wasteful warm start.
func searchStart(ctx context.Context, e *claim.Env) (*model.Params, error) {
	warm, err := searchWarm(ctx, e, wasteful...)
	if err != nil {
		return nil, err
	}
	return claim.Loaded(warm, 0)
}

// searchRun is a training run on the search task from a wasteful warm start: the mean
// length of each step's responses, and the weights.
func searchRun(ctx context.Context, e *claim.Env, steps int, set ...string) ([]float64, *model.Params, error) {
	warm, err := searchWarm(ctx, e, wasteful...)
	if err != nil {
		return nil, nil, err
	}
	set = append([]string{"checkpoint=" + warm, "task={name: search, difficulty: [1, 10], operations: 2}", "rollout.max_tokens=96"}, set...)
	c, p, err := e.Trained(ctx, []string{"response_length/mean"}, steps, set...)
	if err != nil {
		return nil, nil, err
	}
	return c[0], p, nil
}

// searchResponse is what became of a fresh prompt.
type searchResponse struct {
	tokens  float64
	correct bool
}

// empty reports that nothing was tried: a mark, a digit and the end at most.
func (r searchResponse) empty() bool { return r.tokens <= 3 }

// searchResponses answers fresh prompts whose root is found with low to high
// candidates.
func searchResponses(e *claim.Env, p *model.Params, low, high int) []searchResponse {
	t := task.NewSearch()
	t.Difficulty, t.Operations = task.Range{low, high}, 2
	rng := e.Rand(claim.PromptStream)
	count := e.Pick(1024, 256, 16)
	questions := make([]task.Prompt, count)
	prompts := make([][]int32, count)
	for i := range questions {
		questions[i] = task.DrawHeldOut(t, rng)
		prompts[i] = questions[i].Tokens
	}
	b := e.Sample(claim.Probe{Params: p, Rollout: claim.Numerics("fp32"), Sequences: count, Tokens: searchTokens, Stops: true, Prompts: prompts})
	out := make([]searchResponse, count)
	for i, q := range questions {
		from, to := b.Span(i)
		out[i] = searchResponse{float64(to - from), t.Verify(q, b.Token[from:to]).Correct}
	}
	return out
}

// searched are means over responses.
type searched struct{ rate, length, empty float64 }

func meanOf(responses []searchResponse) searched {
	var m searched
	n := float64(len(responses))
	for _, r := range responses {
		m.length += r.tokens / n
		if r.correct {
			m.rate += 1 / n
		}
		if r.empty() {
			m.empty += 1 / n
		}
	}
	return m
}
