package experiments

import (
	"math/rand/v2"

	"driftlab/engine"
	"driftlab/engine/learner"
	"driftlab/engine/rollout"
	"driftlab/model"
	"driftlab/trainer/batch"
	"driftlab/trainer/diagnose"
	"driftlab/trainer/task"
)

// probe asks for responses at frozen weights.
type probe struct {
	params  *model.Params
	rollout engine.Numerics
	// sequences of at most tokens response tokens.
	sequences, tokens int
	// slots is how many are decoded at a time; 0 means at most 64.
	slots int
	// stops ends responses at the stop token; otherwise sampling goes on past it,
	// which is how lengths beyond the task's are reached.
	stops bool
	// temperature 0 means 1, topP 0 means 1; greedy takes the most likely token.
	temperature, topP float64
	greedy            bool
	raw               bool      // log-probs before temperature and truncation
	dists             bool      // record full distributions
	gates             bool      // record the gates of the routes
	block             uint64    // another block of responses of the same probe
	prompts           [][]int32 // nil: chain prompts, or random tokens for another vocabulary
	// tool is the environment of a sequence; nil for none.
	tool func(sequence int) rollout.Tool
}

// Random streams of the measurements.
const (
	promptStream   = 101
	samplingStream = 1 << 40
)

// chainPrompts draws prompts of the shipped task.
func chainPrompts(rng *rand.Rand, n int) []task.Prompt {
	t := task.NewChain()
	t.Difficulty = task.Range{3, 8}
	prompts := make([]task.Prompt, n)
	for i := range prompts {
		prompts[i] = t.Prompt(rng)
	}
	return prompts
}

// promptsFor gives every sequence a prompt: of the chain task where the
// vocabulary is its own, else four random tokens.
func promptsFor(rng *rand.Rand, vocab, n int) [][]int32 {
	out := make([][]int32, n)
	if vocab == len(task.NewChain().Vocab()) {
		for i, p := range chainPrompts(rng, n) {
			out[i] = p.Tokens
		}
		return out
	}
	for i := range out {
		for range 4 {
			out[i] = append(out[i], int32(rng.IntN(vocab)))
		}
	}
	return out
}

// sample draws the responses in the rollout engine.
func (e *Env) sample(q probe) *batch.Batch {
	c := q.params.Config
	slots := q.slots
	if slots == 0 {
		slots = min(q.sequences, 64)
	}
	engine := rollout.New(c, q.rollout, slots, 1)
	defer engine.Close()
	engine.Publish(q.params, 0)
	prompts := q.prompts
	if prompts == nil {
		prompts = promptsFor(e.Rand(promptStream+q.block<<20), c.Vocab, q.sequences)
	}
	requests := make([]rollout.Request, q.sequences)
	for i := range requests {
		requests[i] = rollout.Request{Prompt: prompts[i], Seed: e.Seed, Stream: samplingStream + q.block<<20 + uint64(i)}
		if q.tool != nil {
			requests[i].Tool = q.tool(i)
		}
	}
	s := rollout.Sampling{Temperature: q.temperature, TopP: q.topP, MaxTokens: q.tokens, Stop: -1, Distributions: q.dists, Gates: q.gates}
	if q.temperature == 0 && !q.greedy {
		s.Temperature = 1
	}
	if q.topP == 0 {
		s.TopP = 1
	}
	if q.stops {
		s.Stop = task.EOS
	}
	if q.raw {
		s.LogProbs = rollout.Raw
	}
	b := new(batch.Batch)
	engine.Generate(&b.Sampled, requests, s)
	return b
}

// score fills b.Old with what the learner says of the samples.
func score(b *batch.Batch, p *model.Params, n engine.Numerics, replay learner.Replay, dists bool) {
	scoreWith(b, p, n, learner.ScoreOptions{Policy: learner.Policy{Temperature: 1, Replay: replay}, Distributions: dists})
}

// scoreWith is score with all the options of scoring.
func scoreWith(b *batch.Batch, p *model.Params, n engine.Numerics, o learner.ScoreOptions) {
	s := learner.NewScorer(p.Config, n, 1)
	defer s.Close()
	s.Publish(p, 0)
	// In slices of responses: one pass over a long batch would hold all its logits.
	const rows = 1 << 14
	if b.Tokens() <= rows {
		s.Score(&b.Old, &b.Sampled, o)
		return
	}
	var all, part batch.Scored
	var in batch.Sampled
	for from := 0; from < b.Len(); {
		to := from + 1
		for to < b.Len() && b.Offsets[to+1]-b.Offsets[from] <= rows {
			to++
		}
		index := make([]int, 0, to-from)
		for i := from; i < to; i++ {
			index = append(index, i)
		}
		b.Sampled.Select(&in, index)
		s.Score(&part, &in, o)
		all.Logp, all.Entropy = append(all.Logp, part.Logp...), append(all.Entropy, part.Entropy...)
		all.Routes, all.Dist = append(all.Routes, part.Routes...), append(all.Dist, part.Dist...)
		all.PromptRoutes = append(all.PromptRoutes, part.PromptRoutes...)
		from = to
	}
	b.Old = all
}

// measured is a probe scored at the same weights: the gap of the pair.
func (e *Env) measured(q probe, scorer engine.Numerics) (*batch.Batch, diagnose.Gap) {
	b := e.sample(q)
	score(b, q.params, scorer, learner.ReplayNone, q.dists)
	return b, diagnose.Compare(b)
}

// replayed scores b again along the rollout engine's routes.
func replayed(b *batch.Batch, p *model.Params, scorer engine.Numerics, dists bool) diagnose.Gap {
	score(b, p, scorer, learner.ReplayRollout, dists)
	return diagnose.Compare(b)
}

// gated scores b once more along the rollout engine's routes, with its gates too.
func gated(b *batch.Batch, p *model.Params, scorer engine.Numerics) diagnose.Gap {
	scoreWith(b, p, scorer, learner.ScoreOptions{Policy: learner.Policy{Temperature: 1, Replay: learner.ReplayRollout, Gates: learner.RecordedGates}, Distributions: true})
	return diagnose.Compare(b)
}
