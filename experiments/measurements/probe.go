package measurements

import (
	"cmp"
	"math/rand/v2"

	"driftlab/engine"
	"driftlab/experiments/measure"
	"driftlab/experiments/study/claims/claim"
	"driftlab/model"
	"driftlab/results/stats"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/metrics"
	"driftlab/trainer/method/task"
	"driftlab/trainer/recipe"
)

// probe asks for responses at frozen weights.
type probe struct {
	Params  *model.Params
	Rollout engine.Numerics
	// Sequences of at most tokens response tokens.
	Sequences, Tokens int
	// Slots is how many are decoded at a time; 0 means at most 64.
	Slots int
	// Stops ends responses at the stop token; otherwise sampling goes on past it,
	// which is how lengths beyond the task's are reached.
	Stops bool
	// Temperature 0 means 1, topP 0 means 1; greedy takes the most likely token.
	Temperature, TopP float64
	Greedy            bool
	Raw               bool      // log-probs before temperature and truncation
	Distributions     bool      // record full distributions
	Gates             bool      // record the gates of the routes
	Block             uint64    // another block of responses of the same probe
	Prompts           [][]int32 // nil: chain prompts, or random tokens for another vocabulary
	// Tool is the environment of a sequence; nil for none.
	Tool func(sequence int) measure.Tool
}

// Random streams of the measurements.
const (
	promptStream   = 101
	samplingStream = 1 << 40
)

func chainPrompts(rng *rand.Rand, n int) []task.Prompt {
	t := task.NewChain()
	t.Difficulty = task.Range{3, 8}
	prompts := make([]task.Prompt, n)
	for i := range prompts {
		prompts[i] = task.Draw(t, rng)
	}
	return prompts
}

// promptsFor gives every sequence a prompt: of the chain task where the
// vocabulary is its own, else four random tokens.
func promptsFor(rng *rand.Rand, vocab, n int) [][]int32 {
	if vocab == len(task.NewChain().Vocab()) {
		return stats.Map(chainPrompts(rng, n), func(p task.Prompt) []int32 { return p.Tokens })
	}
	out := make([][]int32, n)
	for i := range out {
		for range 4 {
			out[i] = append(out[i], int32(rng.IntN(vocab)))
		}
	}
	return out
}

// sample draws the responses in the rollout engine.
func sample(e *claim.Env, q probe) *batch.Batch {
	prompts := q.Prompts
	if prompts == nil {
		prompts = promptsFor(e.Rand(promptStream+q.Block<<20), q.Params.Config.Vocab, q.Sequences)
	}
	r := recipe.Rollout{Numerics: q.Rollout, Slots: cmp.Or(q.Slots, min(q.Sequences, 64)),
		Temperature: cmp.Or(q.Temperature, 1), TopP: cmp.Or(q.TopP, 1), MaxTokens: q.Tokens}
	if q.Greedy {
		r.Temperature = 0
	}
	if q.Raw {
		r.LogProbs = recipe.RawLogProbs
	}
	p := measure.NewProbe(q.Params, r, measure.Requests(prompts[:q.Sequences], e.Seed, samplingStream+q.Block<<20, q.Tool))
	p.Workers = workers(e)
	s := p.Sampling()
	s.Distributions, s.Gates = q.Distributions, q.Gates
	if !q.Stops {
		s.Stop = -1
	}
	return p.Sample(s)
}

// measuredGap is a probe scored at the same weights: the gap of the pair.
func measuredGap(e *claim.Env, q probe, scorer engine.Numerics) (*batch.Batch, metrics.Gap) {
	b := sample(e, q)
	return b, scored(b, q.Params, measure.Scoring{Numerics: scorer, Distributions: q.Distributions, Workers: workers(e)})
}

// scored is the gap of a sampled batch to a learner at the same weights.
func scored(b *batch.Batch, p *model.Params, how measure.Scoring) metrics.Gap {
	measure.Score(b, p, how)
	return metrics.Compare(b)
}

// replayed is the gap of full distributions along the rollout engine's routes.
func replayed(b *batch.Batch, p *model.Params, learner engine.Numerics) metrics.Gap {
	return scored(b, p, measure.Scoring{Numerics: learner, Replay: true, Distributions: true})
}
