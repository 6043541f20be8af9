package claim

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

// Probe asks for responses at frozen weights.
type Probe struct {
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
	Tool func(sequence int) rollout.Tool
}

// Random streams of the measurements.
const (
	PromptStream   = 101
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

// Prompts gives every sequence a prompt: of the chain task where the
// vocabulary is its own, else four random tokens.
func Prompts(rng *rand.Rand, vocab, n int) [][]int32 {
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

// Sample draws the responses in the rollout engine.
func (e *Env) Sample(q Probe) *batch.Batch {
	c := q.Params.Config
	slots := q.Slots
	if slots == 0 {
		slots = min(q.Sequences, 64)
	}
	engine := rollout.New(c, q.Rollout, slots, 1)
	defer engine.Close()
	engine.Publish(q.Params, 0)
	prompts := q.Prompts
	if prompts == nil {
		prompts = Prompts(e.Rand(PromptStream+q.Block<<20), c.Vocab, q.Sequences)
	}
	requests := make([]rollout.Request, q.Sequences)
	for i := range requests {
		requests[i] = rollout.Request{Prompt: prompts[i], Seed: e.Seed, Stream: samplingStream + q.Block<<20 + uint64(i)}
		if q.Tool != nil {
			requests[i].Tool = q.Tool(i)
		}
	}
	s := rollout.Sampling{Temperature: q.Temperature, TopP: q.TopP, MaxTokens: q.Tokens, Stop: -1, Distributions: q.Distributions, Gates: q.Gates}
	if q.Temperature == 0 && !q.Greedy {
		s.Temperature = 1
	}
	if q.TopP == 0 {
		s.TopP = 1
	}
	if q.Stops {
		s.Stop = task.EOS
	}
	if q.Raw {
		s.LogProbs = rollout.Raw
	}
	b := new(batch.Batch)
	engine.Generate(&b.Sampled, requests, s)
	return b
}

// Score fills b.Old with what the learner says of the samples.
func Score(b *batch.Batch, p *model.Params, n engine.Numerics, replay learner.Replay, dists bool) {
	ScoreWith(b, p, n, learner.ScoreOptions{Policy: learner.Policy{Temperature: 1, Replay: replay}, Distributions: dists})
}

// ScoreWith is score with all the options of scoring.
func ScoreWith(b *batch.Batch, p *model.Params, n engine.Numerics, o learner.ScoreOptions) {
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

// Measure is a probe scored at the same weights: the gap of the pair.
func (e *Env) Measure(q Probe, scorer engine.Numerics) (*batch.Batch, diagnose.Gap) {
	b := e.Sample(q)
	Score(b, q.Params, scorer, learner.ReplayNone, q.Distributions)
	return b, diagnose.Compare(b)
}

// Replayed scores b again along the rollout engine's routes.
func Replayed(b *batch.Batch, p *model.Params, scorer engine.Numerics, dists bool) diagnose.Gap {
	Score(b, p, scorer, learner.ReplayRollout, dists)
	return diagnose.Compare(b)
}

// Gated scores b once more along the rollout engine's routes, with its gates too.
func Gated(b *batch.Batch, p *model.Params, scorer engine.Numerics) diagnose.Gap {
	ScoreWith(b, p, scorer, learner.ScoreOptions{Policy: learner.Policy{Temperature: 1, Replay: learner.ReplayRollout, Gates: learner.RecordedGates}, Distributions: true})
	return diagnose.Compare(b)
}
